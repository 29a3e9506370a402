//! `StringJoin`: strings of several tensors joined elementwise.

use super::mapped::words;
use crate::prelude::*;
use bytes::Bytes;

pub static STRING_JOIN: Op = Op {
    name: "StringJoin",
    doc: "The strings at each position joined by a separator; a scalar is broadcast.",
    inputs: &["inputs: N * string"],
    outputs: &["output: string"],
    attrs: &["N: int >= 0", "separator: string = ''"],
    shape: |c| {
        let mut all = PartialShape::scalar();
        for s in c.inputs {
            all = match (all.rank(), s.rank()) {
                (_, None) if all.rank() == Some(0) => PartialShape::unknown(),
                (Some(0), _) => s.clone(),
                (_, Some(0)) => all,
                _ => all.merge(s)?,
            };
        }
        Ok(vec![all])
    },
    grad: Stops,
    kernels: cpu!(run),
    cases: |_| {
        let inputs = vec![words(&[2], &["a", "b"]), words(&[], &["x"]), words(&[2], &["", "d"])];
        vec![Case::new(inputs.clone()), Case::new(inputs).attr("separator", "-")]
    },
    ..Op::PURE
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let separator = c.attrs().bytes("separator")?;
    let mut shape = Shape::scalar();
    for i in 0..c.inputs.len() {
        let s = c.shape(i)?;
        match (shape.is_scalar(), s.is_scalar()) {
            (true, false) => shape = s.clone(),
            (false, false) if *s != shape => {
                return Err(invalid!("Input shapes do not match: {shape} vs. {s}"));
            }
            _ => {}
        }
    }
    let columns = reserve::try_collect((0..c.inputs.len()).map(|i| c.input(i)?.strings()))?;
    let out = Tensor::build_objects(shape, |place| {
        let parts = columns.iter().filter_map(|col| col.get(if col.len() == 1 { 0 } else { place }));
        Ok(Bytes::from(reserve::join(parts.map(|b| &b[..]), separator)?))
    })?;
    c.set(0, out);
    Ok(())
}
