//! `BatchMatMul` and its later versions: batched matrix products.

use super::products::product_gradients;
use crate::broadcast::{BroadcastPlan, broadcast_shape};
use crate::convert::converted;
use crate::prelude::*;
use thalweg_core::shape_call::broadcast_shapes;
use thalweg_math::gemm::{Epilogue, GemmElement, MatMut, MatRef, ShapeError, batch_gemm, gemm};
use thalweg_math::parallel::Parallel;

pub static BATCH_MAT_MUL_V2: Op = Op {
    name: "BatchMatMulV2",
    doc: "The matrix products of the innermost two dimensions, or of adjoints; batch dimensions broadcast.",
    inputs: &["x: T", "y: T"],
    outputs: &["output: T"],
    attrs: &[
        "T: {bfloat16, half, float, double, int16, int32, int64, uint8, uint16, uint32, uint64, complex64, complex128}",
        "adj_x: bool = false",
        "adj_y: bool = false",
        "grad_x: bool = false",
        "grad_y: bool = false",
    ],
    shape,
    grad: Rule(grad),
    kernels: cpu!(make prepare: T in f32, f64, f16, bf16, i16, i32, i64, u8, u16, u32, u64; prepare_complex: T in Complex32, ComplexDouble),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 3, 4]), r.tensor(&[2, 4, 2])]),
            Case::new(vec![r.tensor(&[2, 4, 3]), r.tensor(&[4, 2])]).attr("adj_x", true),
            Case::new(vec![r.tensor(&[3, 1, 3, 4]), r.tensor(&[2, 2, 4])]).attr("adj_y", true),
            Case::new(vec![r.tensor(&[2, 3, 4]), r.tensor(&[4, 2])]),
            Case::new(vec![r.tensor(&[2, 4, 3]), r.tensor(&[2, 2, 4])])
                .attr("adj_x", true)
                .attr("adj_y", true),
        ]
    },
    expensive: true,
    ..Op::PURE
};

pub static BATCH_MAT_MUL: Op = Op {
    name: "BatchMatMul",
    doc: "The matrix products of the innermost two dimensions, or of adjoints; batch dimensions must be equal.",
    attrs: &[
        "T: {bfloat16, half, float, double, int32, int64, complex64, complex128}",
        "adj_x: bool = false",
        "adj_y: bool = false",
        "grad_x: bool = false",
        "grad_y: bool = false",
    ],
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 3, 4]), r.tensor(&[2, 4, 2])]),
            Case::new(vec![r.tensor(&[4, 3]), r.tensor(&[2, 4])]).attr("adj_x", true).attr("adj_y", true),
        ]
    },
    ..BATCH_MAT_MUL_V2
};

pub static BATCH_MAT_MUL_V3: Op = Op {
    name: "BatchMatMulV3",
    inputs: &["x: Ta", "y: Tb"],
    outputs: &["output: Tout"],
    attrs: &[
        "Ta: {bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, complex128}",
        "Tb: {bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, complex128}",
        "Tout: {bfloat16, half, float, double, int16, int32, int64, complex64, complex128}",
        "adj_x: bool = false",
        "adj_y: bool = false",
        "grad_x: bool = false",
        "grad_y: bool = false",
    ],
    kernels: cpu!(make prepare_mixed),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 3, 4]), r.tensor(&[4, 2])]).attr("Tout", DataType::Float),
            Case::new(vec![r.ints(&[2, 3], -4, 4), r.ints(&[2, 3], -4, 4)])
                .attr("Tout", DataType::Int32)
                .attr("adj_y", true),
        ]
    },
    ..BATCH_MAT_MUL_V2
};

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let (x, y) = (c.rank_at_least(0, 2)?, c.rank_at_least(1, 2)?);
    let (Some(dx), Some(dy)) = (x.dims(), y.dims()) else { return Ok(vec![PartialShape::unknown()]) };
    let (batch_x, [x0, x1]) = split(dx);
    let (batch_y, [y0, y1]) = split(dy);
    let (m, k) = if c.attrs.bool("adj_x")? { (x1, x0) } else { (x0, x1) };
    let (l, n) = if c.attrs.bool("adj_y")? { (y1, y0) } else { (y0, y1) };
    merge_dim(k, l)?;
    let batch = broadcast_shapes(&batch_x, &batch_y)?;
    Ok(vec![batch.concat(&[m, n].into_iter().collect())])
}

