//! `TF_Session`: runs a graph, in this process or on a server.

use crate::buffer::Buffer;
use crate::devices::DeviceList;
use crate::graph::{Graph, Operation, Port, SharedGraph};
use crate::options::{Options, run_options};
use crate::partial::PartialRuns;
use crate::pointers::{Array, Handle, Out, Text, need};
use crate::status::{Status, answer};
use crate::tensor::Tensor;
use std::ffi::c_int;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use thalweg_client::saved_model::state_steps;
use thalweg_client::{self as client, Output, RunOptions};
use thalweg_core::error::{Result, cancelled, data_loss, failed_precondition, not_found};
use thalweg_core::invalid;
use thalweg_core::node;
use thalweg_core::tensor;
use thalweg_io::saved_model;

pub struct Session {
    pub graph: Arc<SharedGraph>,
    pub client: client::Session,
    pub partial: PartialRuns,
    closed: AtomicBool,
}

impl Session {
    pub fn open(graph: Arc<SharedGraph>, options: &Options) -> Result<Session> {
        let client = match options.is_local() {
            true => client::Session::with_options(&graph.scope, options.local()?)?,
            false if !options.target.starts_with("grpc") => {
                return Err(not_found(format_args!(
                    "No session factory registered for the target '{}'; there are '' (this process), grpc:// and grpcs://",
                    options.target
                )));
            }
            false => client::Session::connect_with(&options.target, &graph.scope, options.config.clone())?,
        };
        Ok(Session::over(graph, client))
    }

    fn over(graph: Arc<SharedGraph>, client: client::Session) -> Session {
        Session { graph, client, partial: PartialRuns::default(), closed: AtomicBool::new(false) }
    }

    pub fn check_open(&self) -> Result<()> {
        match self.closed.load(Ordering::Acquire) {
            true => Err(cancelled("Session has been closed.")),
            false => Ok(()),
        }
    }

    pub fn close(&self) -> Result<()> {
        if self.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        self.partial.clear();
        self.client.close()
    }

    fn values(&self, ports: &[Port]) -> Result<Vec<Output>> {
        let found = self.graph.outputs(ports)?;
        Ok(found.into_iter().map(|o: node::Output| self.graph.scope.output_of(o)).collect())
    }

    /// One step.
    fn run(
        &self,
        step: &Step<'_>,
        options: &RunOptions,
    ) -> Result<(Vec<tensor::Tensor>, client::RunMetadata)> {
        self.check_open()?;
        let feeds = self.values(step.feeds)?;
        let fetches = self.values(step.fetches)?;
        let targets = self.graph.nodes(step.targets)?;
        let targets: Vec<_> = targets.into_iter().map(|id| self.graph.scope.operation_of(id)).collect();
        let values = values_of(step.values)?;
        let fed: Vec<&Output> = feeds.iter().collect();
        let callable = self.client.callable(&fed, &(fetches, targets))?;
        callable.run_with(values, options)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.close();
    }
}

/// The engine's tensors of those that a caller feeds.
pub fn values_of(tensors: &[Handle<Tensor>]) -> Result<Vec<tensor::Tensor>> {
    tensors.iter().map(|t| t.need()?.value()).collect()
}

/// Hands results over; all or none.
pub fn hand_over(results: Vec<tensor::Tensor>, places: &Out<Handle<Tensor>>) -> Result<()> {
    let made = results.into_iter().map(Tensor::of).collect::<Result<Vec<_>>>()?;
    made.into_iter().enumerate().for_each(|(i, t)| places.put_at(i, Handle::new(t)));
    Ok(())
}

