//! What the library knows: its version, its ops, their kernels.

use crate::buffer::Buffer;
use crate::graph::registry;
use crate::pointers::{Array, Handle, Text, need};
use crate::status::{Status, answer, quiet};
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use thalweg_core::attr::Attr;
use thalweg_core::error::{Result, not_found, unimplemented};
use thalweg_core::op::Op;
use thalweg_graph::convert::{attr_to_proto, op_to_proto};
use thalweg_proto::{Message, OpList};

/// The version of TensorFlow whose API this is.
const VERSION: &CStr = c"2.21.0";

#[unsafe(no_mangle)]
pub extern "C" fn TF_Version() -> *const c_char {
    VERSION.as_ptr()
}

/// The ops that programs may use.
fn ops() -> Result<OpList> {
    let registry = registry();
    let op = registry.all().into_iter().map(|op| op_to_proto(op, registry.signature(op)?));
    Ok(OpList { op: op.collect::<Result<_>>()? })
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_GetAllOpList() -> Option<Box<Buffer>> {
    quiet(None, || Ok(Some(Box::new(Buffer::of(&thalweg_proto::encode(&ops()?))?))))
}

/// Libraries of kernels for TensorFlow call its C++ interface, which is not here.
fn no_libraries<T>(name: &Text) -> Result<T> {
    let name = name.str()?;
    if !std::path::Path::new(name).exists() {
        return Err(not_found(format_args!("{name}: cannot open shared object file: No such file")));
    }
    Err(unimplemented(format_args!(
        "{name}: ops and devices made for TensorFlow's C++ interface cannot be loaded; write them in Rust (Scope::with_ops)"
    )))
}

/// `TF_Library`: there is none.
pub enum Library {}

#[unsafe(no_mangle)]
pub extern "C" fn TF_LoadLibrary(name: Text, status: Option<&mut Status>) -> Handle<Library> {
    answer(status, Handle::null(), || no_libraries(&name))
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_LoadPluggableDeviceLibrary(name: Text, status: Option<&mut Status>) -> Handle<Library> {
    answer(status, Handle::null(), || no_libraries(&name))
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_RegisterFilesystemPlugin(name: Text, status: Option<&mut Status>) {
    answer(status, (), || no_libraries(&name));
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_GetOpList(_: Handle<Library>) -> Buffer {
    Buffer::default()
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_DeleteLibraryHandle(_: Handle<Library>) {}

#[unsafe(no_mangle)]
pub extern "C" fn TF_DeletePluggableDeviceLibraryHandle(_: Handle<Library>) {}

/// `TF_ApiDefMap`: the descriptions of ops, by name.
pub struct ApiDefs(BTreeMap<String, Vec<u8>>);

/// A field of bytes in a message.
fn field(number: u8, bytes: &[u8], into: &mut Vec<u8>) {
    into.push(number << 3 | 2);
    let mut length = bytes.len();
    while length >= 0x80 {
        into.push(length as u8 | 0x80);
        length >>= 7;
    }
    into.push(length as u8);
    into.extend_from_slice(bytes);
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_NewApiDefMap(ops: Option<&Buffer>, status: Option<&mut Status>) -> Option<Box<ApiDefs>> {
    answer(status, None, || {
        let list: OpList = need(ops)?.decode("OpList")?;
        let described = list.op.into_iter().map(|op| {
            // ApiDef: graph_op_name = 1, in_arg = 4, out_arg = 5, attr = 6 (each with name = 1), summary = 7, description = 8.
            let mut def = Vec::new();
            field(1, op.name.as_bytes(), &mut def);
            let named = |n: &str| {
                let mut inner = Vec::new();
                field(1, n.as_bytes(), &mut inner);
                inner
            };
            op.input_arg.iter().for_each(|a| field(4, &named(&a.name), &mut def));
            op.output_arg.iter().for_each(|a| field(5, &named(&a.name), &mut def));
            op.attr.iter().for_each(|a| field(6, &named(&a.name), &mut def));
            field(7, op.summary.as_bytes(), &mut def);
            (op.name, def)
        });
        Ok(Some(Box::new(ApiDefs(described.collect()))))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_DeleteApiDefMap(defs: Option<Box<ApiDefs>>) {
    drop(defs);
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_ApiDefMapPut(
    _: Option<&mut ApiDefs>,
    _: Array<u8>,
    _: usize,
    status: Option<&mut Status>,
) {
    answer(status, (), || Err(unimplemented("descriptions of ops cannot be overridden")));
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_ApiDefMapGet(
    defs: Option<&ApiDefs>,
    name: Array<u8>,
    length: usize,
    status: Option<&mut Status>,
) -> Option<Box<Buffer>> {
    answer(status, None, || {
        let name = String::from_utf8_lossy(name.slice(length)?).into_owned();
        match need(defs)?.0.get(&name) {
            Some(def) => Ok(Some(Box::new(Buffer::of(def)?))),
            None => Ok(None),
        }
    })
}

/// The kernels of ops as a KernelList: kernel = 1 of op = 1, device_type = 2, constraint = 3 of name = 1, allowed_values = 2.
fn kernels(ops: &[&Op]) -> Result<Buffer> {
    let mut list = Vec::new();
    for op in ops {
        for row in op.kernels {
            let mut kernel = Vec::new();
            field(1, op.name.as_bytes(), &mut kernel);
            field(2, row.device.as_bytes(), &mut kernel);
            for (attr, dtype) in row.types {
                let mut constraint = Vec::new();
                field(1, attr.as_bytes(), &mut constraint);
                let allowed = attr_to_proto(&Attr::types(&[*dtype]))?;
                field(2, &allowed.encode_to_vec(), &mut constraint);
                field(3, &constraint, &mut kernel);
            }
            field(1, &kernel, &mut list);
        }
    }
    Buffer::of(&list)
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_GetAllRegisteredKernels(status: Option<&mut Status>) -> Option<Box<Buffer>> {
    answer(status, None, || {
        let all: Vec<&Op> = registry().all();
        Ok(Some(Box::new(kernels(&all)?)))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_GetRegisteredKernelsForOp(
    name: Text,
    status: Option<&mut Status>,
) -> Option<Box<Buffer>> {
    answer(status, None, || {
        let op: Option<&Op> = registry().get(name.str()?);
        Ok(Some(Box::new(kernels(op.as_slice())?)))
    })
}

/// 1 if the op has state or effects, 0 if not, -1 if there is no such op.
#[unsafe(no_mangle)]
pub extern "C" fn TF_OpIsStateful(name: Text, status: Option<&mut Status>) -> c_int {
    answer(status, -1, || Ok(c_int::from(registry().find(name.str()?)?.stateful)))
}

/// Errors are in statuses, and nothing is logged: the listener hears nothing.
#[unsafe(no_mangle)]
pub extern "C" fn TF_RegisterLogListener(_: Option<extern "C" fn(*const c_char)>) {}

/// Nothing is parsed and nothing has to be initialised.
#[unsafe(no_mangle)]
pub extern "C" fn TF_InitMain(_: Text, _: *mut c_int, _: *mut c_void) {}
