//! `thalweg bench`: how long things take here, and in TensorFlow, PyTorch and JAX when a Python that has them is given.
//!
//! Every figure is the median of several rounds. Peers run in processes of their own, which are idle between their rounds;
//! rounds alternate between us and them, so that load on the machine affects all. TensorFlow runs the same graphs,
//! imported from a GraphDef.

mod graphs;
mod items;
mod ops;
mod peer;
mod scaled;
mod start;
mod timing;
mod training;

use crate::failure::{Failure, Outcome};
use crate::output::{self, Align};
use items::{Item, Work};
use peer::Peers;
use std::path::PathBuf;
use thalweg_core::error::{Result, not_found};
use timing::{median, shown};

/// Measure, and compare with TensorFlow, PyTorch and JAX
#[derive(clap::Args)]
pub struct Args {
    /// What to measure [default: all]
    #[arg(value_enum)]
    groups: Vec<Group>,
    /// A Python that has tensorflow, torch or jax; may be given several times
    #[arg(long, value_name = "PYTHON")]
    python: Vec<PathBuf>,
    /// Fewer and shorter rounds, smaller sizes
    #[arg(long)]
    quick: bool,
    /// Only measurements whose name contains this
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// For training steps, show the time per op
    #[arg(long)]
    ops: bool,
    /// Rounds of each measurement [default: 7, with --quick 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum Group {
    /// Steps of small ops: the overhead of running a graph
    Exec,
    /// Matrix products through a session
    Matmul,
    /// Building large graphs and running them once
    Build,
    /// Training steps of whole nets
    Train,
    /// Every op of the table at 1 KiB, 256 KiB and 16 MiB beside TensorFlow's; only if named
    Ops,
    /// A new process: time to its first result, memory, size
    Start,
}

/// How long and how often to measure.
#[derive(Clone)]
pub struct Effort {
    only: Option<String>,
    ops: bool,
    quick: bool,
    rounds: usize,
    /// Seconds that a round of a steady measurement lasts, about.
    round: f64,
}

pub fn run(args: Args) -> Outcome {
    let effort = Effort {
        only: args.only.clone(),
        ops: args.ops,
        quick: args.quick,
        rounds: args.rounds.map_or(if args.quick { 3 } else { 7 }, |n| n as usize),
        round: if args.quick { 0.03 } else { 0.15 },
    };
    let wanted = |g: Group| args.groups.is_empty() && g != Group::Ops || args.groups.contains(&g);
    let mut threads = Vec::new();
    if wanted(Group::Exec) || wanted(Group::Build) || wanted(Group::Train) || wanted(Group::Ops) {
        threads.push(0);
    }
    if wanted(Group::Matmul) {
        threads.extend([1, 2]);
    }
    let mut peers = Peers::start(&args.python, &threads)?;
    let mut measured = 0;
    if wanted(Group::Exec) {
        measured += section("Steps", &items::exec()?, &mut peers, &effort)?;
    }
    if wanted(Group::Matmul) {
        measured += section("MatMul, float", &items::matmul(&effort)?, &mut peers, &effort)?;
    }
    if wanted(Group::Build) {
        measured += section("Build and first run", &items::build(&effort), &mut peers, &effort)?;
    }
    if wanted(Group::Train) {
        measured += section("Training step", &training::items()?, &mut peers, &effort)?;
    }
    if wanted(Group::Ops) {
        measured += ops::measure(&mut peers, &effort)?;
    }
    if wanted(Group::Start) {
        output::print(&start::measure(&args.python, &effort)?)?;
        measured += 1;
    }
    match args.only {
        Some(text) if measured == 0 => Err(Failure::Usage(not_found(format_args!(
            "no measurement has '{text}' in its name; without --only all are made, each with its name"
        )))),
        _ => Ok(()),
    }
}

/// Measures the selected items, prints them as one table, and returns their number.
fn section(title: &str, items: &[Item], peers: &mut Peers, effort: &Effort) -> Outcome<usize> {
    let wanted = |item: &&Item| effort.only.as_ref().is_none_or(|text| item.name.contains(text.as_str()));
    let columns = peers.columns();
    let mut head = vec![title.to_string(), "thalweg".to_string()];
    head.extend(columns.iter().cloned());
    if !columns.is_empty() {
        head.push("best peer / thalweg".into());
    }
    let mut rows = vec![head];
    for item in items.iter().filter(wanted) {
        rows.push(measure(item, peers, effort)?);
    }
    if rows.len() == 1 {
        return Ok(0);
    }
    let align: Vec<Align> =
        std::iter::once(Align::Left).chain(std::iter::repeat_n(Align::Right, rows[0].len() - 1)).collect();
    output::print(&(output::table(&rows, &align, 60) + "\n"))?;
    for item in items.iter().filter(wanted).filter(|_| effort.ops) {
        if let Work::Train(train) = &item.work {
            output::print(&format!("{}\n{}\n", item.name, train.ops()?))?;
        }
    }
    Ok(rows.len() - 1)
}

fn measure(item: &Item, peers: &mut Peers, effort: &Effort) -> Result<Vec<String>> {
    let columns = peers.columns();
    let mut ours = Vec::new();
    let mut theirs = vec![Vec::new(); columns.len()];
    let mut work = item.work.prepare()?;
    if !matches!(item.work, Work::Build(_)) {
        // The peers' first run is not counted either.
        work(0.0)?;
    }
    let rounds = if matches!(item.work, Work::Build(_)) { effort.rounds.min(3) } else { effort.rounds };
    for _ in 0..rounds {
        ours.push(work(effort.round)?);
        for (variant, seconds) in peers.ask(item, effort.round)? {
            if let Some(at) = columns.iter().position(|c| *c == variant) {
                theirs[at].push(seconds);
            }
        }
    }
    let mine = median(&mut ours);
    let theirs: Vec<Option<f64>> =
        theirs.iter_mut().map(|t| if t.is_empty() { None } else { Some(median(t)) }).collect();
    let mut row = vec![item.name.clone(), shown(mine)];
    row.extend(theirs.iter().map(|t| t.map_or("-".into(), shown)));
    if !columns.is_empty() {
        let best = theirs.iter().flatten().copied().reduce(f64::min);
        row.push(best.map_or("-".into(), |b| format!("{:.2}x", b / mine)));
    }
    Ok(row)
}
