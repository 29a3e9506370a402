//! `TFE_Context`: devices, functions, and what has been prepared.

use super::calls::Calls;
use super::kernels::Kernels;
use crate::buffer::{Buffer, decode};
use crate::devices::DeviceList;
use crate::functions::Function;
use crate::options::Options as SessionSettings;
use crate::pointers::{Array, Text, need};
use crate::status::{Status, answer, quiet};
use std::ffi::{c_int, c_uchar};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use thalweg_core::error::{Result, not_found, unimplemented};
use thalweg_core::invalid;
use thalweg_core::sync::lock;
use thalweg_graph::function::{self, Library};
use thalweg_proto::{FunctionDef, RunMetadata};
use thalweg_runtime::SessionOptions;
use thalweg_runtime::device::{Device, DeviceSpec};

/// Copies between devices that nobody asked for are silent.
const SILENT: c_int = 2;

/// `TFE_ContextOptions`.
#[derive(Default)]
pub struct Options {
    session: SessionSettings,
    policy: Option<c_int>,
}

pub struct Context {
    pub devices: Vec<Device>,
    pub options: SessionOptions,
    pub library: Mutex<Library>,
    pub kernels: Kernels,
    pub calls: Calls,
    policy: AtomicI32,
    pub soft_placement: AtomicBool,
    /// For names of resources that have none.
    pub count: AtomicU64,
}

impl Context {
    fn open(options: &Options) -> Result<Context> {
        let session = options.session.local()?;
        Ok(Context {
            devices: session.make_devices()?,
            // As TensorFlow's contexts: what cannot run where it should runs elsewhere.
            soft_placement: AtomicBool::new(session.soft_placement),
            options: session,
            library: Mutex::default(),
            kernels: Kernels::default(),
            calls: Calls::default(),
            policy: AtomicI32::new(options.policy.unwrap_or(SILENT)),
            count: AtomicU64::new(0),
        })
    }

    /// The device that a full or partial name means; the first for none.
    pub fn device(&self, name: &str) -> Result<&Device> {
        let wanted = DeviceSpec::parse(name)?;
        let fits = |d: &&Device| DeviceSpec::parse(d.name()).is_ok_and(|full| wanted.matches(&full));
        let fallback = || self.devices.first().filter(|_| self.soft_placement.load(Ordering::Relaxed));
        self.devices.iter().find(fits).or_else(fallback).ok_or_else(|| {
            let there: Vec<&str> = self.devices.iter().map(Device::name).collect();
            invalid!(
                "Could not satisfy device specification '{name}'. All available devices [{}].",
                there.join(", ")
            )
        })
    }

    /// A definition of that name, or an error.
    pub fn function(&self, name: &str) -> Result<Function> {
        let library = lock(&self.library);
        let found = library
            .get(name)
            .ok_or_else(|| not_found(format_args!("Unable to find FunctionDef for {name} in registry")))?;
        Ok(Function::of(function::Function::clone(found), library.used_by(&found.nodes)))
    }

    fn add(&self, add: impl FnOnce(&mut Library) -> Result<()>) -> Result<()> {
        let mut library = lock(&self.library);
        let mut more = library.clone();
        add(&mut more)?;
        more.check_recursion()?;
        *library = more;
        Ok(())
    }
}

impl Drop for Context {
    /// Resources may hold handles of one another.
    fn drop(&mut self) {
        self.devices.iter().for_each(|d| d.context.resources.end());
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_NewContextOptions() -> Box<Options> {
    Box::default()
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_DeleteContextOptions(options: Option<Box<Options>>) {
    drop(options);
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_ContextOptionsSetConfig(
    options: Option<&mut Options>,
    proto: Array<u8>,
    length: usize,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        need(options)?.session.config = decode(proto.slice(length)?, "config")?;
        Ok(())
    });
}

/// Ops are run before `TFE_Execute` returns, which nobody can tell from their being run later.
#[unsafe(no_mangle)]
pub extern "C" fn TFE_ContextOptionsSetAsync(_: Option<&mut Options>, _: c_uchar) {}

/// Everything is run by this engine.
#[unsafe(no_mangle)]
pub extern "C" fn TFE_ContextOptionsSetTfrt(_: Option<&mut Options>, _: bool) {}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_ContextOptionsSetDevicePlacementPolicy(options: Option<&mut Options>, policy: c_int) {
    if let Some(options) = options {
        options.policy = Some(policy);
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_NewContext(
    options: Option<&Options>,
    status: Option<&mut Status>,
) -> Option<Box<Context>> {
    let default = Options::default();
    answer(status, None, || Ok(Some(Box::new(Context::open(options.unwrap_or(&default))?))))
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_DeleteContext(context: Option<Box<Context>>) {
    quiet((), || {
        drop(context);
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_ContextListDevices(
    context: Option<&Context>,
    status: Option<&mut Status>,
) -> Option<Box<DeviceList>> {
    answer(status, None, || Ok(Some(Box::new(DeviceList::of_devices(&need(context)?.devices)))))
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_ContextClearCaches(context: Option<&Context>) {
    if let Some(context) = context {
        context.kernels.clear();
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_ContextSetThreadLocalDevicePlacementPolicy(context: Option<&Context>, policy: c_int) {
    if let Some(context) = context {
        context.policy.store(policy, Ordering::Relaxed);
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_ContextGetDevicePlacementPolicy(context: Option<&Context>) -> c_int {
    context.map_or(SILENT, |c| c.policy.load(Ordering::Relaxed))
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_ContextSetServerDef(
    _: Option<&Context>,
    _: c_int,
    _: Array<u8>,
    _: usize,
    status: Option<&mut Status>,
) {
    answer(status, (), || Err(unimplemented("eager execution is in one process; sessions run on servers")));
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_ContextAddFunctionDef(
    context: Option<&Context>,
    proto: Array<u8>,
    length: usize,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        let def: FunctionDef = decode(proto.slice(length)?, "FunctionDef")?;
        need(context)?.add(|library| library.add(function::Function::from_proto(&def)?))
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_ContextAddFunction(
    context: Option<&Context>,
    function: Option<&Function>,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        let function = need(function)?;
        need(context)?.add(|library| function.add_to(library))
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_ContextRemoveFunction(
    context: Option<&Context>,
    name: Text,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        let (context, name) = (need(context)?, name.str()?);
        let mut library = lock(&context.library);
        library.find(name)?;
        let mut rest = Library::default();
        for other in library.iter().filter(|f| f.name != name) {
            rest.add(function::Function::clone(other))?;
            if let Some(gradient) = library.gradient(&other.name).filter(|g| *g != name) {
                rest.add_gradient(&other.name, gradient)?;
            }
        }
        *library = rest;
        context.calls.clear();
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_ContextHasFunction(context: Option<&Context>, name: Text) -> c_uchar {
    quiet(0, || Ok(c_uchar::from(lock(&need(context)?.library).get(name.str()?).is_some())))
}

/// What ran when is told by sessions, not by contexts.
#[unsafe(no_mangle)]
pub extern "C" fn TFE_ContextEnableRunMetadata(_: Option<&Context>) {}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_ContextDisableRunMetadata(_: Option<&Context>) {}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_ContextExportRunMetadata(
    context: Option<&Context>,
    into: Option<&mut Buffer>,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        need(context)?;
        need(into)?.put(&RunMetadata::default())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_ContextStartStep(_: Option<&Context>) {}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_ContextEndStep(_: Option<&Context>) {}
