//! Importing GraphDefs.

use crate::buffer::Buffer;
use crate::graph::{Graph, Operation, Port, SharedGraph};
use crate::pointers::{Handle, Out, Text, c_text, need};
use crate::status::{Status, answer, quiet};
use std::ffi::{CString, c_char, c_int, c_uchar};
use thalweg_core::error::Result;
use thalweg_core::invalid;
use thalweg_graph::{ImportOptions, Imported};
use thalweg_proto::GraphDef;

/// `TF_ImportGraphDefOptions`. Outputs and operations of the graph are resolved when it is imported into.
#[derive(Default)]
pub struct Options {
    plain: ImportOptions,
    inputs: Vec<(String, c_int, Port)>,
    control_inputs: Vec<(String, Handle<Operation>)>,
    after: Vec<Handle<Operation>>,
    outputs: Vec<(String, c_int)>,
    operations: Vec<String>,
}

/// `TF_ImportGraphDefResults`.
#[derive(Default)]
pub struct Results {
    outputs: Vec<Port>,
    operations: Vec<Handle<Operation>>,
    unused_names: Vec<*const c_char>,
    unused_indices: Vec<c_int>,
    /// What the names point to.
    _texts: Vec<CString>,
}

fn with(options: Option<&mut Options>, change: impl FnOnce(&mut Options) -> Result<()>) {
    quiet((), || change(need(options)?));
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_NewImportGraphDefOptions() -> Box<Options> {
    Box::default()
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_DeleteImportGraphDefOptions(options: Option<Box<Options>>) {
    drop(options);
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_ImportGraphDefOptionsSetPrefix(options: Option<&mut Options>, prefix: Text) {
    with(options, |o| {
        o.plain.prefix = prefix.or_empty()?.to_string();
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_ImportGraphDefOptionsSetDefaultDevice(options: Option<&mut Options>, device: Text) {
    with(options, |o| {
        o.plain.default_device = device.or_empty()?.to_string();
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_ImportGraphDefOptionsSetUniquifyNames(options: Option<&mut Options>, unique: c_uchar) {
    with(options, |o| {
        o.plain.unique_names = unique != 0;
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_ImportGraphDefOptionsSetUniquifyPrefix(options: Option<&mut Options>, unique: c_uchar) {
    with(options, |o| {
        o.plain.unique_prefix = unique != 0;
        Ok(())
    });
}

/// Colocation is always checked where nodes are placed.
#[unsafe(no_mangle)]
pub extern "C" fn TF_ImportGraphDefOptionsSetValidateColocationConstraints(
    _: Option<&mut Options>,
    _: c_uchar,
) {
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_ImportGraphDefOptionsAddInputMapping(
    options: Option<&mut Options>,
    name: Text,
    index: c_int,
    to: Port,
) {
    with(options, |o| {
        o.inputs.push((name.str()?.to_string(), index, to));
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_ImportGraphDefOptionsRemapControlDependency(
    options: Option<&mut Options>,
    name: Text,
    to: Handle<Operation>,
) {
    with(options, |o| {
        o.control_inputs.push((name.str()?.to_string(), to));
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_ImportGraphDefOptionsAddControlDependency(
    options: Option<&mut Options>,
    before: Handle<Operation>,
) {
    with(options, |o| {
        o.after.push(before);
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_ImportGraphDefOptionsAddReturnOutput(
    options: Option<&mut Options>,
    name: Text,
    index: c_int,
) {
    with(options, |o| {
        o.outputs.push((name.str()?.to_string(), index));
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_ImportGraphDefOptionsNumReturnOutputs(options: Option<&Options>) -> c_int {
    options.map_or(0, |o| o.outputs.len() as c_int)
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_ImportGraphDefOptionsAddReturnOperation(options: Option<&mut Options>, name: Text) {
    with(options, |o| {
        o.operations.push(name.str()?.to_string());
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_ImportGraphDefOptionsNumReturnOperations(options: Option<&Options>) -> c_int {
    options.map_or(0, |o| o.operations.len() as c_int)
}

impl Options {
    fn resolved(&self, graph: &SharedGraph) -> Result<ImportOptions> {
        let mut plain = self.plain.clone();
        for (name, index, to) in &self.inputs {
            match u32::try_from(*index) {
                Ok(index) => drop(plain.inputs.insert((name.clone(), index), graph.output(to)?)),
                // -1 is the control output.
                Err(_) => {
                    plain.control_inputs.insert(name.clone(), graph.node(to.operation.need()?)?);
                }
            }
        }
        for (name, to) in &self.control_inputs {
            plain.control_inputs.insert(name.clone(), graph.node(to.need()?)?);
        }
        plain.after = graph.nodes(&self.after)?;
        Ok(plain)
    }

    fn import(&self, graph: &SharedGraph, def: GraphDef) -> Result<Results> {
        let plain = self.resolved(graph)?;
        // Checked first: a failed import changes nothing.
        let known: std::collections::HashMap<&str, ()> =
            def.node.iter().map(|n| (n.name.as_str(), ())).collect();
        let asked = self.outputs.iter().map(|o| &o.0).chain(&self.operations);
        for name in asked {
            let is_mapped = self.outputs.iter().any(|(n, i)| {
                n == name && u32::try_from(*i).is_ok_and(|i| plain.inputs.contains_key(&(n.clone(), i)))
            });
            if !known.contains_key(name.as_str()) && !is_mapped {
                return Err(invalid!("Requested return node '{name}' not found in graph def"));
            }
        }
        let imported = graph.scope.change(|g| g.import_with(def, &plain))?;
        self.results(graph, &plain, &imported)
    }

    fn results(&self, graph: &SharedGraph, plain: &ImportOptions, imported: &Imported) -> Result<Results> {
        let node = |name: &str| {
            let new = imported.names.get(name).map_or(name, String::as_str);
            graph.scope.read(|g| g.get(new))
        };
        let mut results = Results::default();
        for (name, index) in &self.outputs {
            let index =
                u32::try_from(*index).map_err(|_| invalid!("Invalid return output {name}:{index}"))?;
            let output = match plain.inputs.get(&(name.clone(), index)) {
                Some(mapped) => *mapped,
                None => node(name)?.output(index),
            };
            let count = graph.scope.read(|g| g.node(output.node).outputs.len());
            if output.index as usize >= count {
                return Err(invalid!(
                    "Invalid return output {index} of node '{name}', which has {count} output(s)"
                ));
            }
            results.outputs.push(graph.port(output));
        }
        for name in &self.operations {
            results.operations.push(graph.operation(node(name)?));
        }
        for (name, index) in &imported.unused_inputs {
            let text = c_text(name);
            results.unused_names.push(text.as_ptr());
            results.unused_indices.push(*index as c_int);
            results._texts.push(text);
        }
        Ok(results)
    }
}

fn import(graph: Option<&Graph>, def: Option<&Buffer>, options: Option<&Options>) -> Result<Results> {
    let def = need(def)?.decode("GraphDef")?;
    match options {
        Some(options) => options.import(&need(graph)?.0, def),
        None => Options::default().import(&need(graph)?.0, def),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_GraphImportGraphDefWithResults(
    graph: Option<&Graph>,
    def: Option<&Buffer>,
    options: Option<&Options>,
    status: Option<&mut Status>,
) -> Option<Box<Results>> {
    answer(status, None, || import(graph, def, options).map(|results| Some(Box::new(results))))
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_GraphImportGraphDefWithReturnOutputs(
    graph: Option<&Graph>,
    def: Option<&Buffer>,
    options: Option<&Options>,
    outputs: Out<Port>,
    places: c_int,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        let wanted = options.map_or(0, |o| o.outputs.len());
        if usize::try_from(places) != Ok(wanted) {
            return Err(invalid!("Expected 'num_return_outputs' to be {wanted}, got {places}"));
        }
        outputs.fill(places, import(graph, def, options)?.outputs);
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_GraphImportGraphDef(
    graph: Option<&Graph>,
    def: Option<&Buffer>,
    options: Option<&Options>,
    status: Option<&mut Status>,
) {
    answer(status, (), || import(graph, def, options).map(drop));
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_ImportGraphDefResultsReturnOutputs(
    results: Option<&Results>,
    count: Out<c_int>,
    outputs: Out<*const Port>,
) {
    let Some(results) = results else { return count.put(0) };
    count.put(results.outputs.len() as c_int);
    outputs.put(results.outputs.as_ptr());
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_ImportGraphDefResultsReturnOperations(
    results: Option<&Results>,
    count: Out<c_int>,
    operations: Out<*const Handle<Operation>>,
) {
    let Some(results) = results else { return count.put(0) };
    count.put(results.operations.len() as c_int);
    operations.put(results.operations.as_ptr());
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_ImportGraphDefResultsMissingUnusedInputMappings(
    results: Option<&Results>,
    count: Out<c_int>,
    names: Out<*const *const c_char>,
    indices: Out<*const c_int>,
) {
    let Some(results) = results else { return count.put(0) };
    count.put(results.unused_names.len() as c_int);
    names.put(results.unused_names.as_ptr());
    indices.put(results.unused_indices.as_ptr());
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_DeleteImportGraphDefResults(results: Option<Box<Results>>) {
    drop(results);
}
