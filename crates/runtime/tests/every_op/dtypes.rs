//! Every kernel row runs on inputs of its types; lists allowed types without a kernel.

use crate::common::{self, Example, assert_none, examples_of, ops, registry, step};
use thalweg_core::attr::Attr;
use thalweg_core::dtype::DataType;
use thalweg_core::error::{Code, Result};
use thalweg_core::op::KernelRow;
use thalweg_core::signature::AttrKind;

/// The example with the inputs and attrs of a kernel row.
fn recast(example: &Example, row: &KernelRow) -> Result<Example> {
    let node = example.node()?;
    let mut other = example.clone();
    for (i, t) in example.inputs.iter().enumerate() {
        let attr = example.type_attr(&node, i);
        if let Some((_, dtype)) = row.types.iter().find(|(a, _)| Some(*a) == attr) {
            other.inputs[i] = common::cast(t, *dtype)?;
        }
    }
    for (attr, dtype) in row.types {
        other.attrs.set(*attr, Attr::Type(*dtype));
    }
    Ok(other)
}

/// Floats of at least 1, for integer division.
fn away_from_zero(example: &Example) -> Example {
    let mut other = example.clone();
    for t in other.inputs.iter_mut().filter(|t| t.dtype() == DataType::Float) {
        if let Ok(values) = t.as_mut_slice::<f32>() {
            values.iter_mut().for_each(|v| *v = v.abs() + 1.0);
        }
    }
    other
}

#[test]
fn every_kernel_runs_on_its_types() {
    let (mut failures, mut never, mut ran, mut rows) = (Vec::new(), Vec::new(), 0, 0);
    let step = step(1);
    for op in ops() {
        let examples = examples_of(op);
        for row in op.kernels.iter().filter(|row| !row.types.is_empty() && !examples.is_empty()) {
            rows += 1;
            let mut last = None;
            let mut some = false;
            for example in examples.iter().flat_map(|e| [e.clone(), away_from_zero(e)]) {
                let Ok(other) = recast(&example, row) else { continue };
                match other.call(&step) {
                    Ok(outputs) => {
                        (some, ran) = (true, ran + 1);
                        let declared: Vec<DataType> =
                            other.node().unwrap().outputs.iter().map(|p| p.dtype).collect();
                        let got: Vec<DataType> = outputs.iter().map(|t| t.dtype()).collect();
                        if got != declared {
                            failures.push(format!(
                                "{} {:?}: {got:?}, declared {declared:?}",
                                other.label, row.types
                            ));
                        }
                    }
                    Err(e) if matches!(e.code(), Code::Internal | Code::Unknown) => {
                        failures.push(format!("{} {:?}: {e}", other.label, row.types));
                    }
                    Err(e) => last = Some(e),
                }
            }
            if !some {
                let why = last.map_or("its inputs cannot be cast".to_string(), |e| e.to_string());
                never.push(format!("{} {:?}: {why}", op.name, row.types));
            }
        }
    }
    println!(
        "{rows} kernel rows, {ran} runs; rows that no case runs on: {}\n{}",
        never.len(),
        never.join("\n")
    );
    assert_none("kernels are unclean", failures);
}

/// Only prints allowed types without a kernel (`cargo test -- --nocapture types_without_a_kernel`).
#[test]
fn types_without_a_kernel_are_listed() {
    let mut listed = 0;
    for op in ops().filter(|op| op.has_kernel()) {
        let signature = registry().signature(op).unwrap();
        for spec in signature.attrs.iter().filter(|a| a.kind == AttrKind::Type) {
            let keyed = |t: DataType| {
                op.kernels.iter().any(|row| row.types.iter().all(|(a, have)| *a != spec.name || *have == t))
            };
            let allowed = spec.types.clone().unwrap_or_else(|| DataType::all().collect());
            let missing: Vec<DataType> = allowed.into_iter().filter(|t| !keyed(*t)).collect();
            if !missing.is_empty() {
                listed += 1;
                println!("{} {}: {missing:?}", op.name, spec.name);
            }
        }
    }
    println!("{listed} attrs allow types that have no kernel");
}
