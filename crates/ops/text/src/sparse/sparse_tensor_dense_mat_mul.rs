//! `SparseTensorDenseMatMul`: the product of a sparse and a dense matrix.

use super::coordinates::{Coordinates, check_sparse, example};
use crate::elementwise::for_chunks_of;
use crate::gradients::conj;
use crate::prelude::*;

pub static SPARSE_TENSOR_DENSE_MAT_MUL: Op = Op {
    name: "SparseTensorDenseMatMul",
    doc: "The product of a sparse and a dense matrix, or of their adjoints.",
    inputs: &["a_indices: Tindices", "a_values: T", "a_shape: int64", "b: T"],
    outputs: &["product: T"],
    attrs: &[
        "T: type",
        "Tindices: {int32, int64} = DT_INT64",
        "adjoint_a: bool = false",
        "adjoint_b: bool = false",
    ],
    shape: |c| {
        check_sparse(c, 0)?;
        let a = c.as_shape(2)?.merge(&PartialShape::unknown_of_rank(2))?;
        let (b, ta, tb) =
            (c.rank(3, 2)?, c.attrs.bool("adjoint_a")? as usize, c.attrs.bool("adjoint_b")? as usize);
        merge_dim(a.dim(1 - ta), b.dim(tb))?;
        Ok(vec![[a.dim(ta), b.dim(1 - tb)].into_iter().collect()])
    },
    grad: Rule(grad),
    kernels: cpu!(make prepare: T in f32, f64, i32, bf16; prepare_half: T in f16; prepare_complex: T in Complex32, ComplexDouble),
    cases: |r| {
        let mut case = |b: &[usize], ta: bool, tb: bool| {
            let sparse = example(&[0, 1, 1, 0, 1, 2], r.tensor(&[3]), &[2, 3]);
            Case::new(sparse.into_iter().chain([r.tensor(b)]).collect())
                .attr("adjoint_a", ta)
                .attr("adjoint_b", tb)
        };
        vec![
            case(&[3, 4], false, false),
            case(&[2, 4], true, false),
            case(&[4, 3], false, true),
            case(&[4, 2], true, true),
        ]
    },
    expensive: true,
    ..Op::PURE
};

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (ta, tb) = (g.attrs.bool("adjoint_a")?, g.attrs.bool("adjoint_b")?);
    let (indices, values, shape, b, dy) = (g.x[0], g.x[1], g.x[2], g.x[3], g.dy()?);
    let args = [indices, values, shape, dy].map(Arg::from);
    let db = g.op("SparseTensorDenseMatMul", args, &[("adjoint_a", Attr::Bool(!ta))])?;
    let swap = g.constant(int_vector(&[1, 0]))?;
    let db = if tb {
        let db = g.binary("Transpose", db, swap)?;
        conj(g, db)?
    } else {
        db
    };
    // For each element of a, its row of dy and its row of b.
    let sides = g.ops("Unpack", [indices.into()], &[("num", 2.into()), ("axis", 1.into())])?;
    let [rows, cols] = sides[..] else { return Err(internal("two columns")) };
    let (to, met) = if ta { (cols, rows) } else { (rows, cols) };
    let b = if tb { g.binary("Transpose", b, swap)? } else { conj(g, b)? };
    let zero = g.constant(Tensor::scalar(0i32))?;
    let dy = g.op("GatherV2", [dy.into(), to.into(), zero.into()], &[])?;
    let b = g.op("GatherV2", [b.into(), met.into(), zero.into()], &[])?;
    let products = g.binary("Mul", dy, b)?;
    let last = g.constant(Tensor::scalar(1i32))?;
    let mut dvalues = g.binary("Sum", products, last)?;
    if ta {
        dvalues = conj(g, dvalues)?;
    }
    Ok(vec![Grad::None, dvalues.into(), Grad::None, db.into()])
}

fn prepare<T: Number>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    kernel::<T>(node, |x| x, add_rows)
}

fn prepare_half<T: Float>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    kernel::<T>(node, |x| x, add_rows_wide)
}

fn prepare_complex<T: ComplexNumber>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    kernel::<T>(node, T::conjugate, add_rows)
}