/// Feeds, fetches and targets as a caller gives them.
struct Step<'a> {
    feeds: &'a [Port],
    values: &'a [Handle<Tensor>],
    fetches: &'a [Port],
    targets: &'a [Handle<Operation>],
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_NewSession(
    graph: Option<&Graph>,
    options: Option<&Options>,
    status: Option<&mut Status>,
) -> Option<Box<Session>> {
    answer(status, None, || {
        let graph = need(graph)?.0.clone();
        let session = match options {
            Some(options) => Session::open(graph, options)?,
            None => Session::open(graph, &Options::default())?,
        };
        Ok(Some(Box::new(session)))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_CloseSession(session: Option<&Session>, status: Option<&mut Status>) {
    answer(status, (), || need(session)?.close());
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_DeleteSession(session: Option<Box<Session>>, status: Option<&mut Status>) {
    answer(status, (), || {
        drop(session);
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_SessionRun(
    session: Option<&Session>,
    options: Option<&Buffer>,
    inputs: Array<Port>,
    input_values: Array<Handle<Tensor>>,
    num_inputs: c_int,
    outputs: Array<Port>,
    output_values: Out<Handle<Tensor>>,
    num_outputs: c_int,
    targets: Array<Handle<Operation>>,
    num_targets: c_int,
    metadata: Option<&mut Buffer>,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        let session = need(session)?;
        let fetches = outputs.slice(num_outputs)?;
        if !fetches.is_empty() {
            output_values.need()?;
        }
        (0..fetches.len()).for_each(|i| output_values.put_at(i, Handle::null()));
        if let Some(metadata) = &metadata {
            metadata.need_empty()?;
        }
        let step = Step {
            feeds: inputs.slice(num_inputs)?,
            values: input_values.slice(num_inputs)?,
            fetches,
            targets: targets.slice(num_targets)?,
        };
        let (results, told) = session.run(&step, &run_options(options)?)?;
        if let Some(metadata) = metadata {
            metadata.put(&session.client.metadata_message(&told))?;
        }
        hand_over(results, &output_values)
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_ExtendSession(session: Option<&Session>, status: Option<&mut Status>) {
    // Each run takes the graph's new nodes along.
    answer(status, (), || need(session)?.check_open());
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_SessionListDevices(
    session: Option<&Session>,
    status: Option<&mut Status>,
) -> Option<Box<DeviceList>> {
    answer(status, None, || {
        let session = need(session)?;
        session.check_open()?;
        Ok(Some(Box::new(DeviceList::of(&session.client)?)))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_LoadSessionFromSavedModel(
    options: Option<&Options>,
    _run_options: Option<&Buffer>,
    directory: Text,
    tags: Array<Text>,
    num_tags: c_int,
    graph: Option<&Graph>,
    meta_graph: Option<&mut Buffer>,
    status: Option<&mut Status>,
) -> Option<Box<Session>> {
    answer(status, None, || {
        let graph = &need(graph)?.0;
        if let Some(meta_graph) = &meta_graph {
            meta_graph.need_empty()?;
        }
        if graph.scope.read(|g| !g.is_empty()) {
            return Err(failed_precondition("a SavedModel is loaded into an empty graph"));
        }
        let directory = Path::new(directory.str()?);
        let tags: Vec<String> =
            tags.slice(num_tags)?.iter().map(|t| Ok(t.str()?.to_string())).collect::<Result<_>>()?;
        let meta = saved_model::select(saved_model::read(directory)?, Some(&tags))
            .map_err(|e| e.context(directory.display()))?;
        let def = meta.graph_def.as_ref().ok_or_else(|| data_loss("the SavedModel has no graph"))?;
        graph.scope.change(|g| g.import(def))?;
        let default = Options::default();
        let options = options.unwrap_or(&default);
        if !options.is_local() {
            return Err(invalid!("a SavedModel is loaded in this process, not on '{}'", options.target));
        }
        // Models name the devices that they were trained on.
        let local = client::SessionOptions { soft_placement: true, ..options.local()? };
        let client = client::Session::with_options(&graph.scope, local)?;
        if let Some(runtime) = client.runtime() {
            for step in state_steps(directory, &meta)? {
                step.run(runtime)?;
            }
        }
        if let Some(into) = meta_graph {
            into.put(&meta)?;
        }
        Ok(Some(Box::new(Session::over(graph.clone(), client))))
    })
}
