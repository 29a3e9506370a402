//! `TFE_Op`: a call under construction, and its execution.

use super::context::Context;
use super::handle::{InArray, TensorHandle};
use super::kernels::{Inputs, completed};
use crate::attrs::Values;
use crate::graph::registry;
use crate::pointers::{Array, Handle, Out, Text, c_text, need};
use crate::status::{Status, answer};
use std::ffi::{CString, c_char, c_int, c_uchar};
use thalweg_core::attr::{Attr, Attrs};
use thalweg_core::error::{Error, Result, not_found};
use thalweg_core::invalid;
use thalweg_core::op::{Class, Op};
use thalweg_core::signature::{ArgType, AttrKind, Signature};
use thalweg_core::sync::lock;
use thalweg_core::tensor::Tensor;

/// `TFE_Op`.
pub struct Call {
    pub context: Handle<Context>,
    pub name: CString,
    /// `None`: a function of the context.
    op: Option<&'static Op>,
    device: CString,
    /// One at a time, or a list for an argument.
    inputs: Vec<Given>,
    pub attrs: Attrs,
    mistake: Option<Error>,
}

enum Given {
    One(Tensor, String),
    List(Vec<(Tensor, String)>),
}

impl Values for Call {
    fn add_attr(&mut self, name: &str, value: Attr) {
        self.attrs.set(name.to_string(), value);
    }

    fn mistake(&mut self, e: Error) {
        self.mistake.get_or_insert(e);
    }
}

impl Call {
    pub fn text(&self) -> &str {
        self.name.to_str().unwrap_or_default()
    }

    fn flat(&self) -> Vec<(Tensor, String)> {
        let of = |given: &Given| match given {
            Given::One(t, device) => vec![(t.clone(), device.clone())],
            Given::List(list) => list.clone(),
        };
        self.inputs.iter().flat_map(of).collect()
    }

    /// The inputs by argument: as they were given, or, where lists were given one by one, by the attrs that count them.
    fn by_argument(&self, signature: &Signature) -> Result<Inputs> {
        let as_given = |given: &Given| match given {
            Given::One(t, _) => vec![t.clone()],
            Given::List(list) => list.iter().map(|(t, _)| t.clone()).collect(),
        };
        let is_list = |ty: &ArgType| matches!(ty, ArgType::List(_));
        let matches = self.inputs.len() == signature.inputs.len()
            && self.inputs.iter().zip(&signature.inputs).all(|(given, arg)| {
                matches!(given, Given::List(_)) == (arg.number.is_some() || is_list(&arg.ty))
            });
        if matches {
            return Ok(self.inputs.iter().map(as_given).collect());
        }
        let flat: Vec<Tensor> = self.flat().into_iter().map(|(t, _)| t).collect();
        let listed = signature.inputs.iter().filter(|a| a.number.is_some() || is_list(&a.ty)).count();
        let singles = signature.inputs.len() - listed;
        let spare = flat.len().saturating_sub(singles).checked_div(listed).unwrap_or(0);
        let mut rest = flat.into_iter();
        let mut inputs = Vec::with_capacity(signature.inputs.len());
        for arg in &signature.inputs {
            let count = match (&arg.number, &arg.ty) {
                (Some(number), _) => {
                    self.attrs.int(number).ok().and_then(|n| usize::try_from(n).ok()).unwrap_or(spare)
                }
                (None, ArgType::List(types)) => self.attrs.list(types).map_or(spare, <[Attr]>::len),
                _ => 1,
            };
            let taken: Vec<Tensor> = rest.by_ref().take(count).collect();
            if taken.len() < count {
                return Err(self.wrong_count(signature));
            }
            inputs.push(taken);
        }
        if rest.next().is_some() { Err(self.wrong_count(signature)) } else { Ok(inputs) }
    }

    fn wrong_count(&self, signature: &Signature) -> Error {
        let got = self.flat().len();
        invalid!("{} expects {} arguments, got {got} inputs", self.text(), signature.inputs.len())
    }

