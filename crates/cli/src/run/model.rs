//! Runs a signature of a SavedModel.

use super::feed::Feed;
use super::{Args, finish, report, session_options, write_trace};
use crate::failure::{Failure, Outcome};
use std::time::Instant;
use thalweg::saved_model::{LoadOptions, TensorInfo};
use thalweg::{SavedModel, Signature};
use thalweg_core::error::Result;
use thalweg_core::invalid;
use thalweg_core::tensor::Tensor;
use thalweg_runtime::RunOptions;

pub fn run(args: &Args) -> Outcome {
    let options = LoadOptions { tags: args.tags().map(<[String]>::to_vec), session: session_options(args) };
    let model = SavedModel::load_with(&args.graph, options)?;
    let signature = match &args.signature {
        Some(name) => model.signature(name)?,
        None => model.serving_default()?,
    };
    let values = values(&signature, &args.feed)?;
    let outputs = outputs(&signature, args)?;
    let options = RunOptions { timeout: args.timeout, trace: args.trace.is_some(), ..Default::default() };
    let (mut times, mut last) = (Vec::new(), Default::default());
    for _ in 0..args.repeat {
        let (given, start) = (values.clone(), Instant::now());
        last = signature.run_with(given, &options)?;
        times.push(start.elapsed());
    }
    report(times);
    write_trace(args, &last.1.timings)?;
    let printed: Vec<(String, Tensor)> =
        outputs.iter().filter_map(|i| named(&signature, &last.0, *i)).collect();
    let saved = args.save.iter().map(|(name, path)| Ok((path, last_of(&signature, &last.0, name)?)));
    let saved: Vec<_> = saved.collect::<Result<_>>()?;
    finish(args, &printed, &saved)
}

/// The values of the inputs, in their order.
fn values(signature: &Signature, feeds: &[Feed]) -> Outcome<Vec<Tensor>> {
    let mut given = Vec::with_capacity(feeds.len());
    for feed in feeds {
        let known = |t: &&TensorInfo| t.name == feed.name || t.tensor == feed.name;
        match signature.inputs().iter().find(known) {
            Some(input) => given.push((input.name.clone(), feed.tensor(input.dtype, &input.shape)?)),
            // An error that lists the inputs.
            None => given.push((feed.name.clone(), Tensor::scalar(0f32))),
        }
    }
    signature.ordered(given).map_err(Failure::Usage)
}

/// Which outputs are printed: those fetched, else all, but those that are saved instead.
fn outputs(signature: &Signature, args: &Args) -> Result<Vec<usize>> {
    if args.fetch.is_empty() {
        let is_saved = |name: &str| args.save.iter().any(|s| s.0 == name);
        let all = signature.outputs().iter().enumerate();
        return Ok(all.filter(|(_, o)| !is_saved(&o.name)).map(|(i, _)| i).collect());
    }
    args.fetch.iter().map(|name| position(signature, name)).collect()
}

fn position(signature: &Signature, name: &str) -> Result<usize> {
    let found = signature.outputs().iter().position(|o| o.name == name || o.tensor == name);
    found.ok_or_else(|| {
        let there: Vec<String> = signature.outputs().iter().map(TensorInfo::to_string).collect();
        invalid!("signature '{}' has no output '{name}'; it returns: {}", signature.name(), there.join(", "))
    })
}

fn named(signature: &Signature, results: &[Tensor], i: usize) -> Option<(String, Tensor)> {
    Some((signature.outputs().get(i)?.name.clone(), results.get(i)?.clone()))
}

fn last_of(signature: &Signature, results: &[Tensor], name: &str) -> Result<Tensor> {
    let found = results.get(position(signature, name)?).cloned();
    found.ok_or_else(|| invalid!("no result for '{name}'"))
}
