//! `Where`: the positions of non-zero elements.

use crate::prelude::*;

pub static WHERE: Op = Op {
    name: "Where",
    doc: "The coordinates of the elements that are true, or not zero, one row each.",
    inputs: &["input: T"],
    outputs: &["index: int64"],
    attrs: &[
        "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64, bool} = DT_BOOL",
    ],
    shape: |c| Ok(vec![[-1, c.input(0).rank().map_or(-1, |r| r as i64)].into_iter().collect()]),
    grad: Stops,
    kernels: cpu!(run: T in bool, f32, f64, i32, u8, i16, i8, i64, u16, u32, u64, f16, bf16, Complex32, ComplexDouble),
    cases: |r| {
        vec![
            Case::new(vec![r.bools(&[3, 4])]),
            Case::new(vec![r.ints(&[5], -1, 1)]),
            Case::new(vec![r.bools(&[0, 2])]),
        ]
    },
    ..Op::PURE
};

fn run<T: Element>(c: &mut OpCall<'_>) -> Result<()> {
    let (x, shape) = (c.slice::<T>(0)?, c.shape(0)?);
    if shape.is_scalar() {
        return Err(invalid!("WhereOp : Unhandled input dimensions: 0"));
    }
    let found = x.iter().filter(|v| **v != T::default()).count();
    let rank = shape.rank();
    let mut out = Tensor::uninit(DataType::Int64, Shape::new(&[found, rank])?)?;
    let mut rows = out.as_mut_slice::<i64>()?.chunks_exact_mut(rank);
    // Coordinates are counted up, line by line of the last dimension: divisions cost more than all the rest.
    let (line, outer) = shape.split_last().unwrap_or((&1, &[]));
    let mut at = reserve::filled(outer.len(), 0i64)?;
    for values in x.chunks_exact((*line).max(1)) {
        let hits = values.iter().enumerate().filter(|(_, v)| **v != T::default());
        for (j, _) in hits {
            if let Some((last, before)) = rows.next().and_then(<[i64]>::split_last_mut) {
                before.copy_from_slice(&at);
                *last = j as i64;
            }
        }
        for (at, size) in at.iter_mut().zip(outer).rev() {
            *at += 1;
            if *at < *size as i64 {
                break;
            }
            *at = 0;
        }
    }
    c.set(0, out);
    Ok(())
}
