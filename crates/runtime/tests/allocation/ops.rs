//! Every op's cases, enlarged, with each large allocation failing in turn.

use crate::child;
use crate::common::{Example, assert_none, examples_of, ops, registry, step};
use crate::failing::{BOOKS, fail_nth, fill_caches};
use std::sync::Arc;
use thalweg_core::direct;
use thalweg_core::dtype::DataType;
use thalweg_core::error::{Code, Result};
use thalweg_core::kernel::KernelNode;
use thalweg_core::op::{Make, Op};
use thalweg_core::runnable::Runnable;
use thalweg_core::step::StepContext;
use thalweg_core::tensor::Tensor;
use thalweg_proto::Bytes;

/// Ops left out: a library whose allocations abort does the work, with memory reserved and limited before
/// (png, prost, flate2, snap); or their allocations have a fixed size (the buckets of a histogram).
const LEFT_OUT: [&str; 9] = [
    "CompressElement",
    "DecodeCompressed",
    "DecodePng",
    "DeserializeManySparse",
    "DeserializeSparse",
    "EncodePng",
    "HistogramSummary",
    "MergeSummary",
    "ParseTensor",
];

#[test]
fn no_op_ends_the_process_when_an_allocation_fails() {
    let all: Vec<&Op> = ops().filter(|op| !waits(op) && !LEFT_OUT.contains(&op.name)).collect();
    let Some(from) = child::from() else {
        let test = "ops::no_op_ends_the_process_when_an_allocation_fails";
        return assert_none("calls did not survive", child::run(test, all.len(), None));
    };
    fill_caches();
    // Broadcasting large inputs would take long.
    thalweg_core::buffer::set_limit(1 << 20);
    let step = step(2);
    for (piece, op) in all.into_iter().enumerate().skip(from) {
        for example in examples_of(op) {
            for (how, inputs) in larger(&example) {
                let mut call = Call {
                    piece,
                    step: &step,
                    label: format!("{}, {how}", example.label),
                    example: &example,
                    inputs,
                };
                call.fail_each();
            }
        }
    }
}

/// Async ops would block for ever, called alone.
fn waits(op: &Op) -> bool {
    op.kernels.iter().any(|row| matches!(row.make, Make::Async(_)))
}

struct Call<'a> {
    piece: usize,
    step: &'a Arc<StepContext>,
    label: String,
    example: &'a Example,
    inputs: Vec<Tensor>,
}

impl Call<'_> {
    fn fail_each(&mut self) {
        child::at(self.piece, &self.label);
        let Ok(node) =
            direct::node_for(registry(), self.example.op, &self.inputs, self.example.attrs.clone())
        else {
            return;
        };
        let node = Arc::new(node);
        let Ok(kernel) = Runnable::make(self.example.op, &node, "CPU") else { return };
        let without = self.run(&kernel, &node);
        let mut n = 1;
        loop {
            child::at(self.piece, &format!("{}, allocation {n}", self.label));
            // Random number generators have state; other kernels may cache values of their inputs.
            let kernel = match self.example.op.stateful {
                true => Runnable::make(self.example.op, &node, "CPU").unwrap(),
                false => kernel.clone(),
            };
            let (result, did_fail) = fail_nth(n, BOOKS, || self.run(&kernel, &node));
            self.check(n, did_fail, &without, &result);
            if !did_fail {
                return;
            }
            // Skips some if there are many.
            n += 1 + n / 8;
        }
    }

    fn run(&self, kernel: &Runnable, node: &Arc<KernelNode>) -> Result<Vec<Tensor>> {
        let outputs = direct::run(kernel, node, self.step, self.inputs.clone())?;
        outputs.into_iter().flatten().map(|v| v.into_tensor()).collect()
    }

    /// A kernel may recover from a failure.
    fn check(&self, n: usize, did_fail: bool, without: &Result<Vec<Tensor>>, result: &Result<Vec<Tensor>>) {
        let fits = match (without, result) {
            (_, Err(e)) if did_fail && e.code() == Code::ResourceExhausted => true,
            (Err(a), Err(b)) => a.code() == b.code(),
            (Ok(a), Ok(b)) => {
                !self.example.repeats() || a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(a, b))
            }
            _ => false,
        };
        if !fits {
            let found = result.as_ref().map_or_else(|e| e.to_string(), |_| "another value".into());
            child::failed(self.piece, &format!("{}, allocation {n}: {found}", self.label));
        }
    }
}

