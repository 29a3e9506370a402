//! `Session`: runs the graph of a scope.

use crate::callable::Callable;
#[cfg(feature = "remote")]
use crate::callable::RemoteCallable;
use crate::output::{Operation, Output};
use crate::outputs::Outputs;
use crate::scope::Scope;
use crate::value::IntoTensor;
use std::panic::Location;
#[cfg(feature = "remote")]
use std::sync::Arc;
use std::sync::Mutex;
use std::time::Instant;
use thalweg_core::error::{Error, Result};
use thalweg_core::invalid;
use thalweg_core::node::{self, NodeId};
use thalweg_core::tensor::Tensor;
#[cfg(feature = "remote")]
use thalweg_dist::{Credentials, RemoteSession, run_metadata_to_proto};
#[cfg(feature = "remote")]
use thalweg_proto::ConfigProto;
use thalweg_runtime::device::Device;
use thalweg_runtime::{RunMetadata, RunOptions, SessionOptions};

/// Runs a scope's graph, in this process or on a server. Nodes made after it was opened are added by the next run.
///
/// ```
/// use thalweg_client::{DataType, Scope, Session, feed};
///
/// let g = Scope::new();
/// let x = g.placeholder(DataType::Float, &[-1]);
/// let (sum, mean) = (g.reduce_sum(&x, &[]), g.reduce_mean(&x, &[]));
/// let session = Session::new(&g)?;
/// let (sum, mean) = session.run(&(sum, mean), &[feed(&x, [1f32, 2.0, 6.0])])?;
/// assert_eq!((sum.to_scalar::<f32>()?, mean.to_scalar::<f32>()?), (9.0, 3.0));
/// # Ok::<(), thalweg_client::Error>(())
/// ```
pub struct Session {
    scope: Scope,
    backend: Backend,
    /// How many nodes of the graph the backend has.
    taken: Mutex<usize>,
}

/// Where the graph runs.
enum Backend {
    Local(thalweg_runtime::Session),
    #[cfg(feature = "remote")]
    Remote(Arc<RemoteSession>),
}

/// A feed: a value for an output, in one run.
pub struct Feed {
    output: Output,
    value: Result<Tensor>,
}

/// `feed(&x, 3.0)`: in this run, `x` is 3. Any output can be fed, not only placeholders.
pub fn feed(output: &Output, value: impl IntoTensor) -> Feed {
    Feed { output: output.clone(), value: value.into_tensor() }
}

/// What a run can fetch: an output (a tensor), an operation (nothing), or tuples, slices and vectors of them.
pub trait Fetch {
    /// The result of a run for it.
    type Result;
    /// Adds its outputs and operations to the fetches and targets of the run.
    fn ask(&self, wanted: &mut Wanted<'_>);
    /// Takes its tensors, in the order of `ask`.
    fn answer(&self, values: &mut dyn Iterator<Item = Tensor>) -> Result<Self::Result>;
}

/// The fetches and targets of a run.
pub struct Wanted<'s> {
    scope: &'s Scope,
    outputs: Vec<Option<node::Output>>,
    targets: Vec<Option<NodeId>>,
    /// The name of one from another graph.
    foreign: Option<String>,
}

impl Wanted<'_> {
    fn is_from(&mut self, scope: &Scope, name: impl FnOnce() -> String) {
        if !self.scope.is_same_graph(scope) {
            self.foreign.get_or_insert_with(name);
        }
    }
}

fn next(values: &mut dyn Iterator<Item = Tensor>) -> Result<Tensor> {
    values.next().ok_or_else(|| thalweg_core::error::internal("a fetch is missing"))
}

impl Fetch for Output {
    type Result = Tensor;
    fn ask(&self, wanted: &mut Wanted<'_>) {
        wanted.is_from(&self.scope, || self.name());
        wanted.outputs.push(self.id);
    }
    fn answer(&self, values: &mut dyn Iterator<Item = Tensor>) -> Result<Tensor> {
        next(values)
    }
}

impl Fetch for Operation {
    type Result = ();
    fn ask(&self, wanted: &mut Wanted<'_>) {
        wanted.is_from(&self.scope, || self.name());
        wanted.targets.push(self.id);
    }
    fn answer(&self, _: &mut dyn Iterator<Item = Tensor>) -> Result<()> {
        Ok(())
    }
}

