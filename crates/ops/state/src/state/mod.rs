//! Variables: reference variables (`VariableV2`) and resource variables (`VarHandleOp`).

mod assign;
mod assign_variable_op;
mod count_up_to;
mod destroy_resource_op;
mod disable_copy_on_read;
mod is_initialized;
mod read_variable_op;
mod ref_identity;
mod ref_select;
mod resource_gather;
mod resource_gather_nd;
mod scatter;
mod scatter_nd;
mod scatter_runs;
mod strided_slice_assign;
pub mod target;
mod temporary_variable;
mod var_handle_op;
mod variable_shape;
mod variable_v2;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = join![scatter::OPS, scatter_nd::OPS, SINGLE];

static SINGLE: &[&Op] = &[
    &variable_v2::VARIABLE_V2,
    &variable_v2::VARIABLE,
    &is_initialized::IS_VARIABLE_INITIALIZED,
    &ref_identity::REF_IDENTITY,
    &ref_select::REF_SELECT,
    &ref_select::MAKE_WEAK_RESOURCE_HANDLE,
    &strided_slice_assign::STRIDED_SLICE_ASSIGN,
    &strided_slice_assign::RESOURCE_STRIDED_SLICE_ASSIGN,
    &assign::ASSIGN,
    &assign::ASSIGN_ADD,
    &assign::ASSIGN_SUB,
    &var_handle_op::VAR_HANDLE_OP,
    &read_variable_op::READ_VARIABLE_OP,
    &assign_variable_op::ASSIGN_VARIABLE_OP,
    &assign_variable_op::ASSIGN_ADD_VARIABLE_OP,
    &assign_variable_op::ASSIGN_SUB_VARIABLE_OP,
    &is_initialized::VAR_IS_INITIALIZED_OP,
    &destroy_resource_op::DESTROY_RESOURCE_OP,
    &disable_copy_on_read::DISABLE_COPY_ON_READ,
    &variable_shape::VARIABLE_SHAPE,
    &resource_gather::RESOURCE_GATHER,
    &resource_gather_nd::RESOURCE_GATHER_ND,
    &temporary_variable::TEMPORARY_VARIABLE,
    &temporary_variable::DESTROY_TEMPORARY_VARIABLE,
    &count_up_to::COUNT_UP_TO,
    &count_up_to::RESOURCE_COUNT_UP_TO,
];

#[cfg(test)]
pub mod tests;
