//! `TensorArray`: slots that are written once, and read once unless `clear_after_read` is false. An array of gradients sums
//! the values written to a slot.

use crate::prelude::*;
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Mutex;
use thalweg_core::resource::{Resource, ResourceHandle};
use thalweg_core::sync::lock;

/// The containers of a step's tensor arrays and of gradient arrays.
pub const CONTAINER: &str = "_tensor_arrays";
pub const GRADIENTS: &str = "_tensor_array_grads";

pub struct TensorArray {
    pub name: String,
    pub dtype: DataType,
    pub rules: Rules,
    state: Mutex<State>,
}

#[derive(Clone, Copy)]
pub struct Rules {
    pub clear_after_read: bool,
    pub identical_shapes: bool,
    /// Holds gradients: values written to the same slot are summed.
    pub adds_up: bool,
}

/// Unused slots take no memory.
pub struct State {
    pub size: usize,
    pub dynamic: bool,
    pub element_shape: PartialShape,
    slots: BTreeMap<usize, Slot>,
    closed: bool,
}

#[derive(Default, Clone)]
struct Slot {
    value: Option<Tensor>,
    /// The shape of the value, kept after the value is cleared.
    shape: Option<Shape>,
    read: bool,
}

impl TensorArray {
    pub fn new(
        name: String,
        dtype: DataType,
        rules: Rules,
        size: usize,
        dynamic: bool,
        shape: PartialShape,
    ) -> Self {
        let state = State { size, dynamic, element_shape: shape, slots: BTreeMap::new(), closed: false };
        TensorArray { name, dtype, rules, state: Mutex::new(state) }
    }

    /// A gradient array of the same size, and neither grows from now on.
    pub fn for_gradients(&self, name: String, prepend: &[usize]) -> Result<TensorArray> {
        self.with(|s| {
            s.dynamic = false;
            let before: PartialShape = prepend.iter().map(|d| *d as i64).collect();
            let rules = Rules { adds_up: true, clear_after_read: true, ..self.rules };
            let shape = before.concat(&s.element_shape);
            let grads = TensorArray::new(name, self.dtype, rules, s.size, false, shape);
            let mut slots = BTreeMap::new();
            for (i, slot) in &s.slots {
                let shape = match &slot.shape {
                    Some(shape) => Some(Shape::new(&[prepend, shape.dims()].concat())?),
                    None => None,
                };
                slots.insert(*i, Slot { shape, ..Slot::default() });
            }
            lock(&grads.state).slots = slots;
            Ok(grads)
        })
    }

    /// Works on the array under its lock.
    pub fn with<R>(&self, work: impl FnOnce(&mut State) -> Result<R>) -> Result<R> {
        let mut state = lock(&self.state);
        if state.closed {
            return Err(invalid!("TensorArray {} has already been closed.", self.name));
        }
        work(&mut state)
    }

    pub fn check_write_type(&self, dtype: DataType) -> Result<()> {
        if dtype == self.dtype {
            return Ok(());
        }
        Err(invalid!("TensorArray dtype is {} but Op is trying to write dtype {dtype}.", self.dtype))
    }

    pub fn check_read_type(&self, dtype: DataType) -> Result<()> {
        if dtype == self.dtype {
            return Ok(());
        }
        Err(invalid!("TensorArray dtype is {} but Op requested dtype {dtype}.", self.dtype))
    }

    pub fn write(&self, s: &mut State, index: i64, value: Tensor) -> Result<()> {
        let at = match usize::try_from(index) {
            Ok(at) if at < s.size => at,
            Ok(at) if s.dynamic => {
                s.size = at.saturating_add(1);
                at
            }
            _ => {
                return Err(self.wrong(format!(
                    "Tried to write to index {index} but array is not resizeable and size is: {}",
                    s.size
                )));
            }
        };
        if !s.element_shape.allows(value.shape()) {
            return Err(self.wrong(format!(
                "Could not write to TensorArray index {at} because the value shape is {} which is incompatible with the \
                 TensorArray's inferred element shape: {} (consider setting infer_shape=False).",
                value.shape(),
                s.element_shape
            )));
        }
        let slot = s.slots.entry(at).or_default();
        if slot.read {
            return Err(self.wrong(format!(
                "Could not write to TensorArray index {at} because it has already been read."
            )));
        }
        match &slot.value {
            Some(_) if !self.rules.adds_up => {
                return Err(self.wrong(format!(
                    "Could not write to TensorArray index {at} because it has already been written to."
                )));
            }
            Some(old) if old.shape() != value.shape() => {
                return Err(self.wrong(format!(
                    "Could not aggregate to TensorArray index {at} because the existing shape is {} but the new input shape is {}.",
                    old.shape(),
                    value.shape()
                )));
            }
            _ => {}
        }
        let value = match slot.value.take() {
            None => value,
            Some(old) => sum(old, &value)?,
        };
        slot.shape = Some(value.shape().clone());
        if self.rules.identical_shapes {
            s.element_shape = value.shape().into();
        }
        slot.value = Some(value);
        Ok(())
    }

