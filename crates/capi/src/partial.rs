//! Partial runs: steps that are fed and fetched from while they run.

use crate::graph::{Operation, Port, SharedGraph};
use crate::pointers::{Array, Copied, Handle, Out, Text, c_copy, c_text, need};
use crate::session::{Session, hand_over, values_of};
use crate::status::{Status, answer};
use crate::tensor::Tensor;
use std::collections::HashMap;
use std::ffi::{c_char, c_int};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use thalweg_core::error::{Result, internal, unimplemented};
use thalweg_core::invalid;
use thalweg_core::sync::lock;
use thalweg_core::tensor;
use thalweg_runtime::PartialRun;

/// The running ones of a session, by handle.
#[derive(Default)]
pub struct PartialRuns {
    running: Mutex<HashMap<String, Arc<PartialRun>>>,
    count: AtomicU64,
}

impl PartialRuns {
    fn add(&self, run: PartialRun, feeds: &[String], fetches: &[String], targets: &[String]) -> String {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let handle = format!("{}->{}/{}/{number}", feeds.join(","), fetches.join(","), targets.join(","));
        lock(&self.running).insert(handle.clone(), Arc::new(run));
        handle
    }

    /// Ends all of them.
    pub fn clear(&self) {
        let ended: Vec<_> = lock(&self.running).drain().collect();
        drop(ended);
    }

    /// Feeds these and waits for those.
    pub fn step(
        &self,
        handle: &str,
        feeds: Vec<(String, tensor::Tensor)>,
        fetches: &[String],
    ) -> Result<Vec<tensor::Tensor>> {
        let run = lock(&self.running).get(handle).cloned();
        let run = run.ok_or_else(|| invalid!("Must run 'setup' before performing partial runs!"))?;
        let (answered, result) = mpsc::channel();
        run.step(feeds, fetches, false, Box::new(move |r| drop(answered.send(r))))?;
        let (values, last) = result
            .recv()
            .map_err(|_| internal("a partial run ended without a result"))?
            .inspect_err(|_| drop(lock(&self.running).remove(handle)))?;
        if last.is_some() {
            lock(&self.running).remove(handle);
        }
        Ok(values)
    }
}

/// The names by which a partial run knows its tensors.
fn tensor_names(graph: &SharedGraph, ports: &[Port]) -> Result<Vec<String>> {
    let outputs = graph.outputs(ports)?;
    Ok(graph.scope.read(|g| outputs.iter().map(|o| g.tensor_name(*o)).collect()))
}

/// Starts one; its handle.
pub fn set_up(session: &Session, feeds: &[String], fetches: &[String], targets: &[String]) -> Result<String> {
    session.check_open()?;
    // The session takes the graph's new nodes along with a run; an empty one will do.
    session.client.callable(&[], &Vec::<thalweg_client::Operation>::new())?;
    let runtime = session.client.runtime();
    let runtime = runtime
        .ok_or_else(|| unimplemented("partial runs are for sessions in this process, not on a server"))?;
    let run = runtime.partial_run(&strs(feeds), &strs(fetches), &strs(targets))?;
    Ok(session.partial.add(run, feeds, fetches, targets))
}

fn strs(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_SessionPRunSetup(
    session: Option<&Session>,
    inputs: Array<Port>,
    num_inputs: c_int,
    outputs: Array<Port>,
    num_outputs: c_int,
    targets: Array<Handle<Operation>>,
    num_targets: c_int,
    handle: Out<*const c_char>,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        handle.need()?.put(std::ptr::null());
        let session = need(session)?;
        let graph = &session.graph;
        let targets = graph.nodes(targets.slice(num_targets)?)?;
        let targets: Vec<String> =
            graph.scope.read(|g| targets.iter().map(|id| g.node(*id).name.to_string()).collect());
        let feeds = tensor_names(graph, inputs.slice(num_inputs)?)?;
        let fetches = tensor_names(graph, outputs.slice(num_outputs)?)?;
        let made = set_up(session, &feeds, &fetches, &targets)?;
        handle.put(c_copy(&c_text(&made))?);
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_SessionPRun(
    session: Option<&Session>,
    handle: Text,
    inputs: Array<Port>,
    input_values: Array<Handle<Tensor>>,
    num_inputs: c_int,
    outputs: Array<Port>,
    output_values: Out<Handle<Tensor>>,
    num_outputs: c_int,
    _targets: Array<Handle<Operation>>,
    _num_targets: c_int,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        let session = need(session)?;
        session.check_open()?;
        let fetches = tensor_names(&session.graph, outputs.slice(num_outputs)?)?;
        (0..fetches.len()).for_each(|i| output_values.put_at(i, Handle::null()));
        let feeds = tensor_names(&session.graph, inputs.slice(num_inputs)?)?;
        let values = values_of(input_values.slice(num_inputs)?)?;
        let fed = feeds.into_iter().zip(values).collect();
        hand_over(session.partial.step(handle.str()?, fed, &fetches)?, &output_values)
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_DeletePRunHandle(handle: Copied) {
    handle.free();
}
