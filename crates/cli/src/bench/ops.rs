//! `bench ops`: single ops of the table beside TensorFlow's, at three sizes.

use super::items::{Item, Measure, Steps, Work};
use super::peer::Peers;
use super::scaled::{Growth, grown_to, growths};
use super::timing::shown;
use super::{Effort, graphs};
use crate::failure::Outcome;
use crate::output::{self, Align};
use std::io::IsTerminal;
use std::time::Instant;
use thalweg_core::attr::Attr;
use thalweg_core::case::{Case, CaseGen};
use thalweg_core::direct;
use thalweg_core::error::Result;
use thalweg_core::op::{Class, Op};
use thalweg_graph::NodeSpec;

const SIZES: [(usize, &str); 3] = [(1 << 10, "1 KiB"), (256 << 10, "256 KiB"), (16 << 20, "16 MiB")];

/// A run that takes longer is left out: decompositions grow with the cube of the size.
const LONGEST: f64 = 1.0;

/// Ops slower than TensorFlow by this factor are listed.
const SLOW: f64 = 1.5;

struct Row {
    op: &'static str,
    size: &'static str,
    ours: f64,
    theirs: Option<f64>,
}

/// Measures every op that has a case which grows; returns the number of measurements.
pub fn measure(peers: &mut Peers, effort: &Effort) -> Outcome<usize> {
    let wanted = |op: &&&Op| {
        let named = effort.only.as_ref().is_none_or(|text| op.name.contains(text.as_str()));
        named && op.class == Class::Plain && !op.stateful
    };
    let ops: Vec<&'static Op> = thalweg_ops::ALL.iter().copied().flatten().filter(wanted).copied().collect();
    let (mut rows, mut fixed) = (Vec::new(), Vec::new());
    let widest = ops.iter().map(|op| op.name.len()).max().unwrap_or(0);
    for (i, op) in ops.iter().enumerate() {
        progress(i, ops.len(), op.name);
        let before = rows.len();
        for (bytes, size) in SIZES {
            // Printed as they come: a whole run takes an hour.
            if let Some(row) = row(op, bytes, size, peers, effort)? {
                progress(ops.len(), ops.len(), "");
                output::print(&row.line(widest))?;
                rows.push(row);
            }
        }
        if rows.len() == before {
            fixed.push(op.name);
        }
    }
    progress(ops.len(), ops.len(), "");
    if !rows.is_empty() {
        output::print(&report(&mut rows, &fixed))?;
    }
    Ok(rows.len())
}

fn progress(done: usize, all: usize, name: &str) {
    if std::io::stderr().is_terminal() {
        let end = if done == all { "\r\x1b[K" } else { "" };
        eprint!("\r\x1b[K{done} of {all} ops  {name}{end}");
    }
}

fn row(
    op: &'static Op,
    bytes: usize,
    size: &'static str,
    peers: &mut Peers,
    effort: &Effort,
) -> Result<Option<Row>> {
    let cases = (op.cases)(&mut CaseGen::new(1));
    for (case, way) in cases.iter().flat_map(|case| growths(case).into_iter().map(move |way| (case, way))) {
        let Some((item, mut run)) = quick_enough(op, case, way, bytes, size) else { continue };
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..effort.rounds {
            ours.push(run(effort.round)?);
            // A peer that has not answered once is not asked again.
            if theirs.len() == ours.len() - 1 {
                let asked = peers.ask(&item, effort.round)?;
                theirs.extend(asked.into_iter().find(|(name, _)| name == "TensorFlow").map(|(_, s)| s));
            }
        }
        peers.forget(&item)?;
        return Ok(Some(Row {
            op: op.name,
            size,
            ours: fastest(&ours),
            theirs: (!theirs.is_empty()).then(|| fastest(&theirs)),
        }));
    }
    Ok(None)
}

/// The fastest round: what else runs on the machine adds to a time and never takes from it, and over more than a thousand short measurements
/// it cannot be kept away.
fn fastest(rounds: &[f64]) -> f64 {
    rounds.iter().copied().fold(f64::INFINITY, f64::min)
}

/// The op at this size, if the case is valid there and takes no longer than is worth waiting for. A kernel cannot be interrupted, so the size
/// is approached from below: what takes too long at an eighth is not tried.
fn quick_enough(
    op: &'static Op,
    case: &Case,
    way: Growth,
    bytes: usize,
    size: &str,
) -> Option<(Item, Measure)> {
    for part in [64, 8, 1] {
        let Some(grown) = grown_to(case, way, bytes / part) else { continue };
        let item = item(op, &grown, size).ok()?;
        let mut run = item.work.prepare().ok()?;
        let start = Instant::now();
        // The first run shows whether this case is valid at this size.
        run(0.0).ok()?;
        if start.elapsed().as_secs_f64() * part as f64 > 3.0 * LONGEST {
            return None;
        }
        if part == 1 {
            return Some((item, run));
        }
    }
    None
}

