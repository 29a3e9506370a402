//! Ops on the shape and layout of tensors.

mod bitcast;
mod broadcast_args;
mod broadcast_to;
mod concat;
mod concat_offset;
mod empty;
mod expand_dims;
mod fill;
mod invert_permutation;
mod mirror_pad;
mod pack;
mod pad;
mod parallel_concat;
mod quantised;
mod ragged_range;
mod rank;
mod reshape;
mod reverse;
mod reverse_sequence;
mod roll;
pub mod shape;
mod size;
mod split;
mod squeeze;
mod tile;
pub mod transpose;
mod unpack;

use crate::join;
use thalweg_core::op::Op;

pub static OPS: &[&Op] = join![quantised::OPS, OTHERS];

static OTHERS: &[&Op] = &[
    &bitcast::BITCAST,
    &broadcast_args::BROADCAST_ARGS,
    &broadcast_to::BROADCAST_TO,
    &concat::CONCAT,
    &concat::CONCAT_V2,
    &concat_offset::CONCAT_OFFSET,
    &empty::EMPTY,
    &expand_dims::EXPAND_DIMS,
    &fill::FILL,
    &invert_permutation::INVERT_PERMUTATION,
    &mirror_pad::MIRROR_PAD,
    &mirror_pad::MIRROR_PAD_GRAD,
    &pack::PACK,
    &pad::PAD,
    &pad::PAD_V2,
    &parallel_concat::PARALLEL_CONCAT,
    &parallel_concat::PARALLEL_CONCAT_START,
    &parallel_concat::PARALLEL_CONCAT_UPDATE,
    &ragged_range::RAGGED_RANGE,
    &rank::RANK,
    &reshape::RESHAPE,
    &reverse::REVERSE,
    &reverse::REVERSE_V2,
    &reverse_sequence::REVERSE_SEQUENCE,
    &roll::ROLL,
    &shape::SHAPE,
    &shape::SHAPE_N,
    &size::SIZE,
    &split::SPLIT,
    &split::SPLIT_V,
    &squeeze::SQUEEZE,
    &tile::TILE,
    &tile::TILE_GRAD,
    &transpose::CONJUGATE_TRANSPOSE,
    &transpose::TRANSPOSE,
    &unpack::UNPACK,
];
