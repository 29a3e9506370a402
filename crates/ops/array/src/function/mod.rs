//! Function calls and functional control flow. Graph passes inline these calls, or lower them to the
//! primitives of `control`; the remaining ones call the function through the step.

mod argument;
mod branch;
mod call;
mod for_;
mod py_func;
mod remote_call;
mod symbolic_gradient;
mod while_;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = thalweg_ops_kit::join![py_func::OPS, SINGLE];

static SINGLE: &[&Op] = &[
    &argument::ARG,
    &argument::RETVAL,
    &call::PARTITIONED_CALL,
    &call::STATEFUL_PARTITIONED_CALL,
    &branch::IF,
    &branch::STATELESS_IF,
    &branch::CASE,
    &branch::STATELESS_CASE,
    &while_::WHILE,
    &while_::STATELESS_WHILE,
    &for_::FOR,
    &symbolic_gradient::SYMBOLIC_GRADIENT,
    &remote_call::REMOTE_CALL,
];
