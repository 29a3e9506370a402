//! Images: resizing, patches, PNG files.

mod decode_png;
mod encode_png;
mod extract_image_patches;
mod resize_axis;
mod resize_bilinear;
mod resize_nearest_neighbor;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = &[
    &decode_png::DECODE_PNG,
    &encode_png::ENCODE_PNG,
    &extract_image_patches::EXTRACT_IMAGE_PATCHES,
    &resize_bilinear::RESIZE_BILINEAR,
    &resize_bilinear::RESIZE_BILINEAR_GRAD,
    &resize_nearest_neighbor::RESIZE_NEAREST_NEIGHBOR,
    &resize_nearest_neighbor::RESIZE_NEAREST_NEIGHBOR_GRAD,
];
