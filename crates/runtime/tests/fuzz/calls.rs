//! Every op called with each input and each attr replaced by an unexpected one.

use crate::common::{Example, assert_none, examples, examples_of, from_env, ops, registry, step};
use crate::mutate::{any_tensor, strange_attrs, strange_tensors};
use crate::watch::Watch;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use thalweg_core::attr::Attrs;
use thalweg_core::case::CaseGen;
use thalweg_core::direct;
use thalweg_core::dtype::DataType;
use thalweg_core::error::Code;
use thalweg_core::op::{Class, Make, Op};
use thalweg_core::signature::AttrKind;

pub const LIMIT: usize = 256 << 20;

const TIME_LIMIT: Duration = Duration::from_secs(20);

/// The calls: how many, how many succeeded, and the failures, one for each place and op.
#[derive(Default)]
struct Tally {
    calls: usize,
    values: usize,
    failures: BTreeMap<String, String>,
}

impl Tally {
    fn call(&mut self, watch: &Watch, example: &Example) {
        let mut step = step(1);
        // What may take long by its attrs ends with the step: later than anything else, and before it counts as hung.
        if let Some(step) = Arc::get_mut(&mut step) {
            step.deadline = Some(Instant::now() + TIME_LIMIT);
        }
        self.calls += 1;
        let describe = || format!("{} on {:?} with {:?}", example.label, example.inputs, example.attrs);
        let name = example.op.name;
        match watch.run(describe, || example.call(&step)) {
            Ok(Ok(_)) => self.values += 1,
            // An internal error is a missing validation.
            Ok(Err(e)) if matches!(e.code(), Code::Internal | Code::Unknown) => {
                self.failures.entry(format!("{name}: {}", e.message())).or_insert_with(describe);
            }
            Ok(Err(_)) => {}
            Err(panic) => {
                let place = panic.rsplit("panicked at ").next().unwrap_or_default().to_string();
                self.failures.entry(format!("{name}: {place}")).or_insert(panic);
            }
        }
    }

    fn finish(self, what: &str) {
        println!("{what}: {} calls, {} gave a value", self.calls, self.values);
        let short = |s: String| s.chars().take(600).collect::<String>();
        assert_none(
            "calls were not answered",
            self.failures.into_iter().map(|(k, v)| format!("{k}\n    {}", short(v))).collect(),
        );
    }
}

/// Async ops would block for ever, called alone.
fn waits(op: &Op) -> bool {
    op.kernels.iter().any(|row| matches!(row.make, Make::Async(_)))
}

#[test]
fn each_input_replaced() {
    thalweg_core::buffer::set_limit(LIMIT);
    let (watch, mut tally) = (Watch::new(), Tally::default());
    for example in examples().into_iter().filter(|e| !waits(e.op)) {
        for (i, t) in example.inputs.iter().enumerate() {
            for strange in strange_tensors(t) {
                let mut other = example.clone();
                other.inputs[i] = strange;
                tally.call(&watch, &other);
            }
        }
        for n in 0..=example.inputs.len() + 1 {
            let mut other = example.clone();
            other.inputs =
                example.inputs.iter().cycle().take(n.min(example.inputs.len() * 2)).cloned().collect();
            tally.call(&watch, &other);
        }
    }
    tally.finish("each input replaced");
}

#[test]
fn each_attr_replaced() {
    thalweg_core::buffer::set_limit(LIMIT);
    let (watch, mut tally) = (Watch::new(), Tally::default());
    for example in examples().into_iter().filter(|e| !waits(e.op)) {
        let Ok(node) = example.node() else { continue };
        for (name, attr) in node.attrs.iter() {
            for strange in strange_attrs(attr) {
                let mut other = example.clone();
                other.attrs = node.attrs.clone();
                other.attrs.set(name.to_string(), strange);
                tally.call(&watch, &other);
            }
            let mut other = example.clone();
            other.attrs = node.attrs.clone();
            other.attrs.remove(name);
            tally.call(&watch, &other);
        }
    }
    tally.finish("each attr replaced");
}

