//! Images: resizing, boxes, colours, patches, files.

mod adjust;
mod combined_non_max_suppression;
mod crop_and_resize;
mod decode;
mod decode_png;
mod draw_bounding_boxes;
mod encode_jpeg;
mod encode_png;
mod extract_image_patches;
mod glimpse;
mod hsv;
mod non_max_suppression;
mod projective_transform;
mod quantised_resize_bilinear;
mod resize_area;
mod resize_axis;
mod resize_bicubic;
mod resize_bilinear;
mod resize_nearest_neighbor;
mod sample_distorted_bounding_box;
mod scale_and_translate;
mod weighted;

use crate::join;
use thalweg_core::op::Op;

pub static OPS: &[&Op] = join![
    adjust::OPS,
    combined_non_max_suppression::OPS,
    crop_and_resize::OPS,
    decode::OPS,
    draw_bounding_boxes::OPS,
    encode_jpeg::OPS,
    glimpse::OPS,
    hsv::OPS,
    non_max_suppression::OPS,
    projective_transform::OPS,
    quantised_resize_bilinear::OPS,
    resize_area::OPS,
    resize_bicubic::OPS,
    sample_distorted_bounding_box::OPS,
    scale_and_translate::OPS,
    OTHERS,
];

static OTHERS: &[&Op] = &[
    &decode_png::DECODE_PNG,
    &encode_png::ENCODE_PNG,
    &extract_image_patches::EXTRACT_IMAGE_PATCHES,
    &resize_bilinear::RESIZE_BILINEAR,
    &resize_bilinear::RESIZE_BILINEAR_GRAD,
    &resize_nearest_neighbor::RESIZE_NEAREST_NEIGHBOR,
    &resize_nearest_neighbor::RESIZE_NEAREST_NEIGHBOR_GRAD,
];
