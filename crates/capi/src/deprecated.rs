//! `TF_DeprecatedSession`: a session with a graph of its own, which grows by GraphDefs and is run by names.

use crate::buffer::{Buffer, decode};
use crate::devices::DeviceList;
use crate::graph::SharedGraph;
use crate::options::{Options, run_options};
use crate::partial;
use crate::pointers::{Array, Handle, Out, Text, c_text, need};
use crate::session::{Session, hand_over, values_of};
use crate::status::{Status, answer};
use crate::tensor::Tensor;
use std::ffi::{c_char, c_int};
use std::sync::Arc;
use thalweg_client::{Operation, Output};
use thalweg_core::error::{Result, unimplemented};
use thalweg_dist::RemoteSession;

/// `TF_DeprecatedSession`.
pub struct Deprecated(Session);

fn names(texts: &Array<Text>, count: c_int) -> Result<Vec<String>> {
    texts.slice(count)?.iter().map(|t| Ok(t.str()?.to_string())).collect()
}

fn outputs(graph: &SharedGraph, names: &[String]) -> Result<Vec<Output>> {
    names.iter().map(|name| graph.scope.output(name)).collect()
}

/// As partial runs know tensors.
fn full(graph: &SharedGraph, names: &[String]) -> Result<Vec<String>> {
    names.iter().map(|name| graph.scope.read(|g| Ok(g.tensor_name(g.output(name)?)))).collect()
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_NewDeprecatedSession(
    options: Option<&Options>,
    status: Option<&mut Status>,
) -> Option<Box<Deprecated>> {
    answer(status, None, || {
        let default = Options::default();
        let graph: Arc<SharedGraph> = SharedGraph::new();
        Ok(Some(Box::new(Deprecated(Session::open(graph, options.unwrap_or(&default))?))))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_CloseDeprecatedSession(session: Option<&Deprecated>, status: Option<&mut Status>) {
    answer(status, (), || need(session)?.0.close());
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_DeleteDeprecatedSession(session: Option<Box<Deprecated>>, status: Option<&mut Status>) {
    answer(status, (), || {
        drop(session);
        Ok(())
    });
}

/// Clears containers of the server that the options name.
#[unsafe(no_mangle)]
pub extern "C" fn TF_Reset(
    options: Option<&Options>,
    containers: Array<Text>,
    count: c_int,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        let options = need(options)?;
        if options.is_local() {
            return Err(unimplemented(
                "sessions in this process share no containers: there is nothing to reset",
            ));
        }
        RemoteSession::reset(&options.target, &names(&containers, count)?)
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_ExtendGraph(
    session: Option<&Deprecated>,
    proto: Array<u8>,
    length: usize,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        let session = &need(session)?.0;
        session.check_open()?;
        let def = decode(proto.slice(length)?, "GraphDef")?;
        // Nodes may take what earlier GraphDefs have made.
        session.graph.scope.change(|g| {
            let mut copy = g.clone();
            copy.import(&def)?;
            *g = copy;
            Ok(())
        })
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_Run(
    session: Option<&Deprecated>,
    options: Option<&Buffer>,
    input_names: Array<Text>,
    input_values: Array<Handle<Tensor>>,
    num_inputs: c_int,
    output_names: Array<Text>,
    output_values: Out<Handle<Tensor>>,
    num_outputs: c_int,
    target_names: Array<Text>,
    num_targets: c_int,
    metadata: Option<&mut Buffer>,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        let session = &need(session)?.0;
        session.check_open()?;
        let graph = &session.graph;
        let feeds = outputs(graph, &names(&input_names, num_inputs)?)?;
        let fetches = outputs(graph, &names(&output_names, num_outputs)?)?;
        (0..fetches.len()).for_each(|i| output_values.put_at(i, Handle::null()));
        let targets = names(&target_names, num_targets)?;
        let targets = targets.iter().map(|n| Ok(graph.scope.operation_of(graph.scope.read(|g| g.get(n))?)));
        let targets: Vec<Operation> = targets.collect::<Result<_>>()?;
        let fed: Vec<&Output> = feeds.iter().collect();
        let callable = session.client.callable(&fed, &(fetches, targets))?;
        let values = values_of(input_values.slice(num_inputs)?)?;
        let (results, told) = callable.run_with(values, &run_options(options)?)?;
        if let Some(metadata) = metadata {
            metadata.put(&session.client.metadata_message(&told))?;
        }
        hand_over(results, &output_values)
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_PRunSetup(
    session: Option<&Deprecated>,
    input_names: Array<Text>,
    num_inputs: c_int,
    output_names: Array<Text>,
    num_outputs: c_int,
    target_names: Array<Text>,
    num_targets: c_int,
    handle: Out<*const c_char>,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        handle.need()?.put(std::ptr::null());
        let session = &need(session)?.0;
        let feeds = full(&session.graph, &names(&input_names, num_inputs)?)?;
        let fetches = full(&session.graph, &names(&output_names, num_outputs)?)?;
        let made = partial::set_up(session, &feeds, &fetches, &names(&target_names, num_targets)?)?;
        handle.put(crate::pointers::c_copy(&c_text(&made))?);
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_PRun(
    session: Option<&Deprecated>,
    handle: Text,
    input_names: Array<Text>,
    input_values: Array<Handle<Tensor>>,
    num_inputs: c_int,
    output_names: Array<Text>,
    output_values: Out<Handle<Tensor>>,
    num_outputs: c_int,
    _target_names: Array<Text>,
    _num_targets: c_int,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        let session = &need(session)?.0;
        session.check_open()?;
        let fetches = full(&session.graph, &names(&output_names, num_outputs)?)?;
        (0..fetches.len()).for_each(|i| output_values.put_at(i, Handle::null()));
        let feeds = full(&session.graph, &names(&input_names, num_inputs)?)?;
        let values = values_of(input_values.slice(num_inputs)?)?;
        let fed = feeds.into_iter().zip(values).collect();
        hand_over(session.partial.step(handle.str()?, fed, &fetches)?, &output_values)
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_DeprecatedSessionListDevices(
    session: Option<&Deprecated>,
    status: Option<&mut Status>,
) -> Option<Box<DeviceList>> {
    answer(status, None, || Ok(Some(Box::new(DeviceList::of(&need(session)?.0.client)?))))
}