/// Random combinations of replacements.
#[test]
fn inputs_and_attrs_replaced_at_random() {
    thalweg_core::buffer::set_limit(LIMIT);
    let (watch, mut tally) = (Watch::new(), Tally::default());
    let all: Vec<Example> = examples().into_iter().filter(|e| !waits(e.op)).collect();
    let seed = from_env("THALWEG_FUZZ_SEED", 1);
    for n in 0..from_env("THALWEG_FUZZ_CASES", 20_000) {
        let mut r = CaseGen::new((seed + n) as u64);
        let mut example = all[r.below(all.len())].clone();
        for _ in 0..1 + r.below(3) {
            replace_something(&mut example, &mut r);
        }
        tally.call(&watch, &example);
    }
    tally.finish("replaced at random");
}

fn replace_something(example: &mut Example, r: &mut CaseGen) {
    let attrs: Attrs = example.node().map(|n| n.attrs).unwrap_or_else(|_| example.attrs.clone());
    let (inputs, attr_count) = (example.inputs.len(), attrs.len());
    match r.below((inputs * 2 + attr_count).max(1)) {
        i if i < inputs * 2 => {
            let at = i % inputs;
            let strange = strange_tensors(&example.inputs[at]);
            example.inputs[at] = strange[r.below(strange.len())].clone();
        }
        i => {
            if let Some((name, attr)) = attrs.iter().nth(i - inputs * 2) {
                let strange = strange_attrs(attr);
                if !strange.is_empty() {
                    example.attrs.set(name.to_string(), strange[r.below(strange.len())].clone());
                }
            }
        }
    }
}

/// Also ops without cases, on random inputs of their signatures.
#[test]
fn inputs_made_up() {
    thalweg_core::buffer::set_limit(LIMIT);
    let (watch, mut tally) = (Watch::new(), Tally::default());
    for op in ops().filter(|op| !waits(op) && op.class == Class::Plain) {
        let rounds = if examples_of(op).is_empty() { 60 } else { 20 };
        for n in 0..rounds {
            if let Some(example) = made_up(op, &mut CaseGen::new(n)) {
                tally.call(&watch, &example);
            }
        }
    }
    tally.finish("made up");
}

fn made_up(op: &'static Op, r: &mut CaseGen) -> Option<Example> {
    let signature = registry().signature(op).ok()?;
    let mut attrs = Attrs::new();
    let all: Vec<DataType> = DataType::all().collect();
    for spec in &signature.attrs {
        let allowed = spec.types.clone().unwrap_or_else(|| all.clone());
        let any_type = |r: &mut CaseGen| allowed[r.below(allowed.len())];
        match &spec.kind {
            AttrKind::Type => attrs.set(spec.name, any_type(r)),
            AttrKind::Int if spec.default.is_none() => attrs.set(spec.name, 1 + r.below(3) as i64),
            AttrKind::List(kind) if **kind == AttrKind::Type => {
                attrs.set(spec.name, thalweg_core::attr::Attr::types(&[any_type(r), any_type(r)]));
            }
            _ => {
                if let Some(some) =
                    spec.default.clone().or_else(|| some_attr(&spec.kind, spec.strings.as_deref()))
                {
                    attrs.set(spec.name, some);
                }
            }
        }
    }
    let ports = signature.input_ports(&attrs).ok()?;
    let inputs = ports.iter().map(|p| any_tensor(p.dtype, r)).collect();
    let example = Example { op, label: format!("{} made up", op.name), inputs, attrs, no_difference: vec![] };
    direct::node_for(registry(), op, &example.inputs, example.attrs.clone()).ok()?;
    Some(example)
}

fn some_attr(kind: &AttrKind, strings: Option<&[String]>) -> Option<thalweg_core::attr::Attr> {
    use thalweg_core::attr::Attr;
    use thalweg_core::shape::PartialShape;
    Some(match kind {
        AttrKind::Str => Attr::str(strings.and_then(|s| s.first()).map_or("x", |s| s)),
        AttrKind::Float => Attr::Float(1.0),
        AttrKind::Bool => Attr::Bool(true),
        AttrKind::Shape => Attr::Shape(PartialShape::vector(2)),
        AttrKind::List(inner) => Attr::List(some_attr(inner, strings).into_iter().collect()),
        AttrKind::Int => Attr::Int(1),
        AttrKind::Func => Attr::Func(thalweg_core::attr::Func::named("f")),
        AttrKind::Tensor => Attr::Tensor(thalweg_core::tensor::Tensor::scalar(1f32)),
        AttrKind::Type => Attr::Type(DataType::Float),
    })
}