/// The op on constants. Not optimised: it would be folded.
fn item(op: &'static Op, case: &Case, size: &str) -> Result<Item> {
    let mut graph = graphs::empty();
    let node = direct::node_for(&graph.registry, op, &case.inputs, case.attrs.iter().cloned().collect())?;
    let inputs: Vec<String> = (0..case.inputs.len()).map(|i| format!("input{i}")).collect();
    let constant = |(name, t): (&String, &thalweg_core::tensor::Tensor)| NodeSpec {
        name: name.clone(),
        op: "Const".into(),
        attrs: [("dtype", Attr::Type(t.dtype())), ("value", Attr::Tensor(t.clone()))].into_iter().collect(),
        ..Default::default()
    };
    let mut specs: Vec<NodeSpec> = inputs.iter().zip(&case.inputs).map(constant).collect();
    specs.push(NodeSpec {
        name: "op".into(),
        op: op.name.into(),
        inputs,
        attrs: node.attrs,
        ..Default::default()
    });
    graph.add_specs(specs, true)?;
    let steps = Steps { graph, fed: false, fetch: None, target: Some("op"), optimise: false, threads: 0 };
    let id = format!("op-{}-{}", op.name, size.replace(' ', ""));
    Ok(Item { name: op.name.into(), id, threads: 0, work: Work::Steps(Box::new(steps)) })
}

impl Row {
    fn ratio(&self) -> Option<f64> {
        self.theirs.map(|t| self.ours / t)
    }

    fn line(&self, widest: usize) -> String {
        let theirs = self.theirs.map_or("-".into(), shown);
        let ratio = self.ratio().map_or("-".into(), |x| format!("{x:.2}"));
        let (op, size, ours) = (self.op, self.size, shown(self.ours));
        format!("{op:widest$}  {size:>7}  thalweg {ours:>8}  TensorFlow {theirs:>8}  ratio {ratio:>5}\n")
    }
}

/// The geometric mean at each size, and what is slower than TensorFlow's.
fn report(rows: &mut [Row], fixed: &[&str]) -> String {
    let mut text = String::new();
    for (_, size) in SIZES {
        let ratios: Vec<f64> = rows.iter().filter(|r| r.size == size).filter_map(Row::ratio).collect();
        text += &mean(size, &ratios);
    }
    let all: Vec<f64> = rows.iter().filter_map(Row::ratio).collect();
    text += &mean("all", &all);
    rows.sort_by(|a, b| b.ratio().unwrap_or(0.0).total_cmp(&a.ratio().unwrap_or(0.0)));
    let mut table = vec![
        ["op", "largest input", "thalweg", "TensorFlow", "thalweg / TensorFlow"].map(String::from).to_vec(),
    ];
    for (r, ratio) in rows.iter().filter_map(|r| Some((r, r.ratio().filter(|x| *x > SLOW)?))) {
        let theirs = r.theirs.map_or("-".into(), shown);
        table.push(vec![r.op.into(), r.size.into(), shown(r.ours), theirs, format!("{ratio:.2}")]);
    }
    if table.len() > 1 {
        let align = [Align::Left, Align::Right, Align::Right, Align::Right, Align::Right];
        text += &format!("\nAbove {SLOW} of TensorFlow's time:\n{}", output::table(&table, &align, 60));
    }
    let alone: Vec<&str> = rows.iter().filter(|r| r.theirs.is_none()).map(|r| r.op).collect();
    if !alone.is_empty() {
        text += &format!("not measured by TensorFlow: {}\n", alone.join(" "));
    }
    if !fixed.is_empty() {
        text += &format!("no case that grows: {}\n", fixed.join(" "));
    }
    text
}

fn mean(what: &str, ratios: &[f64]) -> String {
    if ratios.is_empty() {
        return String::new();
    }
    let mean = (ratios.iter().map(|r| r.ln()).sum::<f64>() / ratios.len() as f64).exp();
    let slow = ratios.iter().filter(|r| **r > SLOW).count();
    format!(
        "{what}: {} measurements, geometric mean {mean:.2} of TensorFlow's time, {slow} above {SLOW}\n",
        ratios.len()
    )
}
