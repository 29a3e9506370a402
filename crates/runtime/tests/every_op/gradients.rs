//! Gradients agree with central differences, in double precision.

use crate::common::{self, Example, Inputs, assert_none, constant, examples, options, shared_step};
use thalweg_core::attr::Attr;
use thalweg_core::case::CaseGen;
use thalweg_core::dtype::DataType;
use thalweg_core::error::{Code, Result, internal};
use thalweg_core::grad::Grad;
use thalweg_core::node::Output;
use thalweg_core::op::Gradient;
use thalweg_core::tensor::Tensor;
use thalweg_graph::gradients::{self, gradients};
use thalweg_runtime::Session;

/// Ops whose gradient must fail.
const REFUSES: &[&str] = &["PreventGradient"];

/// Components compared in one input; larger ones are sampled.
const SAMPLES: usize = 24;

fn differentiable(t: DataType) -> bool {
    matches!(t, DataType::Float | DataType::Double | DataType::Complex64 | DataType::Complex128)
}

/// The real numbers of a tensor: two for a complex one.
fn parts(t: &Tensor) -> Result<Vec<f64>> {
    let singles =
        || t.bytes().map(|b| b.chunks_exact(4).map(|c| f32::from_ne_bytes([c[0], c[1], c[2], c[3]])));
    Ok(match t.dtype() {
        DataType::Float | DataType::Complex64 => singles()?.map(f64::from).collect(),
        _ => t.bytes()?.as_chunks::<8>().0.iter().map(|c| f64::from_ne_bytes(*c)).collect(),
    })
}

fn with_parts(like: &Tensor, parts: &[f64]) -> Result<Tensor> {
    let bytes: Vec<u8> = match like.dtype() {
        DataType::Float | DataType::Complex64 => {
            parts.iter().flat_map(|v| (*v as f32).to_ne_bytes()).collect()
        }
        _ => parts.iter().flat_map(|v| v.to_ne_bytes()).collect(),
    };
    Tensor::from_bytes(like.dtype(), like.shape().clone(), &bytes)
}

/// The example in double precision, if the op has kernels for it.
fn doubled(example: &Example) -> Option<Example> {
    let wide = |t: DataType| match t {
        DataType::Float => DataType::Double,
        DataType::Complex64 => DataType::Complex128,
        other => other,
    };
    let mut double = example.clone();
    // With all attrs, so that default types become double too.
    double.attrs = example.node().ok()?.attrs;
    for (_, attr) in double.attrs.iter_mut() {
        match attr {
            Attr::Type(t) => *t = wide(*t),
            Attr::List(items) => {
                for item in items {
                    if let Attr::Type(t) = item {
                        *t = wide(*t);
                    }
                }
            }
            _ => {}
        }
    }
    double.inputs =
        example.inputs.iter().map(|t| common::cast(t, wide(t.dtype()))).collect::<Result<_>>().ok()?;
    double.call(shared_step()).ok()?;
    Some(double)
}

struct Check {
    example: Example,
    /// Weights of the outputs in the sum that is differentiated.
    weights: Vec<Option<Tensor>>,
}

impl Check {
    fn new(example: Example) -> Result<Check> {
        let mut r = CaseGen::new(7);
        let mut weights = Vec::new();
        for y in example.call(shared_step())? {
            if !differentiable(y.dtype()) {
                weights.push(None);
                continue;
            }
            // Sentinels, such as the maximum of no elements, would dominate the sum.
            let mut weigh = |y: &f64| if y.abs() < 1e30 { r.unit() * 2.0 - 1.0 } else { 0.0 };
            weights.push(Some(with_parts(&y, &parts(&y)?.iter().map(&mut weigh).collect::<Vec<_>>())?));
        }
        Ok(Check { example, weights })
    }

    fn sum(&self, inputs: Vec<Tensor>) -> Result<f64> {
        let outputs = self.example.call_on(shared_step(), inputs)?;
        let mut total = 0.0;
        for (y, w) in outputs.iter().zip(&self.weights) {
            if let Some(w) = w {
                let weighed = |(y, w): (f64, f64)| if w == 0.0 { 0.0 } else { y * w };
                total += parts(y)?.into_iter().zip(parts(w)?).map(weighed).sum::<f64>();
            }
        }
        Ok(total)
    }

    /// Symbolic gradients, for each differentiable input.
    fn by_rule(&self, how: Inputs) -> Result<Vec<Option<Vec<f64>>>> {
        let mut wired = self.example.wire(how)?;
        let (mut ys, mut seeds) = (Vec::new(), Vec::new());
        for (y, w) in wired.outputs().into_iter().zip(&self.weights) {
            if let Some(w) = w {
                ys.push(y);
                seeds.push(constant(&mut wired.graph, w.clone())?);
            }
        }
        let xs: Vec<Output> = self.inputs().map(|i| wired.inputs[i]).collect();
        let found = gradients(
            &mut wired.graph,
            &ys,
            &xs,
            &gradients::Options { grad_ys: &seeds, stop: &[], ..Default::default() },
        )?;
        let session = Session::of(&wired.graph, options(true, 1))?;
        let fetch = |outputs: &[Output]| {
            session.callable(&wired.inputs, outputs, &[])?.run(self.example.inputs.clone())
        };
        let mut all = Vec::new();
        for (i, g) in self.inputs().zip(found) {
            let x = &self.example.inputs[i];
            all.push(match g {
                Grad::None => None,
                Grad::Dense(o) => {
                    let g = fetch(&[o])?.remove(0);
                    if g.shape() != x.shape() || g.dtype() != x.dtype() {
                        return Err(internal(format!(
                            "gradient of input {i} is {} {}",
                            g.dtype(),
                            g.shape()
                        )));
                    }
                    Some(parts(&g)?)
                }
                Grad::Slices { values, indices, .. } => {
                    let got = fetch(&[values, indices])?;
                    Some(scattered(x, &parts(&got[0])?, &got[1].to_i64s()?)?)
                }
            });
        }
        Ok(all)
    }