/// The batch dimensions, and those of the matrices.
fn split(dims: &[i64]) -> (PartialShape, [i64; 2]) {
    let (batch, matrix) = dims.split_at(dims.len() - 2);
    (batch.iter().copied().collect(), [matrix[0], matrix[1]])
}

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (x, y) = (g.x[0], g.x[1]);
    let (ax, ay) = (g.attrs.bool("adj_x")?, g.attrs.bool("adj_y")?);
    let (dx, dy) = product_gradients(g, x, y, ax, ay, |g, x, y, ax, ay| {
        let mut attrs = vec![("adj_x", Attr::Bool(ax)), ("adj_y", Attr::Bool(ay))];
        if g.op == "BatchMatMulV3" {
            attrs.push(("Tout", Attr::Type(g.graph.dtype(x))));
        }
        let op = g.op;
        g.op(op, [x.into(), y.into()], &attrs)
    })?;
    if g.op == "BatchMatMul" {
        return Ok(vec![dx.into(), dy.into()]);
    }
    let (dx, dy) = (sum_to_batch_of(g, dx, x, y)?, sum_to_batch_of(g, dy, y, x)?);
    Ok(vec![dx.into(), dy.into()])
}

/// Sums a gradient over the batch dimensions along which `x` was broadcast.
pub fn sum_to_batch_of(g: &mut GradCall<'_>, dx: Output, x: Output, other: Output) -> Result<Output> {
    let (sx, so) = (g.graph.shape(x), g.graph.shape(other));
    if let (Some(a), Some(b), true) = (sx.dims(), so.dims(), sx.is_fully_known())
        && a.len() >= 2
        && b.len() >= 2
        && a[..a.len() - 2] == b[..b.len() - 2]
    {
        return Ok(dx);
    }
    let (shape, batch) = (g.shape_of(x)?, batch_shape(g, x)?);
    let batch_other = batch_shape(g, other)?;
    let axes = g.binary("BroadcastGradientArgs", batch, batch_other)?;
    let summed = g.binary("Sum", dx, axes)?;
    g.binary("Reshape", summed, shape)
}

/// The shape without its last two sizes.
fn batch_shape(g: &mut GradCall<'_>, x: Output) -> Result<Output> {
    let shape = g.shape_of(x)?;
    let (zero, end) = (g.constant(int_vector(&[0]))?, g.constant(int_vector(&[-2]))?);
    let one = g.constant(int_vector(&[1]))?;
    let args = [shape.into(), zero.into(), end.into(), one.into()];
    g.op("StridedSlice", args, &[("begin_mask", Attr::Int(1))])
}

#[derive(Clone, Copy)]
struct Adjoint {
    x: bool,
    y: bool,
}

fn adjoint(node: &KernelNode) -> Result<Adjoint> {
    Ok(Adjoint { x: node.attrs.bool("adj_x")?, y: node.attrs.bool("adj_y")? })
}

fn prepare<T: Element + GemmElement>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let adjoint = adjoint(node)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| run::<T>(c, adjoint)))
}

/// The adjoint of a complex matrix is conjugated too.
fn prepare_complex<T: ComplexNumber + GemmElement>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let adjoint = adjoint(node)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        for (i, adjoint) in [(0, adjoint.x), (1, adjoint.y)] {
            if adjoint {
                let mut t = c.take(i)?;
                t.as_mut_slice::<T>()?.iter_mut().for_each(|z| *z = z.conjugate());
                c.inputs[i] = Input::Owned(t);
            }
        }
        run::<T>(c, adjoint)
    }))
}