    pub fn read(&self, s: &mut State, index: i64) -> Result<Tensor> {
        let at = match usize::try_from(index) {
            Ok(at) if at < s.size => at,
            _ => return Err(invalid!("Tried to read from index {index} but array size is: {}", s.size)),
        };
        let slot = s.slots.entry(at).or_default();
        let value = match &slot.value {
            Some(value) => value.clone(),
            None if slot.read && self.rules.clear_after_read => {
                return Err(self.wrong(format!(
                    "Could not read index {at} twice because it was cleared after a previous read \
                     (perhaps try setting clear_after_read = false?)."
                )));
            }
            None => match slot.shape.clone().or_else(|| s.element_shape.to_shape()) {
                Some(shape) => Tensor::zeros(self.dtype, shape)?,
                None => {
                    return Err(self.wrong(format!(
                        "Could not read from TensorArray index {at}. Furthermore, the element shape is not fully defined: {}. \
                         If you set the full element_shape property on the forward TensorArray, the proper all-zeros tensor \
                         will be returned instead of incurring this error.",
                        s.element_shape
                    )));
                }
            },
        };
        slot.read = true;
        slot.shape = Some(value.shape().clone());
        if self.rules.clear_after_read {
            slot.value = None;
        }
        Ok(value)
    }

    /// All slots in order; the declared size may exceed memory.
    pub fn read_all(&self, s: &mut State) -> Result<Vec<Tensor>> {
        let each = size_of::<Slot>() + size_of::<Tensor>();
        if s.size.saturating_mul(each) > thalweg_core::buffer::limit() {
            return Err(resource_exhausted(format_args!(
                "TensorArray {}: no memory to read all of its {} elements",
                self.name, s.size
            )));
        }
        reserve::try_collect((0..s.size).map(|i| self.read(s, i as i64)))
    }

    fn wrong(&self, what: String) -> Error {
        invalid!("TensorArray {}: {what}", self.name)
    }
}

/// The array whose handle is input 0.
pub fn array_input(c: &OpCall<'_>) -> Result<Arc<TensorArray>> {
    let handle = c.handle(0)?;
    match &handle.target {
        Some(_) => c.resource(0),
        None => c.step.scratch().get(&handle.container, &handle.name),
    }
}

pub fn array_handle(c: &OpCall<'_>, container: &str, array: Arc<TensorArray>) -> Tensor {
    Tensor::from_object(ResourceHandle {
        device: c.step.device.name.clone(),
        container: container.into(),
        name: array.name.as_str().into(),
        type_name: "TensorArray".into(),
        target: Some(array.into()),
        ..Default::default()
    })
}

/// The handle and flow of the gradient array of the array in input 0.
///
/// TensorFlow keeps the arrays of different gradient calls apart by the name scope of each call (attr `source`).
pub fn gradient_array(g: &mut GradCall<'_>, flow: Output) -> Result<(Output, Output)> {
    let handle = g.x[0];
    // Each call of `gradients` has its own arrays.
    let source = [("source", Attr::str(g.graph.gradient_scope()))];
    match g.ops("TensorArrayGradV3", [handle.into(), flow.into()], &source)?[..] {
        [handle, flow] => Ok((handle, flow)),
        _ => Err(internal("TensorArrayGradV3 has two outputs")),
    }
}

fn sum(a: Tensor, b: &Tensor) -> Result<Tensor> {
    fn add<T: Number>(mut a: Tensor, b: &Tensor) -> Result<Tensor> {
        let by = b.as_slice::<T>()?;
        a.as_mut_slice::<T>()?.iter_mut().zip(by).for_each(|(x, y)| *x = x.add(*y));
        Ok(a)
    }
    match a.dtype() {
        DataType::Float => add::<f32>(a, b),
        DataType::Double => add::<f64>(a, b),
        DataType::Half => add::<f16>(a, b),
        DataType::Bfloat16 => add::<bf16>(a, b),
        DataType::Int8 => add::<i8>(a, b),
        DataType::Int16 => add::<i16>(a, b),
        DataType::Int32 => add::<i32>(a, b),
        DataType::Int64 => add::<i64>(a, b),
        DataType::Uint8 => add::<u8>(a, b),
        DataType::Uint16 => add::<u16>(a, b),
        DataType::Complex64 => add::<Complex32>(a, b),
        DataType::Complex128 => add::<ComplexDouble>(a, b),
        other => Err(invalid!("cannot add up gradients of type {other}")),
    }
}

impl Resource for TensorArray {
    fn kind(&self) -> &'static str {
        "TensorArray"
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn discard(&self) {
        let slots = {
            let mut state = lock(&self.state);
            state.closed = true;
            std::mem::take(&mut state.slots)
        };
        drop(slots); // Freed outside the lock.
    }
}