impl<F: Fetch> Fetch for &F {
    type Result = F::Result;
    fn ask(&self, wanted: &mut Wanted<'_>) {
        (**self).ask(wanted);
    }
    fn answer(&self, values: &mut dyn Iterator<Item = Tensor>) -> Result<F::Result> {
        (**self).answer(values)
    }
}

impl<F: Fetch> Fetch for [F] {
    type Result = Vec<F::Result>;
    fn ask(&self, wanted: &mut Wanted<'_>) {
        self.iter().for_each(|f| f.ask(wanted));
    }
    fn answer(&self, values: &mut dyn Iterator<Item = Tensor>) -> Result<Vec<F::Result>> {
        self.iter().map(|f| f.answer(values)).collect()
    }
}

impl<F: Fetch> Fetch for Vec<F> {
    type Result = Vec<F::Result>;
    fn ask(&self, wanted: &mut Wanted<'_>) {
        self.as_slice().ask(wanted);
    }
    fn answer(&self, values: &mut dyn Iterator<Item = Tensor>) -> Result<Vec<F::Result>> {
        self.as_slice().answer(values)
    }
}

impl Fetch for Outputs {
    type Result = Vec<Tensor>;
    fn ask(&self, wanted: &mut Wanted<'_>) {
        self.as_slice().ask(wanted);
    }
    fn answer(&self, values: &mut dyn Iterator<Item = Tensor>) -> Result<Vec<Tensor>> {
        self.as_slice().answer(values)
    }
}

impl<F: Fetch, const N: usize> Fetch for [F; N] {
    type Result = Vec<F::Result>;
    fn ask(&self, wanted: &mut Wanted<'_>) {
        self.as_slice().ask(wanted);
    }
    fn answer(&self, values: &mut dyn Iterator<Item = Tensor>) -> Result<Vec<F::Result>> {
        self.as_slice().answer(values)
    }
}