    fn run(&self) -> Result<(Vec<Tensor>, String)> {
        if let Some(e) = &self.mistake {
            return Err(e.clone());
        }
        let context = self.context.need()?;
        let device = context.device(self.device.to_str().unwrap_or_default())?;
        let on = device.name().to_string();
        let Some(op) = self.op else {
            let flat = vec![self.flat().into_iter().map(|(t, _)| t).collect()];
            let values = context.calls.run(context, self.text(), &on, (self.attrs.clone(), flat))?;
            return Ok((values, on));
        };
        let registry = registry();
        let signature = registry.signature(op)?;
        let inputs = self.by_argument(signature)?;
        let calls = matches!(op.class, Class::Call(_))
            || self.attrs.iter().any(|(_, attr)| matches!(attr, Attr::Func(_)))
            || signature.attrs.iter().any(|a| a.kind == AttrKind::Func);
        let values = match calls {
            true => {
                super::kernels::check_eager(op, signature)?;
                let attrs = completed(signature, &inputs, self.attrs.clone())?;
                context.calls.run(context, op.name, &on, (attrs, inputs))?
            }
            false => context.kernels.run(context, &registry, op, device, (self.attrs.clone(), inputs))?,
        };
        Ok((values, on))
    }

    pub fn signature(&self) -> Result<Signature> {
        signature(self.context.need()?, self.text())
    }
}

