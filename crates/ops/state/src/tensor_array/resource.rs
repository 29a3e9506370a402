//! `TensorArray`: slots that are written once, and read once unless `clear_after_read` is false. An array of gradients sums
//! the values written to a slot.

use crate::named::{name_in, named_reference};
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
    let by_name = |handle: &Tensor| {
        let (container, name) = name_in(handle)?;
        c.step.scratch().get(&container, &name)
    };
    match c.inputs.first() {
        Some(Input::Ref(v)) => return by_name(&v.read()?),
        _ if c.input(0)?.dtype() == DataType::String => return by_name(c.input(0)?),
        _ => {}
    }
    let handle = c.handle(0)?;
    match &handle.target {
        Some(_) => c.resource(0),
        None => c.step.scratch().get(&handle.container, &handle.name),
    }
}

/// Sets output 0 to the handle: a resource, or for older ops container and name as strings, or a reference to them. Then the flow, of
/// ops that have it.
pub fn output_array(c: &mut OpCall<'_>, container: &str, array: Arc<TensorArray>) -> Result<()> {
    let port = c.node.outputs.first().ok_or_else(|| internal("a tensor array without a handle"))?;
    if port.is_ref {
        c.set(0, Value::Ref(named_reference(container, &array.name)));
    } else if port.dtype == DataType::String {
        c.set(0, named_reference(container, &array.name).read()?);
    } else {
        let handle = ResourceHandle {
            device: c.step.device.name.clone(),
            container: container.into(),
            name: array.name.as_str().into(),
            type_name: "TensorArray".into(),
            target: Some(array.into()),
            ..Default::default()
        };
        c.set(0, Tensor::from_object(handle));
    }
    if c.node.outputs.len() > 1 {
        c.set(1, Tensor::scalar(0f32));
    }
    Ok(())
}

/// The generation of a TensorArray op: empty, `V2` or `V3`. Handles of one do not fit the others.
fn generation(op: &str) -> &str {
    ["V2", "V3"].into_iter().find(|v| op.ends_with(v)).unwrap_or("")
}

/// The op of the same generation as the one being differentiated.
pub fn alike(g: &GradCall<'_>, what: &str) -> String {
    format!("TensorArray{what}{}", generation(g.op))
}

/// The handle and flow of the gradient array of the array in input 0.
///
/// TensorFlow keeps the arrays of different gradient calls apart by the name scope of each call (attr `source`).
pub fn gradient_array(g: &mut GradCall<'_>, flow: Output) -> Result<(Output, Output)> {
    let handle = g.x[0];
    // Each call of `gradients` has its own arrays.
    let source = [("source", Attr::str(g.graph.gradient_scope()))];
    match g.ops(&alike(g, "Grad"), [handle.into(), flow.into()], &source)?[..] {
        [handle, flow] => Ok((handle, flow)),
        // Older ops have no flow of their own.
        [handle] => Ok((handle, flow)),
        _ => Err(internal("a gradient array without a handle")),
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
