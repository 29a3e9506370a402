//! What bindings use of TensorFlow's experimental eager functions.

use super::context::Context;
use super::handle::TensorHandle;
use crate::buffer::Buffer;
use crate::pointers::{Array, Text, need};
use crate::status::{Status, answer, quiet};
use crate::tensor::Tensor;
use std::ffi::{c_int, c_uchar};
use std::sync::atomic::Ordering;
use thalweg_core::dtype::DataType;
use thalweg_core::invalid;
use thalweg_core::shape::Shape;
use thalweg_core::sync::lock;
use thalweg_core::tensor;

/// `TFE_Executor`: ops run on the thread that calls them, whatever it says.
pub struct Executor {
    is_async: bool,
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_NewExecutor(is_async: bool, _streaming: bool, _limit: c_int) -> Box<Executor> {
    Box::new(Executor { is_async })
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_DeleteExecutor(executor: Option<Box<Executor>>) {
    drop(executor);
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_ExecutorIsAsync(executor: Option<&Executor>) -> bool {
    executor.is_some_and(|e| e.is_async)
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_ExecutorWaitForAllPendingNodes(
    executor: Option<&Executor>,
    status: Option<&mut Status>,
) {
    answer(status, (), || need(executor).map(drop));
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_ExecutorClearError(_: Option<&Executor>) {}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_ContextSetExecutorForThread(_: Option<&Context>, _: Option<&Executor>) {}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_ContextGetExecutorForThread(_: Option<&Context>) -> Box<Executor> {
    Box::new(Executor { is_async: false })
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_ContextAsyncWait(context: Option<&Context>, status: Option<&mut Status>) {
    answer(status, (), || need(context).map(drop));
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_ContextSetSoftDevicePlacement(
    context: Option<&Context>,
    enable: c_uchar,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        need(context)?.soft_placement.store(enable != 0, Ordering::Relaxed);
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_ContextSetLogDevicePlacement(
    context: Option<&Context>,
    _: c_uchar,
    status: Option<&mut Status>,
) {
    answer(status, (), || need(context).map(drop));
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_ContextGetFunctionDef(
    context: Option<&Context>,
    name: Text,
    into: Option<&mut Buffer>,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        let function = need(context)?.function(name.str()?)?;
        let definition = lock(&function.definition).to_proto()?;
        need(into)?.put(&definition)
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_ContextGetFunction(
    context: Option<&Context>,
    name: Text,
    status: Option<&mut Status>,
) -> Option<Box<crate::functions::Function>> {
    answer(status, None, || Ok(Some(Box::new(need(context)?.function(name.str()?)?))))
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_AllocateHostTensor(
    context: Option<&Context>,
    dtype: c_int,
    dims: Array<i64>,
    num_dims: c_int,
    status: Option<&mut Status>,
) -> Option<Box<Tensor>> {
    answer(status, None, || {
        need(context)?;
        let known = DataType::from_wire(dtype).ok_or_else(|| invalid!("unknown data type number {dtype}"))?;
        let shape = Shape::from_i64(dims.slice(num_dims)?)?;
        Ok(Some(Box::new(Tensor::of(tensor::Tensor::zeros(known, shape)?)?)))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_NewTensorHandleFromTensor(
    context: Option<&Context>,
    tensor: Option<&Tensor>,
    status: Option<&mut Status>,
) -> Option<Box<TensorHandle>> {
    answer(status, None, || {
        need(context)?;
        Ok(Some(Box::new(TensorHandle::on_host(need(tensor)?.value()?))))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_NewTensorHandleFromScalar(
    dtype: c_int,
    data: Array<u8>,
    length: usize,
    status: Option<&mut Status>,
) -> Option<Box<TensorHandle>> {
    answer(status, None, || {
        let known = DataType::from_wire(dtype).filter(|t| t.is_plain());
        let known = known.ok_or_else(|| invalid!("there is no scalar of data type number {dtype}"))?;
        let value = tensor::Tensor::from_bytes(known, Shape::scalar(), data.slice(length)?)?;
        Ok(Some(Box::new(TensorHandle::on_host(value))))
    })
}

/// A number for the context: the same as long as it lives.
#[unsafe(no_mangle)]
pub extern "C" fn TFE_GetContextId(context: Option<&Context>) -> u64 {
    quiet(0, || Ok(std::ptr::from_ref(need(context)?).addr() as u64))
}
