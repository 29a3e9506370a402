//! `Stack`: tensors of one type, last in, first out.

use crate::prelude::*;
use std::any::Any;
use std::sync::Mutex;
use thalweg_core::resource::Resource;
use thalweg_core::sync::lock;

pub struct Stack {
    pub name: String,
    pub dtype: DataType,
    /// Most elements; none for no limit.
    max: Option<usize>,
    /// `None` when closed.
    held: Mutex<Option<Vec<Tensor>>>,
}

impl Stack {
    pub fn new(name: String, dtype: DataType, max: Option<usize>) -> Stack {
        Stack { name, dtype, max, held: Mutex::new(Some(Vec::new())) }
    }

    pub fn push(&self, t: Tensor) -> Result<()> {
        let mut held = lock(&self.held);
        let held = held.as_mut().ok_or_else(|| self.closed())?;
        if let Some(max) = self.max.filter(|max| held.len() >= *max) {
            return Err(invalid!("Stack[{}] overflowed its max_size ({max})", self.name));
        }
        reserve::push(held, t)
    }

    pub fn pop(&self) -> Result<Tensor> {
        let mut held = lock(&self.held);
        let held = held.as_mut().ok_or_else(|| self.closed())?;
        held.pop().ok_or_else(|| invalid!("Stack[{}] is empty when calling Pop().", self.name))
    }

    fn closed(&self) -> Error {
        invalid!("Stack[{}] has already been closed.", self.name)
    }
}

impl Resource for Stack {
    fn kind(&self) -> &'static str {
        "Stack"
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn discard(&self) {
        let held = lock(&self.held).take();
        drop(held); // Freed outside the lock.
    }
}
