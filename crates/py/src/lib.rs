//! `thalweg._engine`: the engine as a module of Python. Doors to `client` and `train`, without logic of their own: what a function of Python
//! may be called with and what it returns is decided here, what it does is not. The package over it is `python/thalweg`.

// Input must not be able to panic.
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable)]

mod args;
mod array;
mod attrs;
mod averages;
mod checkpoints;
mod columns;
mod control_flow;
mod dlpack;
mod dtype;
mod eager;
mod errors;
mod estimators;
mod fetches;
mod functions;
mod generated;
mod gradients;
mod graph;
mod home;
mod hooks;
mod imports;
mod initializers;
mod interrupts;
mod layers;
mod losses;
mod messages;
mod metrics;
mod monitored;
mod op_table;
mod operation;
mod optimizers;
mod py_function;
mod rnn;
mod saver;
mod scope;
mod server;
mod session;
mod summaries;
mod tensor;
mod threads;
mod values;
mod variables;

use pyo3::prelude::*;
use std::ffi::OsString;

/// The command `thalweg` with these arguments; returns its exit code.
#[pyfunction]
fn run_program(py: Python<'_>, args: Vec<OsString>) -> u8 {
    py.detach(|| thalweg_cli::run_program(args))
}

#[pymodule]
fn _engine(m: &Bound<'_, PyModule>) -> PyResult<()> {
    interrupts::note_main_thread(m.py())?;
    m.add_class::<dtype::DType>()?;
    m.add_class::<scope::Scope>()?;
    m.add_class::<tensor::AnyTensor>()?;
    m.add_class::<tensor::Tensor>()?;
    m.add_class::<operation::Operation>()?;
    m.add_class::<variables::AnyVariable>()?;
    m.add_class::<variables::Variable>()?;
    m.add_class::<session::Session>()?;
    m.add_class::<initializers::Initializer>()?;
    m.add_class::<optimizers::Optimizer>()?;
    m.add_class::<saver::Saver>()?;
    m.add_class::<summaries::FileWriter>()?;
    m.add_class::<server::Server>()?;
    m.add_class::<server::ReplicaDevices>()?;
    m.add_class::<averages::MovingAverage>()?;
    m.add_class::<checkpoints::CheckpointReader>()?;
    m.add_class::<monitored::Monitored>()?;
    m.add_class::<generated::Generated>()?;
    m.add_class::<threads::Coordinator>()?;
    m.add_class::<threads::QueueRunner>()?;
    m.add_function(wrap_pyfunction!(dtype::as_dtype, m)?)?;
    m.add_function(wrap_pyfunction!(values::to_numpy, m)?)?;
    m.add_function(wrap_pyfunction!(op_table::op_names, m)?)?;
    m.add_function(wrap_pyfunction!(op_table::op_definition, m)?)?;
    m.add_function(wrap_pyfunction!(tensor::merge_shapes, m)?)?;
    m.add_function(wrap_pyfunction!(variables::global_step, m)?)?;
    m.add_function(wrap_pyfunction!(saver::latest_checkpoint, m)?)?;
    m.add_function(wrap_pyfunction!(interrupts::forked, m)?)?;
    m.add_function(wrap_pyfunction!(checkpoints::checkpoints, m)?)?;
    m.add_function(wrap_pyfunction!(metrics::metric, m)?)?;
    columns::add_to(m)?;
    estimators::add_to(m)?;
    m.add_function(wrap_pyfunction!(py_function::register_function, m)?)?;
    m.add_function(wrap_pyfunction!(py_function::forget_function, m)?)?;
    eager::add_to(m)?;
    dlpack::add_to(m)?;
    gradients::add_to(m)?;
    imports::add_to(m)?;
    messages::add_to(m)?;
    rnn::add_to(m)?;
    layers::add_to(m)?;
    losses::add_to(m)?;
    summaries::add_to(m)?;
    m.add_function(wrap_pyfunction!(run_program, m)?)?;
    m.add("__version__", env!("CARGO_PKG_VERSION"))
}
