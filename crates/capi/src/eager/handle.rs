//! `TFE_TensorHandle`: a value on a device.

use super::context::Context;
use crate::pointers::{Handle, Text, c_text, need};
use crate::status::{Status, answer, quiet};
use crate::tensor::{Tensor, share};
use std::ffi::{CString, c_char, c_int};
use std::sync::OnceLock;
use thalweg_core::error::Result;
use thalweg_core::invalid;
use thalweg_core::tensor;

pub struct TensorHandle {
    pub value: tensor::Tensor,
    device: CString,
    /// Its elements for C, once they have been asked for: all tensors of a handle share memory.
    seen: OnceLock<Tensor>,
}

impl TensorHandle {
    pub fn new(value: tensor::Tensor, device: &str) -> TensorHandle {
        TensorHandle { value, device: c_text(device), seen: OnceLock::new() }
    }

    /// On the first device of any process: where values of the host are.
    pub fn on_host(value: tensor::Tensor) -> TensorHandle {
        TensorHandle::new(value, "/job:localhost/replica:0/task:0/device:CPU:0")
    }

    pub fn device(&self) -> &str {
        self.device.to_str().unwrap_or_default()
    }
}

fn handle(h: Option<&TensorHandle>) -> Result<&TensorHandle> {
    h.ok_or_else(|| invalid!("Invalid handle"))
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_NewTensorHandle(
    tensor: Option<&Tensor>,
    status: Option<&mut Status>,
) -> Option<Box<TensorHandle>> {
    answer(status, None, || Ok(Some(Box::new(TensorHandle::on_host(need(tensor)?.value()?)))))
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_DeleteTensorHandle(h: Option<Box<TensorHandle>>) {
    quiet((), || {
        drop(h);
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_TensorHandleDataType(h: Option<&TensorHandle>) -> c_int {
    h.map_or(0, |h| h.value.dtype().wire())
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_TensorHandleNumDims(h: Option<&TensorHandle>, status: Option<&mut Status>) -> c_int {
    answer(status, -1, || Ok(handle(h)?.value.rank() as c_int))
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_TensorHandleNumElements(h: Option<&TensorHandle>, status: Option<&mut Status>) -> i64 {
    answer(status, -1, || Ok(handle(h)?.value.elements() as i64))
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_TensorHandleDim(
    h: Option<&TensorHandle>,
    index: c_int,
    status: Option<&mut Status>,
) -> i64 {
    answer(status, -1, || {
        let dims = handle(h)?.value.shape().to_i64();
        let dim = usize::try_from(index).ok().and_then(|i| dims.get(i)).copied();
        dim.ok_or_else(|| invalid!("there is no dimension {index} in a tensor of rank {}", dims.len()))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_TensorHandleDeviceName(
    h: Option<&TensorHandle>,
    status: Option<&mut Status>,
) -> *const c_char {
    answer(status, std::ptr::null(), || Ok(handle(h)?.device.as_ptr()))
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_TensorHandleBackingDeviceName(
    h: Option<&TensorHandle>,
    status: Option<&mut Status>,
) -> *const c_char {
    TFE_TensorHandleDeviceName(h, status)
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_TensorHandleDeviceType(
    h: Option<&TensorHandle>,
    status: Option<&mut Status>,
) -> *const c_char {
    answer(status, std::ptr::null(), || handle(h).map(|_| c"CPU".as_ptr()))
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_TensorHandleDeviceID(h: Option<&TensorHandle>, status: Option<&mut Status>) -> c_int {
    answer(status, -1, || {
        let number = handle(h)?.device().rsplit_once(':').and_then(|(_, n)| n.parse().ok());
        Ok(number.unwrap_or(0))
    })
}

/// A value that is there has been computed.
#[unsafe(no_mangle)]
pub extern "C" fn TFE_TensorHandleGetStatus(h: Option<&TensorHandle>, status: Option<&mut Status>) {
    answer(status, (), || handle(h).map(drop));
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_TensorHandleCopySharingTensor(
    h: Option<&TensorHandle>,
    status: Option<&mut Status>,
) -> Option<Box<TensorHandle>> {
    answer(status, None, || {
        let h = handle(h)?;
        Ok(Some(Box::new(TensorHandle::new(h.value.clone(), h.device()))))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_TensorHandleResolve(
    h: Option<&TensorHandle>,
    status: Option<&mut Status>,
) -> Option<Box<Tensor>> {
    answer(status, None, || {
        let h = handle(h)?;
        if h.seen.get().is_none() {
            let _ = h.seen.set(Tensor::of(h.value.clone())?);
        }
        Ok(h.seen.get().map(|seen| Box::new(share(seen))))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_TensorHandleCopyToDevice(
    h: Option<&TensorHandle>,
    context: Option<&Context>,
    device: Text,
    status: Option<&mut Status>,
) -> Option<Box<TensorHandle>> {
    answer(status, None, || {
        let to = need(context)?.device(device.or_empty()?)?;
        Ok(Some(Box::new(TensorHandle::new(handle(h)?.value.clone(), to.name()))))
    })
}

/// `TFE_TensorDebugInfo`: the shape as it is on the device.
pub struct DebugInfo(Vec<i64>);

#[unsafe(no_mangle)]
pub extern "C" fn TFE_TensorHandleTensorDebugInfo(
    h: Option<&TensorHandle>,
    status: Option<&mut Status>,
) -> Option<Box<DebugInfo>> {
    answer(status, None, || Ok(Some(Box::new(DebugInfo(handle(h)?.value.shape().to_i64().to_vec())))))
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_DeleteTensorDebugInfo(info: Option<Box<DebugInfo>>) {
    drop(info);
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_TensorDebugInfoOnDeviceNumDims(info: Option<&DebugInfo>) -> c_int {
    info.map_or(-1, |info| info.0.len() as c_int)
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_TensorDebugInfoOnDeviceDim(info: Option<&DebugInfo>, index: c_int) -> i64 {
    let dim = |info: &DebugInfo| info.0.get(usize::try_from(index).ok()?).copied();
    info.and_then(dim).unwrap_or(-1)
}

/// A handle in an array.
pub type InArray = Handle<TensorHandle>;
