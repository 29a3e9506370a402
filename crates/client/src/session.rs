//! `Session`: runs what a scope describes.

use crate::callable::Callable;
use crate::output::{Operation, Output};
use crate::outputs::Outputs;
use crate::scope::Scope;
use crate::value::IntoTensor;
use std::panic::Location;
use std::sync::{Arc, Mutex};
use std::time::Instant;
use thalweg_core::error::{Error, Result};
use thalweg_core::invalid;
use thalweg_core::node::{self, NodeId};
use thalweg_core::tensor::Tensor;
use thalweg_dist::{Credentials, RemoteSession};
use thalweg_proto::ConfigProto;
use thalweg_runtime::{RunMetadata, RunOptions, SessionOptions};

/// A session over a scope's graph. Nodes made after it was opened are taken in when they are first run.
pub struct Session {
    scope: Scope,
    place: Place,
    /// Nodes of the graph that the session has.
    taken: Mutex<usize>,
}

/// Where the graph runs.
enum Place {
    Here(thalweg_runtime::Session),
    There(Arc<RemoteSession>),
}

/// A value for an output, for one run.
pub struct Feed {
    output: Output,
    value: Result<Tensor>,
}

/// `feed(&x, 3.0)`: in this run, `x` is 3.
pub fn feed(output: &Output, value: impl IntoTensor) -> Feed {
    Feed { output: output.clone(), value: value.into_tensor() }
}

/// What a run can be asked for: an output gives a tensor, an operation nothing; tuples, slices and vectors of them give as many.
pub trait Fetch {
    type Result;
    fn ask(&self, wanted: &mut Wanted<'_>);
    fn answer(&self, values: &mut dyn Iterator<Item = Tensor>) -> Result<Self::Result>;
}

/// What the fetches of a run come down to.
pub struct Wanted<'s> {
    scope: &'s Scope,
    outputs: Vec<Option<node::Output>>,
    targets: Vec<Option<NodeId>>,
    /// One that is of another graph.
    stranger: Option<String>,
}

impl Wanted<'_> {
    fn is_from(&mut self, scope: &Scope, name: impl FnOnce() -> String) {
        if !self.scope.is_same_graph(scope) {
            self.stranger.get_or_insert_with(name);
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
    /// Opens a session; a mistake made while building is told here.
    pub fn new(scope: &Scope) -> Result<Session> {
        Session::with_options(scope, SessionOptions::default())
    }

    pub fn with_options(scope: &Scope, options: SessionOptions) -> Result<Session> {
        let graph = scope.graph()?;
        let inner = thalweg_runtime::Session::of(&graph, options)?;
        Ok(Session::over(scope, Place::Here(inner), graph.len()))
    }

    /// Opens a session on the task at `grpc://host:port`: a Thalweg or a TensorFlow server. One with TLS is at `grpcs://host:port`, and
    /// is shown what THALWEG_TLS_CA, THALWEG_TLS_CERT, THALWEG_TLS_KEY and THALWEG_TOKEN_FILE name.
    pub fn connect(target: &str, scope: &Scope) -> Result<Session> {
        Session::connect_with(target, scope, ConfigProto::default())
    }

    pub fn connect_with(target: &str, scope: &Scope, config: ConfigProto) -> Result<Session> {
        Session::connect_as(&Credentials::from_env(), target, scope, config)
    }

    /// With credentials that the program chooses.
    pub fn connect_as(
        credentials: &Credentials,
        target: &str,
        scope: &Scope,
        config: ConfigProto,
    ) -> Result<Session> {
        let graph = scope.graph()?;
        let remote = RemoteSession::connect_as(credentials, target, &graph, config)?;
        Ok(Session::over(scope, Place::There(Arc::new(remote)), graph.len()))
    }

    fn over(scope: &Scope, place: Place, taken: usize) -> Session {
        Session { scope: scope.clone(), place, taken: Mutex::new(taken) }
    }

    /// Runs: `session.run(&z, &[feed(&x, 3.0)])` gives a tensor, `session.run((&z, &train), &[])` a pair.
    #[track_caller]
    pub fn run<F: Fetch + ?Sized>(&self, fetch: &F, feeds: &[Feed]) -> Result<F::Result> {
        self.run_with(fetch, feeds, &RunOptions::default()).map(|r| r.0)
    }

    #[track_caller]
    pub fn run_with<F: Fetch + ?Sized>(
        &self,
        fetch: &F,
        feeds: &[Feed],
        options: &RunOptions,
    ) -> Result<(F::Result, RunMetadata)> {
        // What is wrong with a node is told with its place, what is wrong with the run with this one.
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

    /// Prepares a run to be made many times: the cheapest way to run. Values are given in the order of `feeds`.
    pub fn callable<F: Fetch + ?Sized>(&self, feeds: &[&Output], fetch: &F) -> Result<Callable> {
        self.callable_with(feeds, fetch, &RunOptions::default())
    }

    /// As `callable`. Compiling here ends when the options say that a run does.
    fn callable_with<F: Fetch + ?Sized>(
        &self,
        feeds: &[&Output],
        fetch: &F,
        options: &RunOptions,
    ) -> Result<Callable> {
        self.take_new_nodes()?;
        let mut wanted =
            Wanted { scope: &self.scope, outputs: Vec::new(), targets: Vec::new(), stranger: None };
        fetch.ask(&mut wanted);
        feeds.iter().for_each(|o| wanted.is_from(&o.scope, || o.name()));
        if let Some(name) = wanted.stranger {
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
        match &self.place {
            Place::Here(session) => {
                Ok(Callable::here(session.callable_with(&feeds, &outputs, &targets, options)?))
            }
            Place::There(session) => {
                let shared = self.scope.lock();
                let tensors =
                    |list: &[node::Output]| list.iter().map(|o| shared.graph.tensor_name(*o)).collect();
                let nodes = targets.iter().map(|id| shared.graph.node(*id).name.to_string()).collect();
                Ok(Callable::there(session.clone(), tensors(&feeds), tensors(&outputs), nodes))
            }
        }
    }

    fn take_new_nodes(&self) -> Result<()> {
        self.scope.check()?;
        let mut taken = self.taken.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let shared = self.scope.lock();
        if shared.graph.len() > *taken {
            match &self.place {
                Place::Here(session) => session.extend(&shared.graph)?,
                Place::There(session) => session.extend(&shared.graph)?,
            }
            *taken = shared.graph.len();
        }
        Ok(())
    }

    /// Ends the session. On another task, an error says that it could not be told.
    pub fn close(&self) -> Result<()> {
        match &self.place {
            Place::Here(session) => {
                session.close();
                Ok(())
            }
            Place::There(session) => session.close(),
        }
    }

    /// Drops the state in these containers; in the default one if none is named. For state of another task see
    /// [`RemoteSession::reset`].
    pub fn reset(&self, containers: &[String]) {
        if let Place::Here(session) = &self.place {
            session.reset(containers);
        }
    }

    /// The session of this process underneath, for runs by name; none if it is on another task.
    pub fn runtime(&self) -> Option<&thalweg_runtime::Session> {
        match &self.place {
            Place::Here(session) => Some(session),
            Place::There(_) => None,
        }
    }

    /// Names of the devices.
    pub fn devices(&self) -> Result<Vec<String>> {
        match &self.place {
            Place::Here(session) => Ok(session.devices().iter().map(|d| d.name().to_string()).collect()),
            Place::There(session) => session.devices(),
        }
    }
}
