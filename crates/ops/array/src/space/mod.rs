//! Blocks of images moved between space, batch and depth; data formats.

mod data_format;
mod depth;
mod space_to_batch;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = &[
    &data_format::DATA_FORMAT_DIM_MAP,
    &data_format::DATA_FORMAT_VEC_PERMUTE,
    &depth::DEPTH_TO_SPACE,
    &depth::SPACE_TO_DEPTH,
    &space_to_batch::BATCH_TO_SPACE,
    &space_to_batch::BATCH_TO_SPACE_ND,
    &space_to_batch::SPACE_TO_BATCH,
    &space_to_batch::SPACE_TO_BATCH_ND,
];
