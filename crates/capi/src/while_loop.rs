//! While loops made of two graphs: one for the condition, one for the body.
//!
//! `TF_NewWhile` makes both with a placeholder for each loop variable; `TF_FinishWhile` imports them into a loop of `Scope::while_loop`.

use crate::graph::{Graph, Port, SharedGraph};
use crate::pointers::{Array, Handle, Out, Text, need};
use crate::status::{Status, answer, quiet};
use std::ffi::c_int;
use std::sync::Arc;
use thalweg_client::{Output, Scope};
use thalweg_core::attr::Attrs;
use thalweg_core::error::{Error, Result};
use thalweg_core::invalid;
use thalweg_core::node;
use thalweg_graph::{ImportOptions, NodeRequest};

/// Iterations that may run at once, as TensorFlow's default.
const PARALLEL_ITERATIONS: i64 = 10;

/// `TF_WhileParams`: the fields are those of the header. The caller sets the outputs and the name.
#[repr(C)]
pub struct Params {
    num_inputs: c_int,
    cond_graph: Handle<Loop>,
    cond_inputs: *const Port,
    cond_output: Port,
    body_graph: Handle<Graph>,
    body_inputs: *const Port,
    body_outputs: *mut Port,
    name: Text,
}

/// The graph of the condition, and beside it what the loop is made of: a `Loop` is a `Graph` to C.
#[repr(C)]
pub struct Loop {
    cond: Graph,
    outer: Arc<SharedGraph>,
    initial: Vec<node::Output>,
    body: Handle<Graph>,
    cond_inputs: Vec<Port>,
    body_inputs: Vec<Port>,
    body_outputs: Vec<Port>,
}

impl Params {
    fn none() -> Params {
        let none = Port::none(Handle::null());
        Params {
            num_inputs: 0,
            cond_graph: Handle::null(),
            cond_inputs: std::ptr::null(),
            cond_output: none,
            body_graph: Handle::null(),
            body_inputs: std::ptr::null(),
            body_outputs: std::ptr::null_mut(),
            name: Text::null(),
        }
    }

    fn end(&self) {
        quiet((), || {
            if let Some(made) = self.cond_graph.take() {
                drop(made.body.take());
            }
            Ok(())
        });
    }
}

