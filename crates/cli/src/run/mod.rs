//! `thalweg run`: feeds and runs a graph or a model, and prints the results.

mod csv;
mod feed;
mod image;
mod literal;
mod model;
mod session;
mod source;
mod trace;

use crate::failure::{Failure, Outcome};
use crate::output;
use feed::Feed;
use session::AnySession;
use source::Source;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use thalweg_core::error::Result;
use thalweg_core::invalid;
use thalweg_core::tensor::Tensor;
use thalweg_io::{npy, saved_model};
use thalweg_runtime::trace::StepTimings;
use thalweg_runtime::{RunOptions, SessionOptions};
use trace::Trace;

/// Run a graph or a model and print what it computes
///
/// Values are literals (3, -4.5, true, "text", [[1, 2], [3, 4]]), cast to the type of the tensor they are fed to, or files: .npy, .npz
/// (FILE.npz:ARRAY), .csv, and images (.png, .jpg, .gif, .bmp: pixels from 0 to 255, resized to what the input takes).
#[derive(clap::Args)]
#[command(after_help = "Examples: thalweg run graph.pb --feed x=[1,2,3] --feed w=weights.npy --fetch y:0
          thalweg run exported/1 --signature serving_default --feed image=cat.jpg")]
pub struct Args {
    /// A GraphDef or MetaGraphDef, binary or text, or the directory of a SavedModel
    graph: PathBuf,
    /// The signature of a SavedModel to run; feeds and fetches are then its inputs and outputs [default: serving_default, if nothing is
    /// fetched]
    #[arg(long, value_name = "NAME", conflicts_with_all = ["session", "target", "init", "checkpoint"])]
    signature: Option<String>,
    /// The tags of a SavedModel's graph, separated by commas [default: serve]
    #[arg(long, value_name = "TAGS", value_delimiter = ',')]
    tags: Option<Vec<String>>,
    /// Restore the variables from this checkpoint
    #[arg(long, value_name = "PREFIX")]
    checkpoint: Option<PathBuf>,
    /// A value for a tensor; may be given several times
    #[arg(long, value_name = "NAME=VALUE|FILE")]
    feed: Vec<Feed>,
    /// A tensor to compute and print
    #[arg(long, value_name = "NAME")]
    fetch: Vec<String>,
    /// A target: a node to run without fetching its outputs
    #[arg(long, value_name = "NAME")]
    target: Vec<String>,
    /// Compute a tensor and write it to a file instead of printing it
    #[arg(long, value_name = "NAME=FILE.npy", value_parser = save)]
    save: Vec<(String, PathBuf)>,
    /// Also write every fetched tensor into this directory, as NAME.npy
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Run it on the server at this address, not in this process. For grpcs://HOST:PORT, THALWEG_TLS_CA names the file of certificate
    /// authorities; THALWEG_TLS_CERT, THALWEG_TLS_KEY and THALWEG_TOKEN_FILE the credentials
    #[arg(long, value_name = "grpc://HOST:PORT", conflicts_with_all = ["threads", "devices", "no_optimise", "trace"])]
    session: Option<String>,
    /// On a server: place nodes whose device does not exist on another
    #[arg(long, requires = "session")]
    soft_placement: bool,
    /// A node to run once before, such as the initialiser of the variables
    #[arg(long, value_name = "NAME")]
    init: Vec<String>,
    /// Threads for kernels [default: one for each core]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    threads: usize,
    /// How many CPU devices the session has
    #[arg(long, value_name = "N", default_value_t = 1)]
    devices: usize,
    /// Run the graph without optimisation
    #[arg(long)]
    no_optimise: bool,
    /// Timeout of a run, in seconds
    #[arg(long, value_name = "SECS", value_parser = seconds)]
    timeout: Option<Duration>,
    /// Write a trace of the last run, for chrome://tracing or ui.perfetto.dev
    #[arg(long, value_name = "FILE.json")]
    trace: Option<PathBuf>,
    /// Run N times; print the last results, and the times on standard error
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// Print the peak memory of the process in kB after the results: `bench start` parses it
    #[arg(long, hide = true)]
    report_memory: bool,
}

fn save(text: &str) -> std::result::Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, file)) if !name.is_empty() && !file.is_empty() => Ok((name.to_string(), file.into())),
        _ => Err("a tensor and a file are written NAME=FILE.npy".into()),
    }
}

fn seconds(text: &str) -> std::result::Result<Duration, String> {
    let secs: f64 = text.parse().map_err(|_| "not a number of seconds".to_string())?;
    Duration::try_from_secs_f64(secs).map_err(|e| e.to_string())
}

impl Args {
    fn tags(&self) -> Option<&[String]> {
        self.tags.as_deref()
    }

    /// Whether a signature is run, not tensors by name.
    fn by_signature(&self) -> bool {
        let names_nothing = self.fetch.is_empty() && self.save.is_empty() && self.target.is_empty();
        let is_model = || saved_model::file(&self.graph).is_some() || !self.graph.exists();
        self.signature.is_some()
            || (names_nothing && self.session.is_none() && self.init.is_empty() && is_model())
    }
}

