//! Images: in other sizes, and as PNG files.

mod decode_png;
mod encode_png;
mod resize_axis;
mod resize_bilinear;
mod resize_nearest_neighbor;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = &[
    &decode_png::DECODE_PNG,
    &encode_png::ENCODE_PNG,
    &resize_bilinear::RESIZE_BILINEAR,
    &resize_bilinear::RESIZE_BILINEAR_GRAD,
    &resize_nearest_neighbor::RESIZE_NEAREST_NEIGHBOR,
    &resize_nearest_neighbor::RESIZE_NEAREST_NEIGHBOR_GRAD,
];
