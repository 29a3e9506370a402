//! Ops on the shape and layout of tensors.

pub mod axis;
mod broadcast_args;
mod broadcast_to;
mod concat;
mod concat_offset;
mod expand_dims;
mod fill;
mod pack;
mod pad;
pub mod paddings;
mod rank;
mod reshape;
pub mod shape;
mod size;
mod split;
mod squeeze;
mod tile;
pub mod transpose;
mod unpack;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = &[
    &broadcast_args::BROADCAST_ARGS,
    &broadcast_to::BROADCAST_TO,
    &concat::CONCAT,
    &concat::CONCAT_V2,
    &concat_offset::CONCAT_OFFSET,
    &expand_dims::EXPAND_DIMS,
    &fill::FILL,
    &pack::PACK,
    &pad::PAD,
    &pad::PAD_V2,
    &rank::RANK,
    &reshape::RESHAPE,
    &shape::SHAPE,
    &shape::SHAPE_N,
    &size::SIZE,
    &split::SPLIT,
    &split::SPLIT_V,
    &squeeze::SQUEEZE,
    &tile::TILE,
    &transpose::CONJUGATE_TRANSPOSE,
    &transpose::TRANSPOSE,
    &unpack::UNPACK,
];