/// Variants and handles are not compared.
fn alike(a: &Tensor, b: &Tensor) -> bool {
    matches!(a.dtype(), DataType::Variant | DataType::Resource) || a.same_bits(b)
}

/// So many elements exceed the threshold, for any type.
const ENOUGH: usize = 4500;

/// More take too long.
const MOST: usize = 1 << 16;

/// The factor by which inputs grow so that the smallest is large.
fn times(inputs: &[Tensor]) -> i32 {
    let sizes = inputs.iter().filter(|t| t.rank() > 0).map(Tensor::elements).filter(|n| *n > 0);
    sizes.min().map_or(1, |n| ENOUGH.div_ceil(n)) as i32
}

/// The inputs of an example, enlarged in several ways. Ops may reject some: the error must then stay the same.
fn larger(example: &Example) -> Vec<(String, Vec<Tensor>)> {
    let all = |f: &dyn Fn(&Tensor) -> Option<Tensor>| -> Vec<Tensor> {
        example.inputs.iter().map(|t| f(t).unwrap_or_else(|| t.clone())).collect()
    };
    let times = times(&example.inputs);
    let mut ways = vec![
        ("more rows".to_string(), all(&|t| tiled(t, |axis, _| axis == 0, times))),
        ("more columns".into(), all(&|t| tiled(t, |axis, rank| axis + 1 == rank, times))),
        ("more of all".into(), all(&|t| tiled(t, |_, _| true, 5))),
        ("larger numbers".into(), all(&sizes)),
        (
            "more rows and larger numbers".into(),
            all(&|t| sizes(t).or_else(|| tiled(t, |axis, _| axis == 0, times))),
        ),
    ];
    if let Some(long) = example.inputs.first().and_then(longer) {
        // Other inputs are patterns, delimiters etc.
        ways.push(("longer strings".into(), [&[long], &example.inputs[1..]].concat()));
    }
    for i in 0..example.inputs.len() {
        let mut inputs = example.inputs.clone();
        if let Some(t) = tiled(&inputs[i], |axis, _| axis == 0, times) {
            inputs[i] = t;
            ways.push((format!("more rows of input {i}"), inputs));
        }
    }
    // Removes duplicates.
    let mut seen = Vec::new();
    ways.retain(|(_, inputs)| {
        let few = inputs.iter().map(Tensor::elements).sum::<usize>() <= MOST;
        let new = !seen.iter().any(|s: &Vec<Tensor>| s.iter().zip(inputs).all(|(a, b)| a.same_bits(b)));
        seen.push(inputs.clone());
        few && new
    });
    ways
}

fn tiled(t: &Tensor, grows: impl Fn(usize, usize) -> bool, times: i32) -> Option<Tensor> {
    let multiples: Vec<i32> = (0..t.rank()).map(|a| if grows(a, t.rank()) { times } else { 1 }).collect();
    let large = multiples.iter().fold(t.elements(), |n, m| n.saturating_mul(*m as usize)) > MOST;
    if multiples.is_empty() || large {
        return None;
    }
    let inputs = vec![t.clone(), Tensor::vector(&multiples).ok()?];
    direct::call(registry(), crate::common::shared_step(), "Tile", inputs, Default::default()).ok()?.pop()
}

/// Sizes, as a scalar or a short vector.
fn sizes(t: &Tensor) -> Option<Tensor> {
    if t.rank() > 1 || t.elements() > 8 {
        return None;
    }
    let scaled: Vec<i64> = match t.dtype() {
        DataType::Int32 | DataType::Int64 => t.to_i64s().ok()?.iter().map(|v| v.wrapping_mul(600)).collect(),
        _ => return None,
    };
    let scaled = match t.dtype() {
        DataType::Int64 => Tensor::vector(&scaled),
        _ => Tensor::vector(&scaled.iter().map(|v| *v as i32).collect::<Vec<_>>()),
    };
    scaled.ok()?.reshape(t.shape().clone()).ok()
}

fn longer(t: &Tensor) -> Option<Tensor> {
    let items = t.strings().ok()?.iter().map(|s| Bytes::from(s.repeat(5000))).collect();
    Tensor::from_objects(t.shape().clone(), items).ok()
}
