//! `SparseSoftmax`: the softmax of the elements of each row that are there.

use super::coordinates::{check_sparse, example};
use super::entries::Entries;
use crate::prelude::*;

pub static OPS: &[&Op] = &[&SPARSE_SOFTMAX];

static SPARSE_SOFTMAX: Op = Op {
    name: "SparseSoftmax",
    doc: "The values of a sparse tensor after a softmax along its last dimension; missing elements stay missing.",
    inputs: &["sp_indices: int64", "sp_values: T", "sp_shape: int64"],
    outputs: &["output: T"],
    attrs: &["T: {half, float, double}"],
    shape: |c| {
        let (count, _) = check_sparse(c, 0)?;
        Ok(vec![PartialShape::vector(count)])
    },
    grad: Rule(grad),
    kernels: cpu!(run: T in f16, f32, f64),
    cases: |r| vec![Case::new(example(&[0, 1, 0, 2, 1, 0, 1, 1, 1, 2], r.tensor(&[5]), &[2, 3]))],
    ..Op::PURE
};

/// (dy - sum of dy * y in the row) * y.
fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (indices, shape, y, dy) = (g.x[0], g.x[2], g.y[0], g.dy()?);
    let product = g.binary("Mul", y, dy)?;
    let last = g.constant(int_vector(&[-1]))?;
    let args = [indices.into(), product.into(), shape.into(), last.into()];
    let sums = g.op("SparseReduceSum", args, &[("keep_dims", Attr::Bool(true))])?;
    let sums = g.unary("Neg", sums)?;
    let rest = g.op("SparseDenseCwiseAdd", [indices.into(), dy.into(), shape.into(), sums.into()], &[])?;
    Ok(vec![Grad::None, g.binary("Mul", rest, y)?.into(), Grad::None])
}

fn run<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    let all = Entries::of(c, 0)?;
    if all.rank() < 2 {
        return Err(invalid!("Input should have rank >= 2, but got shape {:?}", all.dims));
    }
    Shape::from_i64(all.dims)?;
    let values = all.values.as_slice::<T>()?;
    let row = |i: usize| all.row(i).split_last().map_or(&[][..], |(_, row)| row);
    let mut out = Tensor::uninit(T::DTYPE, Shape::vector(values.len()))?;
    let to = out.as_mut_slice::<T>()?;
    let mut start = 0;
    while start < values.len() {
        let end = (start + 1..values.len()).find(|i| row(*i) != row(start)).unwrap_or(values.len());
        let (from, to) = (&values[start..end], &mut to[start..end]);
        let top = from.iter().fold(T::lowest(), |top, v| top.larger(*v));
        for (to, v) in to.iter_mut().zip(from) {
            *to = v.sub(top).via(f32::exp, f64::exp);
        }
        let sum = to.iter().fold(T::ZERO, |sum, v| sum.add(*v));
        to.iter_mut().for_each(|v| *v = v.div(sum));
        start = end;
    }
    c.set(0, out);
    Ok(())
}
