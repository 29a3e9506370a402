//! `AddN` and `AccumulateNV2`: the sum of several tensors of one shape.

use crate::elementwise::for_chunks;
use crate::prelude::*;
use crate::variants;

pub static OPS: &[&Op] = &[&ADD_N, &ACCUMULATE_NV2];

pub static ADD_N: Op = Op {
    name: "AddN",
    doc: "The elementwise sum of all inputs, which have one shape.",
    inputs: &["inputs: N * T"],
    outputs: &["sum: T"],
    attrs: &[
        "N: int >= 1",
        "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64, variant}",
    ],
    shape: shape_call::all_inputs_alike,
    grad: Rule(|g| {
        let dy = g.dy()?;
        Ok(vec![dy.into(); g.x.len()])
    }),
    kernels: cpu!(variant_sum for T = Variant, run: T in f32, f64, i32, i64, f16, bf16, u8, u16, u32, u64, i8, i16, Complex32, ComplexDouble),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 3])]),
            Case::new(vec![r.tensor(&[2, 3]), r.tensor(&[2, 3]), r.tensor(&[2, 3])]),
        ]
    },
    commutative: true,
    epilogue: Some(super::sums::SUM_EPILOGUE),
    ..Op::PURE
};

static ACCUMULATE_NV2: Op = Op {
    name: "AccumulateNV2",
    attrs: &["N: int >= 1", "T: numbertype", "shape: shape"],
    kernels: cpu!(run: T in f32, f64, i32, i64, f16, bf16, u8, u16, u32, u64, i8, i16, Complex32, ComplexDouble),
    shape: |c| {
        let alike = shape_call::all_inputs_alike(c)?;
        Ok(vec![c.attrs.shape("shape")?.merge(&alike[0])?])
    },
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 3]), r.tensor(&[2, 3])])
                .attr("shape", PartialShape::unknown_of_rank(2)),
        ]
    },
    epilogue: None,
    ..ADD_N
};

fn run<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    let shape = c.shape(0)?.clone();
    for i in 1..c.inputs.len() {
        if *c.shape(i)? != shape {
            return Err(invalid!(
                "Inputs to {} must all have the same shape, but input 0 has {shape} and input {i} has {}",
                c.node.op,
                c.shape(i)?
            ));
        }
    }
    if c.inputs.len() == 1 {
        let x = c.take(0)?;
        c.set(0, x);
        return Ok(());
    }
    if shape.is_scalar() {
        let mut sum = c.input(0)?.to_scalar::<T>()?;
        for i in 1..c.inputs.len() {
            sum = sum.add(c.input(i)?.to_scalar::<T>()?);
        }
        c.set(0, Tensor::scalar(sum));
        return Ok(());
    }
    let par = c.par();
    // The sum reuses the buffer of one of the first two inputs, else a copy of the first: with a later one the order of additions, and
    // so the last bits, would depend on which is free.
    let free = (0..c.inputs.len().min(2)).find_map(|i| c.reuse(i, T::DTYPE, &shape).map(|t| (i, t)));
    let (into, mut sum) = match free {
        Some(found) => found,
        None => (0, Tensor::from_slice(shape, c.slice::<T>(0)?)?),
    };
    let out = sum.as_mut_slice::<T>()?;
    for i in (0..c.inputs.len()).filter(|i| *i != into) {
        let x = c.slice::<T>(i)?;
        for_chunks(par, out, &|r, out| {
            for (out, x) in out.iter_mut().zip(&x[r]) {
                *out = out.add(*x);
            }
        });
    }
    c.set(0, sum);
    Ok(())
}

/// Lists of tensors and optionals: the sums of their elements.
fn variant_sum(c: &mut OpCall<'_>) -> Result<()> {
    let mut sum = c.take(0)?;
    for i in 1..c.inputs.len() {
        sum = variants::sum(sum, c.take(i)?, 0)?;
    }
    c.set(0, sum);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::testing::*;
    use thalweg_core::direct;
    use thalweg_core::error::Code;

    #[test]
    fn the_order_of_the_additions_does_not_depend_on_whose_memory_is_free() {
        let kept = [floats(&[1], &[1.0]), floats(&[1], &[1e-8]), floats(&[1], &[-1.0])];
        for free in 0..3 {
            let mut given = kept.to_vec();
            // The only one not shared.
            given[free] = floats(&[1], kept[free].as_slice().unwrap());
            let sum = direct::call(crate::testing::registry(), &step(1), "AddN", given, Default::default());
            assert_eq!(sum.unwrap()[0].as_slice::<f32>().unwrap(), [0.0], "the memory of input {free}");
        }
    }

    #[test]
    fn inputs_of_other_shapes_are_refused() {
        let inputs = [floats(&[2], &[1.0, 2.0]), floats(&[1], &[1.0])];
        assert_eq!(code(call("AddN", &inputs, &[])), Code::InvalidArgument);
    }
}
