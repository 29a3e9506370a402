//! `Variable`: a tensor that outlives the step, for reference variables and resource variables.

use crate::dtype::DataType;
use crate::error::{Result, failed_precondition};
use crate::invalid;
use crate::resource::Resource;
use crate::shape::PartialShape;
use crate::sync::lock;
use crate::tensor::Tensor;
use std::any::Any;
use std::sync::{Arc, Mutex};

pub struct Variable {
    pub name: Arc<str>,
    pub dtype: DataType,
    /// The declared shape.
    pub shape: PartialShape,
    value: Mutex<Option<Tensor>>,
}

impl Variable {
    pub fn new(name: &str, dtype: DataType, shape: PartialShape) -> Self {
        Variable { name: name.into(), dtype, shape, value: Mutex::new(None) }
    }

    /// The current value, as a snapshot.
    pub fn read(&self) -> Result<Tensor> {
        lock(&self.value).clone().ok_or_else(|| self.uninitialised())
    }

    pub fn get(&self) -> Option<Tensor> {
        lock(&self.value).clone()
    }

    pub fn is_initialised(&self) -> bool {
        lock(&self.value).is_some()
    }

    fn uninitialised(&self) -> crate::error::Error {
        failed_precondition(format_args!("Attempting to use uninitialized value {}", self.name))
    }

    fn check_type(&self, dtype: DataType) -> Result<()> {
        if dtype == self.dtype {
            return Ok(());
        }
        Err(invalid!("variable {} holds {}, got {dtype}", self.name, self.dtype))
    }

    /// Replaces the value. With `same_shape`, a value whose shape differs from the current one is rejected; without
    /// a current value, the declared shape applies.
    pub fn assign(&self, value: Tensor, same_shape: bool) -> Result<()> {
        self.check_type(value.dtype())?;
        let mut held = lock(&self.value);
        if same_shape {
            let present = held.as_ref().map_or(self.shape.clone(), |t| t.shape().into());
            if !present.allows(value.shape()) {
                return Err(invalid!(
                    "Assign requires shapes of both tensors to match. lhs shape= {present} rhs shape= {} (variable {})",
                    value.shape(),
                    self.name
                ));
            }
        }
        let old = held.replace(value);
        drop(held);
        drop(old); // Freed outside the lock.
        Ok(())
    }

    /// Updates the value in place, under the variable's lock: atomic for readers and other updates.
    /// The closure gets unshared memory unless a reader holds the old value. An error leaves
    /// the variable as the closure left it, so closures validate first.
    pub fn update<R>(&self, change: impl FnOnce(&mut Tensor) -> Result<R>) -> Result<R> {
        let mut value = lock(&self.value);
        match value.as_mut() {
            Some(t) => change(t),
            None => Err(self.uninitialised()),
        }
    }

    pub fn clear(&self) {
        lock(&self.value).take();
    }
}

impl Resource for Variable {
    fn kind(&self) -> &'static str {
        "Variable"
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn discard(&self) {
        self.clear();
    }
}
