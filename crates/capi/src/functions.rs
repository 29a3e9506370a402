//! Functions: made of graphs, added to them, read from and written to FunctionDefs.

use crate::buffer::{Buffer, decode};
use crate::graph::{Graph, Operation, Port};
use crate::pointers::{Array, Handle, Out, Text, c_text, need};
use crate::status::{Status, answer, quiet};
use std::ffi::{CString, c_char, c_int, c_uchar, c_void};
use std::sync::Mutex;
use thalweg_core::error::{Result, not_found, unimplemented};
use thalweg_core::invalid;
use thalweg_core::node::NodeId;
use thalweg_core::sync::lock;
use thalweg_graph::FunctionParts;
use thalweg_graph::convert::{attr_from_proto, attr_to_proto};
use thalweg_graph::function::{self, Library};
use thalweg_proto::{AttrValue, FunctionDef};

/// `TF_Function`.
pub struct Function {
    name: CString,
    pub definition: Mutex<function::Function>,
    /// Functions that its body calls, of the graph that it was made of.
    pub library: Library,
}

impl Function {
    pub fn of(definition: function::Function, library: Library) -> Function {
        Function { name: c_text(&definition.name), definition: Mutex::new(definition), library }
    }

    /// Adds it, and what it calls, to a library.
    pub fn add_to(&self, library: &mut Library) -> Result<()> {
        for called in self.library.iter() {
            if library.get(&called.name).is_none() {
                library.add(function::Function::clone(called))?;
            }
        }
        library.add(lock(&self.definition).clone())
    }
}

fn strings(texts: &Array<Text>, count: c_int) -> Result<Vec<String>> {
    if texts.is_null() {
        return Ok(Vec::new());
    }
    texts.slice(count)?.iter().map(|t| Ok(t.str()?.to_string())).collect()
}

/// Bits that differ where functions do: a name is unique for the same definition.
fn hash(definition: &function::Function) -> Result<u64> {
    let bytes = thalweg_proto::encode(&definition.to_proto()?);
    Ok(bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3)))
}

/// What of the graph is to be a function.
struct Parts<'a> {
    name: Text,
    append_hash: bool,
    operations: (c_int, Array<Handle<Operation>>),
    inputs: (c_int, Array<Port>),
    outputs: (c_int, Array<Port>),
    output_names: Array<Text>,
    control: Vec<&'a Operation>,
    control_names: Vec<String>,
}

