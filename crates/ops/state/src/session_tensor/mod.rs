//! `GetSessionHandle`, `GetSessionTensor`, `DeleteSessionTensor`: tensors that stay with the session between its steps, by handle.

use crate::prelude::*;
use std::any::Any;
use std::collections::HashMap;
use std::sync::Mutex;
use thalweg_core::resource::{PRIVATE, Resource, ResourceHandle};
use thalweg_core::sync::lock;

pub static OPS: &[&Op] =
    &[&GET_SESSION_HANDLE, &GET_SESSION_HANDLE_V2, &GET_SESSION_TENSOR, &DELETE_SESSION_TENSOR];

static GET_SESSION_HANDLE: Op = Op {
    name: "GetSessionHandle",
    doc: "Keeps a tensor in the session, and gives the handle to get it again.",
    inputs: &["value: T"],
    outputs: &["handle: string"],
    attrs: &["T: type"],
    shape: shape_call::scalar,
    kernels: cpu!(keep),
    ..Op::STATEFUL
};

static GET_SESSION_HANDLE_V2: Op =
    Op { name: "GetSessionHandleV2", outputs: &["handle: resource"], ..GET_SESSION_HANDLE };

static GET_SESSION_TENSOR: Op = Op {
    name: "GetSessionTensor",
    doc: "The tensor of a handle.",
    inputs: &["handle: string"],
    outputs: &["value: dtype"],
    attrs: &["dtype: type"],
    kernels: cpu!(get),
    ..Op::STATEFUL
};

static DELETE_SESSION_TENSOR: Op = Op {
    name: "DeleteSessionTensor",
    doc: "Frees the tensor of a handle.",
    inputs: &["handle: string"],
    shape: |_| Ok(vec![]),
    kernels: cpu!(delete),
    ..Op::STATEFUL
};

/// The tensors that a session keeps on a device, by handle.
#[derive(Default)]
struct Kept(Mutex<Entries>);

#[derive(Default)]
struct Entries {
    by_handle: HashMap<String, Tensor>,
    next: u64,
}

impl Resource for Kept {
    fn kind(&self) -> &'static str {
        "SessionTensors"
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn discard(&self) {
        let gone = std::mem::take(&mut *lock(&self.0));
        drop(gone); // Freed outside the lock.
    }
}

fn kept(c: &OpCall<'_>) -> Result<Arc<Kept>> {
    c.step.device.resources.get_or_create(PRIVATE, "_session_tensors", || Ok(Kept::default()))
}

/// Handles are as TensorFlow's client reads them: the node, a number, the device.
fn keep(c: &mut OpCall<'_>) -> Result<()> {
    let (kept, value) = (kept(c)?, c.take(0)?);
    let handle = {
        let mut entries = lock(&kept.0);
        reserve::room(&mut entries.by_handle, 1)?;
        let handle = format!("{};{};{}", c.node.name, entries.next, c.step.device.name);
        entries.next += 1;
        entries.by_handle.insert(handle.clone(), value);
        handle
    };
    if c.output_type(0)? == DataType::String {
        c.set(0, Tensor::string(handle));
        return Ok(());
    }
    let resource = ResourceHandle {
        device: c.step.device.name.clone(),
        container: PRIVATE.into(),
        name: handle.into(),
        type_name: "SessionTensor".into(),
        ..Default::default()
    };
    c.set(0, Tensor::from_object(resource));
    Ok(())
}

fn handle(c: &OpCall<'_>) -> Result<String> {
    match c.input(0)?.strings()? {
        [one] => Ok(String::from_utf8_lossy(one).into_owned()),
        _ => Err(invalid!("handle must be a scalar, got shape {}", c.shape(0)?)),
    }
}

fn unknown(handle: &str) -> Error {
    invalid!("The tensor with handle '{handle}' is not in the session store.")
}

fn get(c: &mut OpCall<'_>) -> Result<()> {
    let (kept, handle, wanted) = (kept(c)?, handle(c)?, c.output_type(0)?);
    let found = lock(&kept.0).by_handle.get(&handle).cloned();
    let value = found.ok_or_else(|| unknown(&handle))?;
    if value.dtype() != wanted {
        return Err(invalid!("the tensor with handle '{handle}' is {}, asked for {wanted}", value.dtype()));
    }
    c.set(0, value);
    Ok(())
}

fn delete(c: &mut OpCall<'_>) -> Result<()> {
    let (kept, handle) = (kept(c)?, handle(c)?);
    let gone = lock(&kept.0).by_handle.remove(&handle);
    gone.map(drop).ok_or_else(|| unknown(&handle))
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call_in, code, step};

    #[test]
    fn a_tensor_is_kept_until_it_is_deleted() {
        let step = step(1);
        let handle = call_in(&step, "GetSessionHandle", &[Tensor::scalar(3f32)], &[]).unwrap();
        let get = |t| call_in(&step, "GetSessionTensor", &handle, &[("dtype", Attr::Type(t))]);
        assert_eq!(get(DataType::Float).unwrap()[0].to_scalar::<f32>().unwrap(), 3.0);
        assert_eq!(code(get(DataType::Int32)), Code::InvalidArgument);
        call_in(&step, "DeleteSessionTensor", &handle, &[]).unwrap();
        assert_eq!(code(get(DataType::Float)), Code::InvalidArgument);
        assert_eq!(code(call_in(&step, "DeleteSessionTensor", &handle, &[])), Code::InvalidArgument);
    }
}