/// A graph with a placeholder for each of these outputs of another.
fn inner_graph(outer: &SharedGraph, outputs: &[node::Output], what: &str) -> Result<(Graph, Vec<Port>)> {
    let graph = SharedGraph::new();
    let (types, library): (Vec<_>, _) = outer
        .scope
        .read(|g| (outputs.iter().map(|o| (g.dtype(*o), g.shape(*o))).collect(), g.library.clone()));
    graph.scope.change(|g| g.library = library);
    let mut ports = Vec::with_capacity(types.len());
    for (i, (dtype, shape)) in types.into_iter().enumerate() {
        let mut attrs = Attrs::new();
        attrs.set("dtype", dtype);
        attrs.set("shape", shape);
        let name = format!("{what}_input{i}");
        let request = NodeRequest { op: "Placeholder", name: &name, attrs, ..Default::default() };
        let id = graph.scope.change(|g| g.add_node(request))?;
        ports.push(graph.port(id.output(0)));
    }
    Ok((Graph(graph), ports))
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_NewWhile(
    graph: Option<&Graph>,
    inputs: Array<Port>,
    num_inputs: c_int,
    status: Option<&mut Status>,
) -> Params {
    answer(status, Params::none(), || {
        if num_inputs == 0 {
            return Err(invalid!("TF_NewWhile() must be passed at least one input"));
        }
        let outer = need(graph)?.0.clone();
        let initial = outer.outputs(inputs.slice(num_inputs)?)?;
        let (cond, cond_inputs) = inner_graph(&outer, &initial, "cond")?;
        let (body, body_inputs) = inner_graph(&outer, &initial, "body")?;
        let mut body_outputs = vec![Port::none(Handle::null()); initial.len()];
        let places = body_outputs.as_mut_ptr();
        let body = Handle::new(body);
        let made = Handle::new(Loop { cond, outer, initial, body, cond_inputs, body_inputs, body_outputs });
        let parts = made.need()?;
        Ok(Params {
            num_inputs,
            cond_graph: made,
            cond_inputs: parts.cond_inputs.as_ptr(),
            cond_output: Port::none(Handle::null()),
            body_graph: body,
            body_inputs: parts.body_inputs.as_ptr(),
            body_outputs: places,
            name: Text::null(),
        })
    })
}

/// The parameters end with this, whether or not it succeeds.
#[unsafe(no_mangle)]
pub extern "C" fn TF_FinishWhile(params: Option<&Params>, status: Option<&mut Status>, outputs: Out<Port>) {
    answer(status, (), || {
        let params = need(params)?;
        let done = check_set(params).and_then(|()| finish(params, &outputs));
        params.end();
        done
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_AbortWhile(params: Option<&Params>) {
    if let Some(params) = params {
        params.end();
    }
}

/// Imports a graph into an iteration, with the loop variables for its placeholders; these of its outputs.
fn inside(at: &Scope, variables: &[Output], part: &Part) -> Result<Vec<Output>> {
    let mut options = ImportOptions {
        prefix: format!("{}{}", at.name_prefix(), part.name),
        unique_prefix: true,
        ..Default::default()
    };
    for (name, variable) in part.inputs.iter().zip(variables) {
        options.inputs.insert((name.clone(), 0), variable.id().ok_or_else(lost)?);
    }
    // What has no inputs runs in the iteration too.
    options.after.extend(variables.first().and_then(Output::id).map(|o| o.node));
    let def = at.change(|g| -> Result<_> {
        let mut library = g.library.clone();
        for f in part.graph.library.iter() {
            library.add(thalweg_graph::function::Function::clone(f))?;
        }
        g.library = library;
        part.graph.to_def(Default::default())
    })?;
    let mut def = def;
    def.node.retain(|node| !part.inputs.contains(&node.name));
    let imported = at.change(|g| g.import_with(def, &options))?;
    let mut found = Vec::with_capacity(part.outputs.len());
    for (name, index) in &part.outputs {
        let id = match options.inputs.get(&(name.clone(), *index)) {
            Some(variable) => *variable,
            None => {
                let new = imported.names.get(name).ok_or_else(lost)?;
                at.read(|g| g.get(new))?.output(*index)
            }
        };
        found.push(at.output_of(id));
    }
    Ok(found)
}

fn lost() -> Error {
    invalid!("a loop variable could not be made")
}

/// One of the two graphs of a loop.
struct Part {
    name: &'static str,
    graph: thalweg_graph::Graph,
    /// Its placeholders.
    inputs: Vec<String>,
    outputs: Vec<(String, u32)>,
}

impl Part {
    fn of(name: &'static str, graph: &SharedGraph, inputs: &[Port], outputs: &[Port]) -> Result<Part> {
        let inputs = graph.outputs(inputs)?;
        let found = graph.outputs(outputs)?;
        graph.scope.read(|g| {
            let node = |id| g.node(id).name.to_string();
            Ok(Part {
                name,
                graph: g.clone(),
                inputs: inputs.iter().map(|o| node(o.node)).collect(),
                outputs: found.iter().map(|o| (node(o.node), o.index)).collect(),
            })
        })
    }
}

fn check_set(params: &Params) -> Result<()> {
    if params.name.is_null() {
        return Err(invalid!("TF_WhileParams `name` field is null"));
    }
    if params.cond_output.operation.is_null() {
        return Err(invalid!("TF_WhileParams `cond_output` field isn't set"));
    }
    let unset = params.cond_graph.need()?.body_outputs.iter().position(|port| port.operation.is_null());
    match unset {
        Some(i) => Err(invalid!("TF_WhileParams `body_outputs[{i}]` field isn't set")),
        None => Ok(()),
    }
}

fn finish(params: &Params, outputs: &Out<Port>) -> Result<()> {
    let made = params.cond_graph.need()?;
    let cond = Part::of("cond", &made.cond.0, &made.cond_inputs, &[params.cond_output])?;
    let body = Part::of("body", &made.body.need()?.0, &made.body_inputs, &made.body_outputs)?;
    let initial: Vec<Output> = made.initial.iter().map(|o| made.outer.scope.output_of(*o)).collect();
    let scope = made.outer.scope.name_scope(params.name.str()?);
    let mut failed = None;
    let results = scope.while_loop(
        &initial.iter().collect::<Vec<_>>(),
        PARALLEL_ITERATIONS,
        |at, v| match inside(at, v, &cond).map(|found| found.into_iter().next()) {
            Ok(Some(pred)) => pred,
            Ok(None) => v[0].clone(),
            Err(e) => {
                failed = Some(e);
                v[0].clone()
            }
        },
        |at, v| match inside(at, v, &body) {
            Ok(found) => found,
            Err(e) => {
                at.mistake(e);
                v.to_vec()
            }
        },
    );
    if let Some(e) = failed {
        let _ = made.outer.check();
        return Err(e);
    }
    made.outer.check()?;
    for (i, result) in results.iter().enumerate() {
        outputs.put_at(i, made.outer.port(result.id().ok_or_else(lost)?));
    }
    Ok(())
}