/// 8-bit integers times each other or bfloat16, in the type of the result.
fn prepare_mixed(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let types = [node.attrs.dtype("Ta")?, node.attrs.dtype("Tb")?, node.attrs.dtype("Tout")?];
    let [a, b, out] = types;
    let is_byte = |t: DataType| matches!(t, DataType::Int8 | DataType::Uint8);
    let fits = match out {
        DataType::Int32 if is_byte(a) && is_byte(b) => true,
        DataType::Bfloat16 => [a, b].into_iter().all(|t| t == out || is_byte(t)) && (a == out || b == out),
        _ => a == out && b == out,
    };
    if !fits {
        return Err(unimplemented(format_args!("BatchMatMulV3 of {a} and {b} to {out}")));
    }
    let multiply = match out {
        DataType::Float => prepare::<f32>(node)?,
        DataType::Double => prepare::<f64>(node)?,
        DataType::Half => prepare::<f16>(node)?,
        DataType::Bfloat16 => prepare::<bf16>(node)?,
        DataType::Int16 => prepare::<i16>(node)?,
        DataType::Int32 => prepare::<i32>(node)?,
        DataType::Int64 => prepare::<i64>(node)?,
        DataType::Complex64 => prepare_complex::<Complex32>(node)?,
        _ => prepare_complex::<ComplexDouble>(node)?,
    };
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        for i in [0, 1] {
            c.inputs[i] = Input::Owned(converted(c.input(i)?, out)?);
        }
        multiply.compute(c)
    }))
}

/// The operands, of any type.
struct Products {
    adjoint: Adjoint,
    /// Rows and columns.
    x: [usize; 2],
    y: [usize; 2],
    /// Matrices to multiply. `None`: all on the left, stacked, times the one on the right.
    pairs: Option<Vec<(usize, usize)>>,
}

/// The products, and memory for them.
fn products(c: &OpCall<'_>, adjoint: Adjoint) -> Result<(Products, Tensor)> {
    let (x, y) = (c.shape(0)?, c.shape(1)?);
    let (Some((batch_x, mx)), Some((batch_y, my))) = (x.split_last_chunk::<2>(), y.split_last_chunk::<2>())
    else {
        return Err(invalid!("In[0] and In[1] ndims must be >= 2: {x} and {y}"));
    };
    let (m, k) = if adjoint.x { (mx[1], mx[0]) } else { (mx[0], mx[1]) };
    let (l, n) = if adjoint.y { (my[1], my[0]) } else { (my[0], my[1]) };
    if k != l {
        return Err(invalid!(
            "Matrix size-incompatible: In[0]: {x}, In[1]: {y} with adj_x={}, adj_y={}",
            adjoint.x,
            adjoint.y
        ));
    }
    if c.node.op == "BatchMatMul" && batch_x != batch_y {
        return Err(invalid!("In[0] and In[1] must have the same batch dimensions: {x} vs {y}"));
    }
    let (batch_x, batch_y) = (Shape::new(batch_x)?, Shape::new(batch_y)?);
    let batch = broadcast_shape(&batch_x, &batch_y)
        .map_err(|_| invalid!("In[0] and In[1] must have compatible batch dimensions: {x} vs. {y}"))?;
    let dims: Vec<usize> = batch.iter().copied().chain([m, n]).collect();
    // Allocated before the list of pairs: broadcast batches may exceed memory.
    let out = Tensor::uninit(c.input(0)?.dtype(), Shape::new(&dims)?)?;
    let pairs = match out.elements() {
        0 => Some(Vec::new()),
        _ if batch_y.elements() == 1 && !adjoint.x => None,
        _ => Some(pairs(&batch_x, &batch_y)?),
    };
    Ok((Products { adjoint, x: *mx, y: *my, pairs }, out))
}

fn run<T: Element + GemmElement>(c: &mut OpCall<'_>, adjoint: Adjoint) -> Result<()> {
    let (products, mut out) = products(c, adjoint)?;
    multiply(c.par(), &products, c.slice::<T>(0)?, c.slice::<T>(1)?, out.as_mut_slice::<T>()?)
        .map_err(super::wrong_size)?;
    c.set(0, out);
    Ok(())
}

