//! Common imports: `use thalweg::prelude::*;`.

pub use crate::{
    Attr, Code, DataType, Error, IntoTensor, Operation, Output, PartialShape, Result, RunOptions, SavedModel,
    Scope, Session, SessionOptions, Shape, Tensor, feed,
};
