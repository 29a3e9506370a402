//! Variables: reference variables (`VariableV2`) and resource variables (`VarHandleOp`).

mod assign;
mod assign_variable_op;
mod named;
mod read_variable_op;
mod var_handle_op;
mod variable_v2;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = &[
    &variable_v2::VARIABLE_V2,
    &assign::ASSIGN,
    &assign::ASSIGN_ADD,
    &assign::ASSIGN_SUB,
    &var_handle_op::VAR_HANDLE_OP,
    &read_variable_op::READ_VARIABLE_OP,
    &assign_variable_op::ASSIGN_VARIABLE_OP,
    &assign_variable_op::ASSIGN_ADD_VARIABLE_OP,
    &assign_variable_op::ASSIGN_SUB_VARIABLE_OP,
];