macro_rules! tuples {
    ($(($($f:ident $i:tt),+);)*) => { $(
        impl<$($f: Fetch),+> Fetch for ($($f,)+) {
            type Result = ($($f::Result,)+);
            fn ask(&self, wanted: &mut Wanted<'_>) { $(self.$i.ask(wanted);)+ }
            fn answer(&self, values: &mut dyn Iterator<Item = Tensor>) -> Result<Self::Result> { Ok(($(self.$i.answer(values)?,)+)) }
        }
    )* };
}
tuples! { (A 0, B 1); (A 0, B 1, C 2); (A 0, B 1, C 2, D 3); }

impl Session {
    /// Opens a session in this process. Returns the first error made while building the graph.
    pub fn new(scope: &Scope) -> Result<Session> {
        Session::with_options(scope, SessionOptions::default())
    }

    /// As [`Session::new`], with threads, devices and other settings.
    pub fn with_options(scope: &Scope, options: SessionOptions) -> Result<Session> {
        let graph = scope.graph()?;
        let inner = thalweg_runtime::Session::of(&graph, options)?;
        Ok(Session::over(scope, Backend::Local(inner), graph.len()))
    }

    /// As [`Session::with_options`], on devices that other sessions share.
    pub(crate) fn on_devices(
        scope: &Scope,
        options: SessionOptions,
        devices: Vec<Device>,
    ) -> Result<Session> {
        let graph = scope.graph()?;
        let inner = thalweg_runtime::Session::with_devices(graph.registry.clone(), options, devices)?;
        inner.extend(&graph)?;
        Ok(Session::over(scope, Backend::Local(inner), graph.len()))
    }

    /// Opens a session on the task at `grpc://host:port`: a Thalweg or a TensorFlow server. With `grpcs://host:port` it uses TLS and the
    /// credentials in the files that THALWEG_TLS_CA, THALWEG_TLS_CERT, THALWEG_TLS_KEY and THALWEG_TOKEN_FILE name.
    #[cfg(feature = "remote")]
    pub fn connect(target: &str, scope: &Scope) -> Result<Session> {
        Session::connect_with(target, scope, ConfigProto::default())
    }

    /// As [`Session::connect`], with a session configuration: device filters, soft placement.
    #[cfg(feature = "remote")]
    pub fn connect_with(target: &str, scope: &Scope, config: ConfigProto) -> Result<Session> {
        Session::connect_as(&Credentials::from_env(), target, scope, config)
    }

    /// As [`Session::connect_with`], with other credentials than the environment's.
    #[cfg(feature = "remote")]
    pub fn connect_as(
        credentials: &Credentials,
        target: &str,
        scope: &Scope,
        config: ConfigProto,
    ) -> Result<Session> {
        let graph = scope.graph()?;
        let remote = RemoteSession::connect_as(credentials, target, &graph, config)?;
        Ok(Session::over(scope, Backend::Remote(Arc::new(remote)), graph.len()))
    }

    fn over(scope: &Scope, backend: Backend, taken: usize) -> Session {
        Session { scope: scope.clone(), backend, taken: Mutex::new(taken) }
    }

    /// One step: `session.run(&z, &[feed(&x, 3.0)])` returns a tensor, `session.run(&(&z, &train), &[])` a pair.
    #[track_caller]
    pub fn run<F: Fetch + ?Sized>(&self, fetch: &F, feeds: &[Feed]) -> Result<F::Result> {
        self.run_with(fetch, feeds, &RunOptions::default()).map(|r| r.0)
    }

    /// As [`Session::run`], with a timeout, cancellation or tracing; also returns the RunMetadata.
    #[track_caller]
    pub fn run_with<F: Fetch + ?Sized>(
        &self,
        fetch: &F,
        feeds: &[Feed],
        options: &RunOptions,
    ) -> Result<(F::Result, RunMetadata)> {
        // An error of a node has the location of the node; an error of the run gets that of the caller.
        let caller = Location::caller();
        self.run_once(fetch, feeds, options).map_err(|e| e.at(Some(caller)))
    }

    fn run_once<F: Fetch + ?Sized>(
        &self,
        fetch: &F,
        feeds: &[Feed],
        options: &RunOptions,
    ) -> Result<(F::Result, RunMetadata)> {
        let fed: Vec<&Output> = feeds.iter().map(|f| &f.output).collect();
        let began = options.timeout.map(|_| Instant::now());
        let callable = self.callable_with(&fed, fetch, options)?;
        let values: Vec<Tensor> = feeds.iter().map(|f| f.value.clone()).collect::<Result<_>>()?;
        let (results, metadata) = match began {
            Some(began) => callable.run_with(values, &options.after(began.elapsed()))?,
            None => callable.run_with(values, options)?,
        };
        Ok((fetch.answer(&mut results.into_iter())?, metadata))
    }

    /// As [`Session::run`], traced: also returns the RunMetadata message, with the time and memory of each node.
    #[cfg(feature = "remote")]
    #[track_caller]
    pub fn trace<F: Fetch + ?Sized>(
        &self,
        fetch: &F,
        feeds: &[Feed],
    ) -> Result<(F::Result, thalweg_proto::RunMetadata)> {
        let caller = Location::caller();
        let traced = || {
            let fed: Vec<&Output> = feeds.iter().map(|f| &f.output).collect();
            let callable = self.callable(&fed, fetch)?;
            let values: Vec<Tensor> = feeds.iter().map(|f| f.value.clone()).collect::<Result<_>>()?;
            let (results, metadata) = callable.trace(values, self.runtime())?;
            Ok((fetch.answer(&mut results.into_iter())?, metadata))
        };
        traced().map_err(|e: Error| e.at(Some(caller)))
    }

    /// The RunMetadata message of a step in this process, which was run with [`RunOptions::trace`].
    #[cfg(feature = "remote")]
    pub fn metadata_message(&self, metadata: &RunMetadata) -> thalweg_proto::RunMetadata {
        self.runtime().map(|session| run_metadata_to_proto(metadata, session)).unwrap_or_default()
    }

    /// Prepares a step to be run many times, with the least overhead. Values are passed in the order of `feeds`.
    pub fn callable<F: Fetch + ?Sized>(&self, feeds: &[&Output], fetch: &F) -> Result<Callable> {
        self.callable_with(feeds, fetch, &RunOptions::default())
    }

    /// As `callable`; compilation counts towards the timeout.
    fn callable_with<F: Fetch + ?Sized>(
        &self,
        feeds: &[&Output],
        fetch: &F,
        options: &RunOptions,
    ) -> Result<Callable> {
        self.extend()?;
        let mut wanted =
            Wanted { scope: &self.scope, outputs: Vec::new(), targets: Vec::new(), foreign: None };
        fetch.ask(&mut wanted);
        feeds.iter().for_each(|o| wanted.is_from(&o.scope, || o.name()));
        if let Some(name) = wanted.foreign {
            return Err(invalid!(
                "'{name}' is of another graph than the session; open a session on its scope, or make it on the session's"
            ));
        }
        let missing = || -> Error {
            self.scope.check().err().unwrap_or_else(|| invalid!("a fetch or feed could not be made"))
        };
        let feeds: Option<Vec<_>> = feeds.iter().map(|o| o.id).collect();
        let outputs: Option<Vec<_>> = wanted.outputs.into_iter().collect();
        let targets: Option<Vec<_>> = wanted.targets.into_iter().collect();
        let (Some(feeds), Some(outputs), Some(targets)) = (feeds, outputs, targets) else {
            return Err(missing());
        };
        match &self.backend {
            Backend::Local(session) => {
                Ok(Callable::local(session.callable_with(&feeds, &outputs, &targets, options)?))
            }
            #[cfg(feature = "remote")]
            Backend::Remote(session) => {
                let shared = self.scope.lock();
                let tensors =
                    |list: &[node::Output]| list.iter().map(|o| shared.graph.tensor_name(*o)).collect();
                let nodes = targets.iter().map(|id| shared.graph.node(*id).name.to_string()).collect();
                Ok(Callable::remote(RemoteCallable {
                    session: session.clone(),
                    feeds: tensors(&feeds),
                    fetches: tensors(&outputs),
                    targets: nodes,
                }))
            }
        }
    }

    fn extend(&self) -> Result<()> {
        self.scope.check()?;
        let mut taken = self.taken.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let shared = self.scope.lock();
        if shared.graph.len() > *taken {
            match &self.backend {
                Backend::Local(session) => session.extend(&shared.graph)?,
                #[cfg(feature = "remote")]
                Backend::Remote(session) => session.extend(&shared.graph)?,
            }
            *taken = shared.graph.len();
        }
        Ok(())
    }

    /// Closes the session. An error means that the server could not be reached.
    pub fn close(&self) -> Result<()> {
        match &self.backend {
            Backend::Local(session) => {
                session.close();
                Ok(())
            }
            #[cfg(feature = "remote")]
            Backend::Remote(session) => session.close(),
        }
    }

    /// Drops the resources in these containers; in the default one if none is named. Not on a server: see `RemoteSession::reset`.
    pub fn reset(&self, containers: &[String]) {
        if let Some(session) = self.runtime() {
            session.reset(containers);
        }
    }

    /// The runtime's session, for runs by name; `None` if the session is on a server.
    pub fn runtime(&self) -> Option<&thalweg_runtime::Session> {
        match &self.backend {
            Backend::Local(session) => Some(session),
            #[cfg(feature = "remote")]
            Backend::Remote(_) => None,
        }
    }

    /// The graph with static shapes, and in this process with the device that each node was placed on: for tools that show graphs.
    pub fn to_graph_def(&self) -> Result<thalweg_proto::GraphDef> {
        self.extend()?;
        let mut def = self.scope.to_graph_def_with_shapes()?;
        if let Some(session) = self.runtime() {
            for node in &mut def.node {
                node.device = session.device_of(&node.name).unwrap_or_default().to_string();
            }
        }
        Ok(def)
    }

    /// Names of the devices.
    pub fn devices(&self) -> Result<Vec<String>> {
        match &self.backend {
            Backend::Local(session) => Ok(session.devices().iter().map(|d| d.name().to_string()).collect()),
            #[cfg(feature = "remote")]
            Backend::Remote(session) => session.devices(),
        }
    }
}
