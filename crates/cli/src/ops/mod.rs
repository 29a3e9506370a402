//! `thalweg ops`: the op table of the registry.

mod describe;

use crate::failure::Outcome;
use crate::output::{self, Align};
use describe::{Description, dtypes, flags, gradient, signature};
use std::fmt::Write;
use thalweg_core::error::{Error, Result, not_found};
use thalweg_core::op::{Gradient, Op};
use thalweg_core::registry::{Registry, similarity};

/// Show the op table, or one op in full
#[derive(clap::Args)]
pub struct Args {
    /// The op to describe: MatMul
    name: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> Outcome {
    let registry = thalweg_ops::registry();
    let text = match &args.name {
        Some(name) => {
            let op = registry.get(name).ok_or_else(|| unknown(&registry, name))?;
            if args.json { json(op)? + "\n" } else { describe::text(&registry, op)? }
        }
        None if args.json => {
            let ops: Vec<String> = registry.all().into_iter().map(json).collect::<Result<_>>()?;
            format!("[{}]\n", ops.join(",\n"))
        }
        None => table(&registry.all()),
    };
    output::print(&text)
}

fn json(op: &'static Op) -> Result<String> {
    output::json(&Description::of(op))
}

/// Signatures longer than this do not widen their column.
const WIDEST: usize = 64;

fn table(ops: &[&'static Op]) -> String {
    let head = ["op", "inputs -> outputs", "types", "gradient", "flags"].map(String::from).to_vec();
    let row = |op: &&'static Op| {
        vec![op.name.to_string(), signature(op), dtypes(op), gradient(op).into(), flags(op).join(" ")]
    };
    let rows: Vec<_> = std::iter::once(head).chain(ops.iter().map(row)).collect();
    let mut out = output::table(&rows, &[Align::Left; 5], WIDEST);
    let count = |want: fn(&Op) -> bool| ops.iter().filter(|op| want(op)).count();
    let _ = writeln!(
        out,
        "\n{} ops: {} with kernels ({} kernels), {} with gradients, {} where gradients stop, {} stateful",
        ops.len(),
        count(Op::has_kernel),
        ops.iter().map(|op| op.kernels.len()).sum::<usize>(),
        count(|op| matches!(op.grad, Gradient::Rule(_))),
        count(|op| matches!(op.grad, Gradient::Stops)),
        count(|op| op.stateful),
    );
    out
}

/// An error that suggests similar names.
fn unknown(registry: &Registry, name: &str) -> Error {
    let lower = name.to_lowercase();
    let score = |op: &&'static Op| {
        let have = op.name.to_lowercase();
        let contains = lower.len() >= 3 && have.contains(&lower);
        let edits = similarity(&have, &lower).or(contains.then(|| have.len().saturating_sub(lower.len())));
        edits.map(|edits| (edits, op.name))
    };
    let mut near: Vec<_> = registry.all().iter().filter_map(score).collect();
    near.sort_unstable();
    let names: Vec<_> = near.iter().take(5).map(|n| format!("'{}'", n.1)).collect();
    let hint = match names.as_slice() {
        [] => String::new(),
        [one] => format!("; did you mean {one}?"),
        several => format!("; did you mean one of {}?", several.join(", ")),
    };
    not_found(format_args!("there is no op '{name}'{hint}"))
}