/// Factors and rows: the terms of a row of the product.
type RowTerms<'a, T> = &'a mut dyn Iterator<Item = (T, &'a [T])>;

/// Adds the terms to a row of zeros.
fn add_rows<T: Number>(out: &mut [T], terms: RowTerms<'_, T>) {
    for (v, row) in terms {
        for (out, b) in out.iter_mut().zip(row) {
            *out = out.add(v.mul(*b));
        }
    }
}

/// As `add_rows`, in float32: sums of float16 lose their last bits, as TensorFlow's do not.
fn add_rows_wide<T: Float>(out: &mut [T], terms: RowTerms<'_, T>) {
    let mut sums = scratch::filled(out.len(), 0f32);
    for (v, row) in terms {
        let v = v.to_f64() as f32;
        for (sum, b) in sums.iter_mut().zip(row) {
            *sum += v * b.to_f64() as f32;
        }
    }
    for (out, sum) in out.iter_mut().zip(sums) {
        *out = T::from_f64(f64::from(sum));
    }
}

fn kernel<T: Number>(
    node: &KernelNode,
    conjugate: fn(T) -> T,
    add: fn(&mut [T], RowTerms<'_, T>),
) -> Result<Box<dyn Kernel>> {
    let (ta, tb) = (node.attrs.bool("adjoint_a")?, node.attrs.bool("adjoint_b")?);
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let values = c.slice::<T>(1)?;
        if c.shape(1)?.rank() != 1 || c.shape(2)?.dims() != [2] {
            return Err(invalid!(
                "a_values must be a vector and a_shape have 2 elements, got shapes {} and {}",
                c.shape(1)?,
                c.shape(2)?
            ));
        }
        let a = Coordinates::of(c, 0, 2, values.len())?;
        let b = c.shape(3)?;
        let [b0, b1] = *b.dims() else { return Err(invalid!("Tensor 'b' is not a matrix: {b}")) };
        let (rows, inner) = if ta { (a.shape[1], a.shape[0]) } else { (a.shape[0], a.shape[1]) };
        let (b_rows, cols) = if tb { (b1, b0) } else { (b0, b1) };
        if inner != b_rows {
            return Err(invalid!(
                "Cannot multiply A and B because inner dimension does not match: {inner} vs. {b_rows}. \
                 Did you forget a transpose? Dimensions of A: {}, B: {b}",
                a.shape
            ));
        }
        let mut out = Tensor::zeros(T::DTYPE, Shape::new(&[rows, cols])?)?;
        let b = c.slice::<T>(3)?;
        let transposed: Vec<T>;
        let b = if tb {
            transposed =
                reserve::collect((0..inner * cols).map(|i| conjugate(b[i % cols * inner + i / cols])))?;
            &transposed[..]
        } else {
            b
        };
        let terms = Terms::by_row(&a, ta, rows)?;
        let value = |i: usize| if ta { conjugate(values[i]) } else { values[i] };
        for_chunks_of(c.par(), out.as_mut_slice::<T>()?, cols.max(1), 16, &|range, out| {
            for (row, out) in range.zip(out.chunks_mut(cols.max(1))) {
                add(out, &mut terms.of(row).map(|(i, k)| (value(i), &b[k * cols..][..cols])));
            }
        });
        c.set(0, out);
        Ok(())
    }))
}

/// The elements of a sparse matrix by row of the product, in order.
struct Terms {
    starts: Vec<usize>,
    /// The element, and the row of b that it multiplies.
    items: Vec<(usize, usize)>,
}

impl Terms {
    fn by_row(a: &Coordinates, adjoint: bool, rows: usize) -> Result<Terms> {
        let side = |row: &[i64], other: bool| row[usize::from(adjoint != other)] as usize;
        let mut starts = reserve::filled(rows.saturating_add(1), 0)?;
        a.rows().for_each(|row| starts[side(row, false) + 1] += 1);
        (0..rows).for_each(|i| starts[i + 1] += starts[i]);
        let (mut next, mut items) = (reserve::copied(&starts)?, reserve::filled(a.count, (0, 0))?);
        for (i, row) in a.rows().enumerate() {
            let slot = &mut next[side(row, false)];
            items[*slot] = (i, side(row, true));
            *slot += 1;
        }
        Ok(Terms { starts, items })
    }

    fn of(&self, row: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.items[self.starts[row]..self.starts[row + 1]].iter().copied()
    }
}