impl Parts<'_> {
    fn make(&self, graph: Option<&Graph>) -> Result<Function> {
        let graph = &need(graph)?.0;
        let name = self.name.str()?;
        let nodes: Option<Vec<NodeId>> = match self.operations.0 {
            -1 => None,
            count => Some(graph.nodes(self.operations.1.slice(count)?)?),
        };
        let inputs = graph.outputs(self.inputs.1.slice(self.inputs.0)?)?;
        let results = graph.outputs(self.outputs.1.slice(self.outputs.0)?)?;
        let result_names = strings(&self.output_names, self.outputs.0)?;
        let mut control = Vec::new();
        for (i, operation) in self.control.iter().enumerate() {
            let own = || operation.name.to_string_lossy().into_owned();
            let name = self.control_names.get(i).cloned().unwrap_or_else(own);
            control.push((name, graph.node(operation)?));
        }
        let parts = FunctionParts {
            nodes: nodes.as_deref(),
            inputs: &inputs,
            results: &results,
            result_names: &result_names,
            control: &control,
        };
        let (mut definition, library) = graph.scope.read(|g| -> Result<_> {
            let made = function::Function::of_parts(name, g, &parts)?;
            let used = g.library.used_by(&made.nodes);
            Ok((made, used))
        })?;
        if self.append_hash {
            definition.name = format!("{name}_{:x}", hash(&definition)?);
        }
        Ok(Function::of(definition, library))
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_GraphToFunction(
    graph: Option<&Graph>,
    name: Text,
    append_hash: c_uchar,
    num_operations: c_int,
    operations: Array<Handle<Operation>>,
    num_inputs: c_int,
    inputs: Array<Port>,
    num_outputs: c_int,
    outputs: Array<Port>,
    output_names: Array<Text>,
    _options: *const c_void,
    _description: Text,
    status: Option<&mut Status>,
) -> Option<Box<Function>> {
    answer(status, None, || {
        let parts = Parts {
            name,
            append_hash: append_hash != 0,
            operations: (num_operations, operations),
            inputs: (num_inputs, inputs),
            outputs: (num_outputs, outputs),
            output_names,
            control: Vec::new(),
            control_names: Vec::new(),
        };
        Ok(Some(Box::new(parts.make(graph)?)))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_GraphToFunctionWithControlOutputs(
    graph: Option<&Graph>,
    name: Text,
    append_hash: c_uchar,
    num_operations: c_int,
    operations: Array<Handle<Operation>>,
    num_inputs: c_int,
    inputs: Array<Port>,
    num_outputs: c_int,
    outputs: Array<Port>,
    output_names: Array<Text>,
    num_control: c_int,
    control: Array<Handle<Operation>>,
    control_names: Array<Text>,
    _options: *const c_void,
    _description: Text,
    status: Option<&mut Status>,
) -> Option<Box<Function>> {
    answer(status, None, || {
        let control = control.slice(num_control)?.iter().map(Handle::need).collect::<Result<_>>()?;
        let parts = Parts {
            name,
            append_hash: append_hash != 0,
            operations: (num_operations, operations),
            inputs: (num_inputs, inputs),
            outputs: (num_outputs, outputs),
            output_names,
            control,
            control_names: strings(&control_names, num_control)?,
        };
        Ok(Some(Box::new(parts.make(graph)?)))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_FunctionName(function: Option<&Function>) -> *const c_char {
    function.map_or(std::ptr::null(), |f| f.name.as_ptr())
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_FunctionToFunctionDef(
    function: Option<&Function>,
    into: Option<&mut Buffer>,
    status: Option<&mut Status>,
) {
    answer(status, (), || need(into)?.put(&lock(&need(function)?.definition).to_proto()?));
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_FunctionImportFunctionDef(
    proto: Array<u8>,
    length: usize,
    status: Option<&mut Status>,
) -> Option<Box<Function>> {
    answer(status, None, || {
        let def: FunctionDef = decode(proto.slice(length)?, "FunctionDef")?;
        let made = Function::of(function::Function::from_proto(&def)?, Library::default());
        Ok(Some(Box::new(made)))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_FunctionSetAttrValueProto(
    function: Option<&Function>,
    name: Text,
    proto: Array<u8>,
    length: usize,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        let value: AttrValue = decode(proto.slice(length)?, "AttrValue")?;
        let value = attr_from_proto(&value)?;
        lock(&need(function)?.definition).attrs.set(name.str()?.to_string(), value);
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_FunctionGetAttrValueProto(
    function: Option<&Function>,
    name: Text,
    into: Option<&mut Buffer>,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        let (function, name) = (need(function)?, name.str()?);
        let value = lock(&function.definition).attrs.get(name).cloned();
        let value = value.ok_or_else(|| {
            invalid!("Function '{}' has no attr named '{name}'.", function.name.to_string_lossy())
        })?;
        need(into)?.put(&attr_to_proto(&value)?)
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_FunctionDebugString(function: Option<&Function>, length: Out<usize>) -> *mut c_char {
    quiet(std::ptr::null_mut(), || {
        let text = c_text(&thalweg_proto::text::print(&lock(&need(function)?.definition).to_proto()?));
        length.put(text.as_bytes().len());
        crate::pointers::c_copy(&text)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_DeleteFunction(function: Option<Box<Function>>) {
    drop(function);
}

/// Adds a function, and the one that computes its gradient, if there is one.
#[unsafe(no_mangle)]
pub extern "C" fn TF_GraphCopyFunction(
    graph: Option<&Graph>,
    function: Option<&Function>,
    gradient: Option<&Function>,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        let function =
            function.ok_or_else(|| invalid!("'func' argument to TF_GraphCopyFunction cannot be null"))?;
        need(graph)?.0.scope.change(|g| {
            let mut library = g.library.clone();
            function.add_to(&mut library)?;
            if let Some(gradient) = gradient {
                gradient.add_to(&mut library)?;
                let names = (function.name.to_string_lossy(), gradient.name.to_string_lossy());
                library.add_gradient(&names.0, &names.1)?;
            }
            library.check_recursion()?;
            g.library = library;
            Ok(())
        })
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_GraphNumFunctions(graph: Option<&Graph>) -> c_int {
    graph.map_or(0, |graph| graph.0.scope.read(|g| g.library.names().count()) as c_int)
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_GraphGetFunctions(
    graph: Option<&Graph>,
    functions: Out<Handle<Function>>,
    places: c_int,
    status: Option<&mut Status>,
) -> c_int {
    answer(status, 0, || {
        let library = need(graph)?.0.scope.read(|g| g.library.clone());
        let count = usize::try_from(places).unwrap_or(0).min(library.names().count());
        for (i, f) in library.iter().take(count).enumerate() {
            let used = library.used_by(&f.nodes);
            functions.put_at(i, Handle::new(Function::of(function::Function::clone(f), used)));
        }
        Ok(count as c_int)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_GraphRemoveFunction(graph: Option<&Graph>, name: Text, status: Option<&mut Status>) {
    answer(status, (), || {
        let name = name.str()?;
        match need(graph)?.0.scope.read(|g| g.library.get(name).is_some()) {
            true => {
                Err(unimplemented(format_args!("the function '{name}' cannot be removed: nodes may call it")))
            }
            false => Err(not_found(format_args!("Tried to remove non-existent function '{name}'."))),
        }
    });
}