    fn inputs(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.example.inputs.len()).filter(|i| differentiable(self.example.inputs[*i].dtype()))
    }

    /// Compares with central differences; adds failures.
    fn compare(&self, how: Inputs, failures: &mut Vec<String>) -> Result<usize> {
        // Some ops always give single precision.
        let fine = self
            .example
            .inputs
            .iter()
            .chain(self.weights.iter().flatten())
            .all(|t| t.dtype() != DataType::Float && t.dtype() != DataType::Complex64);
        let (h, tolerance) = if fine { (1e-5, 1e-4) } else { (1e-2, 2e-2) };
        let mut r = CaseGen::new(11);
        let mut compared = 0;
        for (i, rule) in self.inputs().zip(self.by_rule(how)?) {
            if self.example.no_difference.contains(&i) {
                continue;
            }
            let x = parts(&self.example.inputs[i])?;
            let chosen: Vec<usize> = match x.len() {
                n if n <= SAMPLES => (0..n).collect(),
                n => (0..SAMPLES).map(|_| r.below(n)).collect(),
            };
            for at in chosen {
                let moved = |by: f64| {
                    let (mut inputs, mut x) = (self.example.inputs.clone(), x.clone());
                    x[at] += by;
                    inputs[i] = with_parts(&inputs[i], &x)?;
                    self.sum(inputs)
                };
                let slope = (moved(h)? - moved(-h)?) / (2.0 * h);
                let ruled = rule.as_ref().map_or(0.0, |g| g[at]);
                compared += 1;
                if (slope - ruled).abs() > tolerance * (1.0 + slope.abs().max(ruled.abs()))
                    || slope.is_nan() != ruled.is_nan()
                {
                    let none = if rule.is_none() { " (no gradient)" } else { "" };
                    failures.push(format!(
                        "{}, {how:?}: input {i} component {at}: rule {ruled}{none}, difference {slope}",
                        self.example.label
                    ));
                    break;
                }
            }
        }
        Ok(compared)
    }
}

/// IndexedSlices, dense like `x`.
fn scattered(x: &Tensor, values: &[f64], indices: &[i64]) -> Result<Vec<f64>> {
    let mut sum = vec![0.0; parts(x)?.len()];
    let width = values.len() / indices.len().max(1);
    for (row, at) in values.chunks(width.max(1)).zip(indices) {
        for (s, v) in sum[*at as usize * width..].iter_mut().zip(row) {
            *s += v;
        }
    }
    Ok(sum)
}

#[test]
fn every_gradient_is_the_difference() {
    let (mut failures, mut ops, mut compared) = (Vec::new(), std::collections::BTreeSet::new(), 0);
    let mut single = std::collections::BTreeSet::new();
    for example in examples() {
        if !matches!(example.op.grad, Gradient::Rule(_))
            || example.op.stateful
            || REFUSES.contains(&example.op.name)
        {
            continue;
        }
        let example = doubled(&example).unwrap_or_else(|| {
            single.insert(example.op.name);
            example
        });
        let label = example.label.clone();
        let check = match Check::new(example) {
            Ok(check) => check,
            Err(e) => {
                failures.push(format!("{label}: {e}"));
                continue;
            }
        };
        for how in [Inputs::Placeholders, Inputs::Unknown] {
            match check.compare(how, &mut failures) {
                Ok(n) => compared += n,
                Err(e) => failures.push(format!("{label}, {how:?}: {e}")),
            }
        }
        ops.insert(check.example.op.name);
    }
    println!("{} ops, {compared} slopes; only in single precision: {single:?}", ops.len());
    assert_none("gradients are wrong", failures);
}

/// A missing gradient is an error that names the op, never a silent zero.
#[test]
fn a_missing_gradient_is_an_error_that_names_the_op() {
    let mut missing = Vec::new();
    for example in examples().into_iter().filter(|e| matches!(e.op.grad, Gradient::Missing)) {
        let Ok(mut wired) = example.wire(Inputs::Placeholders) else { continue };
        let float = |o: &Output| wired.graph.dtype(*o).is_float();
        let (xs, ys): (Vec<_>, Vec<_>) = (
            wired.inputs.iter().copied().filter(float).collect(),
            wired.outputs().into_iter().filter(float).collect(),
        );
        if xs.is_empty() || ys.is_empty() {
            continue;
        }
        let e = gradients(&mut wired.graph, &ys, &xs, &Default::default()).unwrap_err();
        assert_eq!(e.code(), Code::Unimplemented, "{}: {e}", example.label);
        assert!(e.message().contains(example.op.name), "{e}");
        missing.push(example.op.name);
    }
    missing.dedup();
    println!("{} ops have cases with floats in and out, and no gradient: {missing:?}", missing.len());
}
