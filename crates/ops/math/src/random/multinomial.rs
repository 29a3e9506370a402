//! `Multinomial`, `StatelessMultinomial`: classes sampled from a softmax of logits.

use super::drawn::{Seeded, seed_stream};
use crate::prelude::*;
use thalweg_math::random::{self, Philox};

pub static MULTINOMIAL: Op = Op {
    name: "Multinomial",
    doc: "For each row of `logits`, num_samples classes drawn with probability softmax(row).",
    inputs: &["logits: T", "num_samples: int32"],
    outputs: &["output: output_dtype"],
    attrs: &[
        "seed: int = 0",
        "seed2: int = 0",
        "T: realnumbertype",
        "output_dtype: {int32, int64} = DT_INT64",
    ],
    shape,
    kernels: cpu!(make own: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64),
    cases: |r| {
        vec![Case::new(vec![r.tensor(&[2, 3]), Tensor::scalar(5i32)]).attr("seed", 3).attr("seed2", 4)]
    },
    expensive: true,
    ..Op::STATEFUL
};

pub static STATELESS_MULTINOMIAL: Op = Op {
    name: "StatelessMultinomial",
    doc: "For each row of `logits`, num_samples classes drawn with probability softmax(row), by a seed alone.",
    inputs: &["logits: T", "num_samples: int32", "seed: Tseed"],
    outputs: &["output: output_dtype"],
    attrs: &[
        "T: realnumbertype",
        "Tseed: {int32, int64} = DT_INT64",
        "output_dtype: {int32, int64} = DT_INT64",
    ],
    shape: |c| {
        PartialShape::vector(2).merge(&c.input(2))?;
        shape(c)
    },
    grad: Stops,
    kernels: cpu!(by_seed: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3]), Tensor::scalar(5i32), int_vector(&[3, 4])])],
    expensive: true,
    ..Op::PURE
};

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let logits = c.rank(0, 2)?;
    c.scalar(1)?;
    let samples = c.ints(1).and_then(|v| v.first().copied()).unwrap_or(-1);
    if samples < -1 {
        return Err(invalid!("num_samples should be nonnegative, got {samples}"));
    }
    Ok(vec![[logits.dim(0), samples].into_iter().collect()])
}

fn own<T: Real>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let own = Seeded::of(node)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        sample::<T>(c, |c, rows, samples| {
            Ok(own.reserve(c, |s| s.reserve(random::categorical_blocks(rows as u64, samples as u64))))
        })
    }))
}

fn by_seed<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    // Read first: an invalid seed is an error even if nothing is drawn.
    let stream = seed_stream(c, 2)?;
    sample::<T>(c, |_, _, _| Ok(stream))
}

fn sample<T: Real>(
    c: &mut OpCall<'_>,
    stream: impl FnOnce(&OpCall<'_>, usize, usize) -> Result<Philox>,
) -> Result<()> {
    let samples = usize::try_from(c.scalar::<i32>(1)?)
        .map_err(|_| invalid!("num_samples should be nonnegative, got a negative number"))?;
    let [rows, classes] = c.shape(0)?[..] else {
        return Err(invalid!("logits should be a matrix, got shape {}", c.shape(0)?));
    };
    let shape = Shape::new(&[rows, samples])?;
    let mut out = Tensor::uninit(DataType::Int64, shape.clone())?;
    if shape.elements() > 0 {
        if classes == 0 {
            return Err(invalid!("num_classes should be positive, got 0"));
        }
        let logits = reserve::collect(c.slice::<T>(0)?.iter().map(|x| x.to_f64()))?;
        let stream = stream(c, rows, samples)?;
        random::categorical(c.par(), stream, &logits, classes, samples, out.as_mut_slice()?);
    }
    if c.output_type(0)? == DataType::Int32 {
        let narrow = reserve::collect(out.as_slice::<i64>()?.iter().map(|v| *v as i32))?;
        out = Tensor::from_slice(shape, &narrow)?;
    }
    c.set(0, out);
    Ok(())
}