pub fn run(args: Args) -> Outcome {
    if args.by_signature() {
        return model::run(&args);
    }
    if args.fetch.is_empty() && args.save.is_empty() && args.target.is_empty() && args.init.is_empty() {
        // A file that is no graph is told first: no name would help.
        if args.graph.is_file() {
            Source::open(&args)?;
        }
        let e = invalid!("nothing to compute; name a tensor with --fetch or --save, or a node with --target");
        return Err(Failure::Usage(e));
    }
    let source = Source::open(&args)?;
    let graph = &source.graph;
    let mut feeds = Vec::with_capacity(args.feed.len());
    for feed in &args.feed {
        let tensor = graph.output(&feed.name).map_err(|e| match saved_model::file(&args.graph) {
            Some(_) => e.hint("for the inputs and outputs of a signature say --signature NAME"),
            None => e,
        })?;
        feeds.push((feed.name.as_str(), feed.tensor(graph.dtype(tensor), &graph.shape(tensor))?));
    }
    let fetches: Vec<&str> =
        args.fetch.iter().map(String::as_str).chain(args.save.iter().map(|s| s.0.as_str())).collect();
    if let Some(dir) = &args.out {
        // Before the run: two of one name are an error of the command line.
        out_files(dir, &args.fetch)?;
    }
    let results = run_graph(&source, &args, &feeds, &fetches)?;
    let (printed, saved) = results.split_at(args.fetch.len().min(results.len()));
    let printed: Vec<(String, Tensor)> = args.fetch.iter().cloned().zip(printed.iter().cloned()).collect();
    let saved: Vec<_> = args.save.iter().map(|s| &s.1).zip(saved.iter().cloned()).collect();
    finish(&args, &printed, &saved)
}

/// Prints results, and writes those that go to files.
fn finish(args: &Args, printed: &[(String, Tensor)], saved: &[(&PathBuf, Tensor)]) -> Outcome {
    for (path, value) in saved {
        npy::write_file(path, value)?;
    }
    if let Some(dir) = &args.out {
        let names: Vec<String> = printed.iter().map(|p| p.0.clone()).collect();
        for (path, (_, value)) in out_files(dir, &names)?.iter().zip(printed) {
            npy::write_file(path, value)?;
        }
    }
    output::print(&shown(printed))?;
    if args.report_memory {
        output::print(&format!("{}\n", peak_memory().unwrap_or(0)))?;
    }
    Ok(())
}

fn session_options(args: &Args) -> SessionOptions {
    SessionOptions {
        cpu_devices: args.devices,
        threads: args.threads,
        optimise: !args.no_optimise,
        ..Default::default()
    }
}

/// Peak resident memory of the process in kB, on Linux.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?.split_whitespace().next()?.parse().ok()
}

fn run_graph(
    source: &Source,
    args: &Args,
    feeds: &[(&str, Tensor)],
    fetches: &[&str],
) -> Result<Vec<Tensor>> {
    let session = AnySession::open(&source.graph, args)?;
    let options = RunOptions { timeout: args.timeout, trace: args.trace.is_some(), ..Default::default() };
    source.restore(&session, &options)?;
    let names: Vec<&str> = feeds.iter().map(|f| f.0).collect();
    if !args.init.is_empty() {
        let init: Vec<&str> = args.init.iter().map(String::as_str).collect();
        let values = feeds.iter().map(|f| f.1.clone()).collect();
        session.step(&names, &[], &init)?.run(values, &options)?;
    }
    let targets: Vec<&str> = args.target.iter().map(String::as_str).collect();
    let step = session.step(&names, fetches, &targets)?;
    let mut times = Vec::new();
    let mut last: (Vec<Tensor>, StepTimings) = Default::default();
    for _ in 0..args.repeat {
        let values = feeds.iter().map(|f| f.1.clone()).collect();
        let start = Instant::now();
        last = step.run(values, &options)?;
        times.push(start.elapsed());
    }
    write_trace(args, &last.1)?;
    drop(step);
    session.close()?;
    report(times);
    Ok(last.0)
}

fn write_trace(args: &Args, timings: &StepTimings) -> Result<()> {
    let Some(path) = &args.trace else { return Ok(()) };
    let text = output::json(&Trace::of(timings))?;
    std::fs::write(path, text).map_err(|e| thalweg_core::error::Error::from(e).context(path.display()))
}

/// How long several runs took.
fn report(mut times: Vec<Duration>) {
    times.sort_unstable();
    if let ([least, .., most], Some(median)) = (times.as_slice(), times.get(times.len() / 2)) {
        eprintln!("{} runs: median {median:?}, least {least:?}, most {most:?}", times.len());
    }
}

/// A single value is printed alone, several after their names.
fn shown(results: &[(String, Tensor)]) -> String {
    let mut out = String::new();
    for (name, value) in results {
        let text = value.to_string();
        if results.len() > 1 {
            let between = if text.contains('\n') { "\n" } else { " " };
            out.extend([name.as_str(), " =", between]);
        }
        out.extend([text.as_str(), "\n"]);
    }
    out
}

/// A file for each tensor: `layer/w:0` goes to `layer_w.npy`, `split:1` to `split_1.npy`.
fn out_files(dir: &Path, names: &[String]) -> Result<Vec<PathBuf>> {
    std::fs::create_dir_all(dir).map_err(|e| thalweg_core::error::Error::from(e).context(dir.display()))?;
    let mut files: Vec<PathBuf> = Vec::new();
    for name in names {
        let plain: String = name.trim_end_matches(":0").replace(['/', '\\', ':'], "_");
        let file = dir.join(format!("{plain}.npy"));
        if files.contains(&file) {
            return Err(invalid!("two fetched tensors would be written to {}", file.display()));
        }
        files.push(file);
    }
    Ok(files)
}