/// The signature of an op.
pub fn signature(_: &Context, name: &str) -> Result<Signature> {
    let registry = registry();
    let op = registry.find(name)?;
    Ok(registry.signature(op)?.clone())
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_NewOp(
    context: Option<&Context>,
    name: Text,
    status: Option<&mut Status>,
) -> Option<Box<Call>> {
    answer(status, None, || {
        let (context, name) = (need(context)?, name.str()?);
        let op = registry().get(name);
        if op.is_none() && lock(&context.library).get(name).is_none() {
            return Err(not_found(format_args!(
                "'{name}' is neither a type of a primitive operation nor a name of a function registered in the context"
            )));
        }
        Ok(Some(Box::new(Call {
            context: Handle::of(context),
            name: c_text(name),
            op,
            device: CString::default(),
            inputs: Vec::new(),
            attrs: Attrs::new(),
            mistake: None,
        })))
    })
}

/// Makes the op a new one, without attrs and inputs.
#[unsafe(no_mangle)]
pub extern "C" fn TFE_OpReset(op: Option<&mut Call>, name: Text, device: Text, status: Option<&mut Status>) {
    answer(status, (), || {
        let op = need(op)?;
        let mut made = None;
        let mut inner = Status::default();
        if let Some(call) = TFE_NewOp(op.context.get(), name, Some(&mut inner)) {
            made = Some(call);
        }
        let mut call = *made.ok_or_else(|| not_found("there is no op of that name"))?;
        call.device = c_text(device.or_empty()?);
        *op = call;
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_DeleteOp(op: Option<Box<Call>>) {
    drop(op);
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_OpGetName(op: Option<&Call>, status: Option<&mut Status>) -> *const c_char {
    answer(status, std::ptr::null(), || Ok(need(op)?.name.as_ptr()))
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_OpGetContext(op: Option<&Call>, status: Option<&mut Status>) -> Handle<Context> {
    answer(status, Handle::null(), || Ok(need(op)?.context))
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_OpSetDevice(op: Option<&mut Call>, device: Text, status: Option<&mut Status>) {
    answer(status, (), || {
        let op = need(op)?;
        let device = device.or_empty()?;
        // The full name, as soon as it is known.
        let found = op.context.need()?.device(device);
        thalweg_runtime::device::DeviceSpec::parse(device)?;
        op.device = c_text(match (&found, device.is_empty()) {
            (Ok(found), false) => found.name(),
            _ => device,
        });
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_OpGetDevice(op: Option<&Call>, status: Option<&mut Status>) -> *const c_char {
    answer(status, std::ptr::null(), || Ok(need(op)?.device.as_ptr()))
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_OpAddInput(
    op: Option<&mut Call>,
    input: Option<&TensorHandle>,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        let input = need(input)?;
        need(op)?.inputs.push(Given::One(input.value.clone(), input.device().to_string()));
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_OpAddInputList(
    op: Option<&mut Call>,
    inputs: Array<InArray>,
    count: c_int,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        let mut list = Vec::new();
        for input in inputs.slice(count)? {
            let input = input.need()?;
            list.push((input.value.clone(), input.device().to_string()));
        }
        need(op)?.inputs.push(Given::List(list));
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_OpGetFlatInputCount(op: Option<&Call>, status: Option<&mut Status>) -> c_int {
    answer(status, 0, || Ok(need(op)?.flat().len() as c_int))
}

/// A new handle of that input.
#[unsafe(no_mangle)]
pub extern "C" fn TFE_OpGetFlatInput(
    op: Option<&Call>,
    index: c_int,
    status: Option<&mut Status>,
) -> Option<Box<TensorHandle>> {
    answer(status, None, || {
        let flat = need(op)?.flat();
        let input = usize::try_from(index).ok().and_then(|i| flat.into_iter().nth(i));
        let (value, device) = input.ok_or_else(|| invalid!("there is no input {index}"))?;
        Ok(Some(Box::new(TensorHandle::new(value, &device))))
    })
}

fn attr_type(signature: &Signature, name: &Text, is_list: &Out<c_uchar>) -> Result<c_int> {
    let name = name.str()?;
    let spec = signature.attr(name);
    let spec = spec.ok_or_else(|| invalid!("Attribute '{name}' does not exist for this operation"))?;
    let (kind, list) = match &spec.kind {
        AttrKind::List(inner) => (&**inner, 1),
        kind => (kind, 0),
    };
    is_list.put(list);
    Ok(match kind {
        AttrKind::Str | AttrKind::List(_) => 0,
        AttrKind::Int => 1,
        AttrKind::Float => 2,
        AttrKind::Bool => 3,
        AttrKind::Type => 4,
        AttrKind::Shape => 5,
        AttrKind::Tensor => 6,
        AttrKind::Func => 8,
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_OpGetAttrType(
    op: Option<&Call>,
    name: Text,
    is_list: Out<c_uchar>,
    status: Option<&mut Status>,
) -> c_int {
    answer(status, 0, || attr_type(&need(op)?.signature()?, &name, &is_list))
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_OpNameGetAttrType(
    context: Option<&Context>,
    op: Text,
    name: Text,
    is_list: Out<c_uchar>,
    status: Option<&mut Status>,
) -> c_int {
    answer(status, 0, || attr_type(&signature(need(context)?, op.str()?)?, &name, &is_list))
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_OpGetInputLength(op: Option<&Call>, name: Text, status: Option<&mut Status>) -> c_int {
    answer(status, -1, || {
        let (op, name) = (need(op)?, name.str()?);
        let signature = op.signature()?;
        let found =
            signature.inputs.iter().zip(op.by_argument(&signature)?).find(|(arg, _)| arg.name == name);
        found.map(|(_, list)| list.len() as c_int).ok_or_else(|| invalid!("Input '{name}' not found"))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_OpGetOutputLength(op: Option<&Call>, name: Text, status: Option<&mut Status>) -> c_int {
    answer(status, -1, || {
        let (op, name) = (need(op)?, name.str()?);
        let signature = op.signature()?;
        let attrs = completed(&signature, &op.by_argument(&signature)?, op.attrs.clone())?;
        let ranges = signature.output_ranges(&attrs)?;
        let found = signature.outputs.iter().zip(ranges).find(|(arg, _)| arg.name == name);
        found.map(|(_, range)| range.len() as c_int).ok_or_else(|| invalid!("Output '{name}' not found"))
    })
}

/// Runs it. There must be place for all its results; how many there were is set.
#[unsafe(no_mangle)]
pub extern "C" fn TFE_Execute(
    op: Option<&Call>,
    results: Out<InArray>,
    num_results: Option<&mut c_int>,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        let (op, places) = (need(op)?, need(num_results)?);
        let (values, device) = op.run()?;
        if usize::try_from(*places).unwrap_or(0) < values.len() {
            return Err(invalid!("Expecting {} outputs, but *num_retvals is {places}", values.len()));
        }
        *places = values.len() as c_int;
        for (i, value) in values.into_iter().enumerate() {
            results.put_at(i, Handle::new(TensorHandle::new(value, &device)));
        }
        Ok(())
    });
}
