//! `SparseSplit`: a sparse tensor split along a dimension.

use super::coordinates::{Coordinates, check_sparse, example, matrix};
use crate::prelude::*;
use crate::rows::pick;

pub static SPARSE_SPLIT: Op = Op {
    name: "SparseSplit",
    doc: "A sparse tensor split along split_dim into num_split parts, the first of them one longer where it does not divide.",
    inputs: &["split_dim: int64", "indices: int64", "values: T", "shape: int64"],
    outputs: &[
        "output_indices: num_split * int64",
        "output_values: num_split * T",
        "output_shape: num_split * int64",
    ],
    attrs: &["num_split: int >= 1", "T: type"],
    shape: |c| {
        c.scalar(0)?;
        let (_, rank) = check_sparse(c, 1)?;
        let parts = c.outputs / 3;
        let of = |s: PartialShape| std::iter::repeat_n(s, parts);
        let rows = of([-1, rank].into_iter().collect());
        Ok(rows.chain(of(PartialShape::vector(-1))).chain(of(PartialShape::vector(rank))).collect())
    },
    grad: Missing,
    kernels: cpu!(make prepare),
    cases: |r| {
        let mut case = |dim: i64, parts: i64| {
            let sparse = example(&[0, 1, 0, 3, 1, 4], r.tensor(&[3]), &[2, 5]);
            let inputs = [Tensor::scalar(dim)].into_iter().chain(sparse).collect();
            Case::new(inputs).attr("num_split", parts)
        };
        vec![case(1, 2), case(0, 2), case(1, 3)]
    },
    ..Op::PURE
};

/// How a dimension is split: the first `longer` parts have `size + 1`.
struct Parts {
    size: i64,
    longer: i64,
}

impl Parts {
    fn part(&self, at: i64) -> (usize, i64) {
        let head = self.longer * (self.size + 1);
        if at < head {
            ((at / (self.size + 1)) as usize, at % (self.size + 1))
        } else {
            ((self.longer + (at - head) / self.size) as usize, (at - head) % self.size)
        }
    }

    fn len(&self, part: usize) -> i64 {
        self.size + i64::from((part as i64) < self.longer)
    }
}

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let parts = node.attrs.int("num_split")?;
    Ok(Box::new(move |c: &mut OpCall<'_>| run(c, parts)))
}

fn run(c: &mut OpCall<'_>, parts: i64) -> Result<()> {
    if !c.shape(0)?.is_scalar() {
        return Err(invalid!("Input axis should be a scalar but received shape {}", c.shape(0)?));
    }
    let dim = c.scalar::<i64>(0)?;
    let values = c.input(2)?;
    if values.rank() != 1 {
        return Err(invalid!("Input values should be a vector but received shape {}", values.shape()));
    }
    let all = Coordinates::of(c, 1, 3, values.elements())?;
    let rank = all.shape.rank();
    let axis = axis_in_range(dim, rank)
        .map_err(|_| invalid!("Input axis should be in range [{}, {rank}), got {dim}", -(rank as i64)))?;
    let size = all.shape[axis] as i64;
    if parts > size {
        return Err(invalid!("num_split must be in [1, {size}], the size of dimension {axis}, got {parts}"));
    }
    let even = Parts { size: size / parts, longer: size % parts };
    let mut found = reserve::filled(parts as usize, (Vec::new(), Vec::new()))?;
    for (i, row) in all.rows().enumerate() {
        let (part, at) = even.part(row[axis]);
        let (picks, rows): &mut (Vec<usize>, Vec<i64>) = &mut found[part];
        reserve::push(picks, i)?;
        reserve::room(rows, row.len())?;
        rows.extend(row.iter().enumerate().map(|(d, v)| if d == axis { at } else { *v }));
    }
    let (mut rows, mut elements, mut shapes) = (Vec::new(), Vec::new(), Vec::new());
    for (part, (picks, at)) in found.iter().enumerate() {
        reserve::push(&mut rows, matrix(picks.len(), rank, at)?)?;
        reserve::push(&mut elements, pick(c, values, 1, picks, Shape::vector(picks.len()))?)?;
        let mut dims = all.shape.to_i64();
        dims[axis] = even.len(part);
        reserve::push(&mut shapes, Tensor::vector(&dims)?)?;
    }
    for (i, t) in rows.into_iter().chain(elements).chain(shapes).enumerate() {
        c.set(i, t);
    }
    Ok(())
}
