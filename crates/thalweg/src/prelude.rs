//! Common imports: `use thalweg::prelude::*;`.

pub use crate::{
    Attr, Code, DataType, Error, IntoTensor, Operation, Output, PartialShape, Result, RunOptions, Scope,
    Session, SessionOptions, Shape, Tensor, feed,
};