fn multiply<T: GemmElement>(
    par: &dyn Parallel,
    p: &Products,
    left: &[T],
    right: &[T],
    into: &mut [T],
) -> std::result::Result<(), ShapeError> {
    let ([x0, x1], [y0, y1], adjoint) = (p.x, p.y, p.adjoint);
    let Some(pairs) = &p.pairs else {
        let n = if adjoint.y { y0 } else { y1 };
        let rows = into.len() / n.max(1);
        let a = MatRef::row_major(left, rows, x1)?;
        let b = MatRef::row_major(right, y0, y1)?.t_if(adjoint.y);
        return gemm(par, a, b, MatMut::row_major(into, rows, n)?, Epilogue::default());
    };
    let (mut a, mut b) = (scratch::with_capacity(pairs.len()), scratch::with_capacity(pairs.len()));
    for (i, j) in pairs {
        a.push(MatRef::row_major(&left[i * x0 * x1..][..x0 * x1], x0, x1)?.t_if(adjoint.x));
        b.push(MatRef::row_major(&right[j * y0 * y1..][..y0 * y1], y0, y1)?.t_if(adjoint.y));
    }
    batch_gemm(par, &a, &b, into, Epilogue::default())
}

/// The matrices of both batches in each product.
pub fn pairs(x: &Shape, y: &Shape) -> Result<Vec<(usize, usize)>> {
    let plan = BroadcastPlan::new(x, y)?;
    let (row, (dx, dy)) = (plan.row(), plan.row_steps());
    let (mut walk, mut pairs) = (plan.walk(), reserve::with_capacity(plan.shape().elements())?);
    while pairs.len() < plan.shape().elements() {
        let (i, j) = walk.next_offsets();
        pairs.extend((0..row).map(|k| (i + k * dx, j + k * dy)));
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::*;

    #[test]
    fn batches_that_do_not_fit_are_refused() {
        let of = |d: &[usize]| floats(d, &vec![1.0; d.iter().product()]);
        let bad = |op: &str, x: &[usize], y: &[usize]| {
            assert_eq!(code(call(op, &[of(x), of(y)], &[])), Code::InvalidArgument, "{op} {x:?} {y:?}")
        };
        bad("BatchMatMul", &[2, 2, 3], &[1, 3, 3]);
        bad("BatchMatMulV2", &[2, 2, 3], &[3, 3, 3]);
        bad("BatchMatMulV2", &[2, 2, 3], &[2, 4, 3]);
        bad("BatchMatMulV2", &[3], &[3]);
        // A batch of 2^60 products of nothing.
        let (x, y) = (of(&[1 << 30, 1, 0, 3]), of(&[1, 1 << 30, 3, 0]));
        assert!(call("BatchMatMulV2", &[x, y], &[]).is_ok_and(|z| z[0].elements() == 0));
    }

    #[test]
    fn the_adjoint_of_a_complex_matrix_is_conjugated() {
        let i = Tensor::from_slice(Shape::new(&[1, 1]).unwrap(), &[Complex32::I]).unwrap();
        let z = call("BatchMatMulV2", &[i.clone(), i.clone()], &[("adj_x", Attr::Bool(true))]).unwrap();
        assert_eq!(z[0].as_slice::<Complex32>().unwrap(), &[Complex32::ONE]);
    }

    #[test]
    fn bytes_are_multiplied_in_int32() {
        let a = Tensor::from_slice(Shape::new(&[1, 2]).unwrap(), &[100i8, -100]).unwrap();
        let b = Tensor::from_slice(Shape::new(&[2, 1]).unwrap(), &[200u8, 1]).unwrap();
        let z = call("BatchMatMulV3", &[a, b], &[("Tout", Attr::Type(DataType::Int32))]).unwrap();
        assert_eq!(z[0].as_slice::<i32>().unwrap(), &[19900]);
    }
}
