//! `bench ops`: single ops of the table beside TensorFlow's, at three sizes.

use super::items::{Item, Steps, Work};
use super::peer::Peers;
use super::scaled::scaled;
use super::timing::{median, shown};
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
    for (i, op) in ops.iter().enumerate() {
        progress(i, ops.len(), op.name);
        let before = rows.len();
        for (bytes, size) in SIZES {
            rows.extend(row(op, bytes, size, peers, effort)?);
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
    for case in cases.iter().flat_map(|case| scaled(case, bytes)) {
        let Ok(item) = item(op, &case, size) else { continue };
        let Ok(mut run) = item.work.prepare() else { continue };
        let start = Instant::now();
        // The first run shows whether this case is valid at this size.
        if run(0.0).is_err() || start.elapsed().as_secs_f64() > 3.0 * LONGEST {
            continue;
        }
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..effort.rounds {
            ours.push(run(effort.round)?);
            let asked = peers.ask(&item, effort.round)?;
            theirs.extend(asked.into_iter().find(|(name, _)| name == "TensorFlow").map(|(_, s)| s));
        }
        peers.forget(&item)?;
        let theirs = (!theirs.is_empty()).then(|| median(&mut theirs));
        return Ok(Some(Row { op: op.name, size, ours: median(&mut ours), theirs }));
    }
    Ok(None)
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

fn report(rows: &mut [Row], fixed: &[&str]) -> String {
    let ratio = |r: &Row| r.theirs.map(|t| r.ours / t);
    rows.sort_by(|a, b| ratio(b).unwrap_or(0.0).total_cmp(&ratio(a).unwrap_or(0.0)));
    let mut table = vec![
        ["op", "largest input", "thalweg", "TensorFlow", "thalweg / TensorFlow"].map(String::from).to_vec(),
    ];
    for r in rows.iter() {
        let theirs = r.theirs.map_or("-".into(), shown);
        let ratio = ratio(r).map_or("-".into(), |x| format!("{x:.2}"));
        table.push(vec![r.op.into(), r.size.into(), shown(r.ours), theirs, ratio]);
    }
    let align = [Align::Left, Align::Right, Align::Right, Align::Right, Align::Right];
    let mut text = output::table(&table, &align, 40);
    for (_, size) in SIZES {
        let ratios: Vec<f64> = rows.iter().filter(|r| r.size == size).filter_map(ratio).collect();
        if !ratios.is_empty() {
            let mean = (ratios.iter().map(|r| r.ln()).sum::<f64>() / ratios.len() as f64).exp();
            let slow = ratios.iter().filter(|r| **r > SLOW).count();
            text += &format!(
                "{size}: {} ops, geometric mean {mean:.2} of TensorFlow's time, {slow} above {SLOW}\n",
                ratios.len()
            );
        }
    }
    if !fixed.is_empty() {
        text += &format!("no case that grows: {}\n", fixed.join(" "));
    }
    text
}
