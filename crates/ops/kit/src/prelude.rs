//! Imports of op files: `use crate::prelude::*;`.

pub use crate::elementwise::{binary, unary};
pub use crate::number::{ComplexNumber, Float, Integer, Number, Real};
pub use crate::templates::{
    ACTIVATION, ACTIVATION_GRAD, BINARY, BITWISE, COMPARISON, PREDICATE, QUOTIENT, ROUNDING, UNARY,
    UNARY_BITWISE, UNARY_COMPLEX, UNARY_FLOAT, UNARY_GRAD, UNARY_SIGNED, ZERO_AT_ZERO, positive_case,
};
pub use std::sync::Arc;
pub use thalweg_core::attr::{Attr, Attrs, Func};
pub use thalweg_core::builder::Arg;
pub use thalweg_core::case::{Case, CaseGen, int_vector};
pub use thalweg_core::dtype::{Complex32, ComplexDouble, DataType, Element, bf16, f16};
pub use thalweg_core::error::*;
pub use thalweg_core::grad::{Grad, GradCall};
pub use thalweg_core::kernel::{
    AsyncCall, AsyncKernel, Done, Input, Kernel, KernelNode, OpCall, Outputs, Value, outputs,
};
pub use thalweg_core::node::Output;
pub use thalweg_core::op::Gradient::{Missing, Rule, Stops};
pub use thalweg_core::op::{CallKind, Class, Epilogue, KernelRow, Make, Op, StackUse, Tile};
pub use thalweg_core::partial_value::{self, PartialCall};
pub use thalweg_core::shape::{PartialShape, Shape, merge_dim};
pub use thalweg_core::shape_call::{self, ShapeCall, axis_in_range, broadcast, same_as_input};
pub use thalweg_core::tensor::{Object, Tensor, Variant};
pub use thalweg_core::variable::Variable;
pub use thalweg_core::{cpu, cpu_row, invalid, reserve};
pub use thalweg_math::scratch;
