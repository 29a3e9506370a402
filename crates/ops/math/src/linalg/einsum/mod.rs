//! `Einsum`: sums of products by equation. Each operand becomes a batch of matrices (its diagonals taken, axes that only it has
//! summed, the others put in order), and those are multiplied by `gemm`.

mod equation;
mod gradient;
mod operand;

use super::batch_mat_mul::pairs;
use crate::moving::Block;
use crate::prelude::*;
use equation::{Axis, Equation};
use operand::{Contents, Operand, sizes_of};
use thalweg_math::gemm::{Epilogue, MatRef, batch_gemm};

pub static OPS: &[&Op] = &[&EINSUM];

static EINSUM: Op = Op {
    name: "Einsum",
    doc: "Sums of products of one or two tensors, by an equation of their axes; an ellipsis stands for axes that broadcast, which the output must have too.",
    inputs: &["inputs: N * T"],
    outputs: &["output: T"],
    attrs: &["equation: string", "N: int >= 1", "T: type"],
    shape,
    grad: Rule(gradient::grad),
    kernels: cpu!(make prepare: T in f32, f64, f16, bf16, i32, i64, Complex32, ComplexDouble),
    cases: |r| {
        let mut case = |equation: &str, shapes: &[&[usize]]| {
            let inputs: Vec<Tensor> = shapes.iter().map(|s| r.tensor(s)).collect();
            Case::new(inputs).attr("equation", equation).attr("N", shapes.len() as i64)
        };
        vec![
            case("ij,jk->ik", &[&[2, 3], &[3, 4]]),
            case("bij,bkj->kbi", &[&[2, 3, 4], &[2, 5, 4]]),
            case("...ij,...jk->...ik", &[&[2, 1, 2, 3], &[3, 3, 2]]),
            case("ij->ji", &[&[2, 3]]),
            case("ijk->j", &[&[2, 3, 2]]),
            case("iij->ij", &[&[2, 2, 3]]),
            case("i->ii", &[&[3]]),
            case("ii,ij->j", &[&[2, 2], &[2, 3]]),
            case("ij,kl->ijl", &[&[2, 3], &[2, 4]]),
            case("ij,ij->ij", &[&[2, 3], &[2, 3]]),
            case("...i->...", &[&[2, 3, 2]]),
            case("b...i,...->i...b", &[&[2, 3, 4], &[3]]),
        ]
    },
    expensive: true,
    ..Op::PURE
};

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let equation = Equation::of(c.attrs)?;
    let mut known: Vec<(Axis, i64)> = Vec::new();
    let mut hidden = Some(0);
    for (i, term) in equation.inputs.iter().enumerate() {
        let x = c.input(i);
        let Some(dims) = x.dims() else {
            hidden = hidden.filter(|_| !term.has_ellipsis());
            continue;
        };
        let axes = term.axes(dims.len(), i)?;
        hidden = hidden.map(|h: usize| h.max(dims.len() - term.labels().count()));
        for (axis, size) in axes.into_iter().zip(dims) {
            let Some((_, old)) = known.iter_mut().find(|(a, _)| *a == axis) else {
                reserve::push(&mut known, (axis, *size))?;
                continue;
            };
            *old = match (axis, *old, *size) {
                (Axis::Label(_), a, b) => merge_dim(a, b)?,
                (_, 1, d) | (_, d, 1) => d,
                (_, -1, d) | (_, d, -1) => d,
                (_, a, b) => merge_dim(a, b)?,
            };
        }
    }
    let Some(hidden) = hidden.or((!equation.output.has_ellipsis()).then_some(0)) else {
        return Ok(vec![PartialShape::unknown()]);
    };
    let size = |axis: &Axis| known.iter().find(|(a, _)| a == axis).map_or(-1, |(_, size)| *size);
    let dims: Vec<i64> = reserve::collect(equation.output.with_hidden(hidden)?.iter().map(size))?;
    Ok(vec![PartialShape::new(&dims)?])
}

fn prepare<T: Contents>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let equation = Equation::of(&node.attrs)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| run::<T>(c, &equation)))
}

fn run<T: Contents>(c: &mut OpCall<'_>, equation: &Equation) -> Result<()> {
    let mut operands = Vec::new();
    let mut hidden = 0;
    for (i, term) in equation.inputs.iter().enumerate() {
        let axes = term.axes(c.shape(i)?.rank(), i)?;
        hidden = hidden.max(axes.iter().filter(|a| matches!(a, Axis::Ellipsis(_))).count());
        reserve::push(&mut operands, Operand::new(c.input(i)?.clone(), &axes)?)?;
    }
    if hidden > 0 && !equation.output.has_ellipsis() {
        return Err(invalid!(
            "Output contains {hidden} broadcasting dimension(s) but no ellipsis (...) was found in the output subscripts."
        ));
    }
    let sizes = sizes_of(&operands)?;
    let axes = equation.output.with_hidden(hidden)?;
    let mut kept = Vec::new();
    for axis in &axes {
        if !kept.contains(axis) {
            reserve::push(&mut kept, *axis)?;
        }
    }
    let (result, order) = match operands.as_slice() {
        [one] => (one.summed_to::<T>(c.par(), &kept)?, kept),
        [a, b] => multiply::<T>(c, a, b, &kept)?,
        _ => return Err(internal("an equation has one or two operands")),
    };
    let size = |axis: &Axis| sizes.iter().find(|(a, _)| a == axis).map_or(1, |(_, size)| *size);
    let dims: Vec<usize> = reserve::collect(axes.iter().map(size))?;
    let out = spread(c, result, &order, &axes, Shape::new(&dims)?)?;
    c.set(0, out);
    Ok(())
}

/// The axes of two operands by their roles, and the product in the order `batch, left, right`.
fn multiply<T: Contents>(
    c: &OpCall<'_>,
    a: &Operand,
    b: &Operand,
    kept: &[Axis],
) -> Result<(Tensor, Vec<Axis>)> {
    // An ellipsis' axis is of both operands, of size 1 in the one that does not have it.
    let shared = |axis: &Axis| match axis {
        Axis::Label(_) => a.size(axis).is_some() && b.size(axis).is_some(),
        Axis::Ellipsis(_) => true,
    };
    let every: Vec<Axis> = reserve::collect(a.axes().chain(b.axes()))?;
    let unique = |wanted: &dyn Fn(&Axis) -> bool| -> Result<Vec<Axis>> {
        let mut found = Vec::new();
        for axis in every.iter().filter(|x| wanted(x)) {
            if !found.contains(axis) {
                reserve::push(&mut found, *axis)?;
            }
        }
        Ok(found)
    };
    let batch = unique(&|x| shared(x) && kept.contains(x))?;
    let inner = unique(&|x| shared(x) && !kept.contains(x))?;
    let free = |of: &Operand| unique(&|x| !shared(x) && kept.contains(x) && of.size(x).is_some());
    let (left, right) = (free(a)?, free(b)?);
    let (x, x_turned) = a.matrices::<T>(c.par(), &batch, &left, &inner)?;
    let (y, y_turned) = b.matrices::<T>(c.par(), &batch, &inner, &right)?;
    let count = |of: &Operand, axes: &[Axis]| axes.iter().map(|a| of.size(a).unwrap_or(1)).product::<usize>();
    let (m, k, n) = (count(a, &left), count(a, &inner), count(b, &right));
    let dims_of = |of: &Operand| reserve::collect(batch.iter().map(|axis| of.size(axis).unwrap_or(1)));
    let (batch_x, batch_y) = (Shape::new(&dims_of(a)?)?, Shape::new(&dims_of(b)?)?);
    let both = crate::broadcast::broadcast_shape(&batch_x, &batch_y)?;
    let mut out = Tensor::uninit(T::DTYPE, super::matrices::joined(&both, &[m, n])?)?;
    if out.elements() > 0 {
        let pairs = pairs(&batch_x, &batch_y)?;
        let (x, y, into) = (x.as_slice::<T>()?, y.as_slice::<T>()?, out.as_mut_slice::<T>()?);
        if m == 1 && n == 1 && k == 1 {
            for (out, (i, j)) in into.iter_mut().zip(&pairs) {
                *out = x[*i].mul(y[*j]);
            }
        } else {
            let (mut lefts, mut rights) =
                (reserve::with_capacity(pairs.len())?, reserve::with_capacity(pairs.len())?);
            let of = |data, rows, cols, turned: bool| match turned {
                true => MatRef::row_major(data, cols, rows).map(MatRef::t),
                false => MatRef::row_major(data, rows, cols),
            };
            for (i, j) in &pairs {
                lefts.push(of(&x[i * m * k..][..m * k], m, k, x_turned).map_err(super::wrong_size)?);
                rights.push(of(&y[j * k * n..][..k * n], k, n, y_turned).map_err(super::wrong_size)?);
            }
            batch_gemm(c.par(), &lefts, &rights, into, Epilogue::default()).map_err(super::wrong_size)?;
        }
    }
    let order: Vec<Axis> = reserve::collect(batch.into_iter().chain(left).chain(right))?;
    Ok((out, order))
}

/// The result with its axes in the order of the output; an axis that is there twice makes a diagonal, zeros elsewhere.
fn spread(c: &OpCall<'_>, x: Tensor, order: &[Axis], axes: &[Axis], shape: Shape) -> Result<Tensor> {
    if order == axes {
        return x.reshape(shape);
    }
    let mut out = match order.len() == axes.len() {
        true => Tensor::uninit(x.dtype(), shape.clone())?,
        false => Tensor::zeros(x.dtype(), shape.clone())?,
    };
    if x.elements() == 0 {
        return Ok(out);
    }
    let strides = shape.strides();
    let mut from = x.elements() as isize;
    let mut block = Block::at(0, 0);
    for axis in order {
        let places = || axes.iter().zip(shape.iter().zip(&strides)).filter(|(a, _)| *a == axis);
        let size = places().next().map_or(1, |(_, (size, _))| *size);
        from /= size.max(1) as isize;
        block = block.dim(size, from, places().map(|(_, (_, stride))| *stride as isize).sum());
    }
    block.copy(c.par(), &x, &mut out)?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::*;

    fn einsum(equation: &str, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        let attrs = [("equation", Attr::from(equation)), ("N", Attr::Int(inputs.len() as i64))];
        call("Einsum", inputs, &attrs)
    }

    #[test]
    fn equations_that_do_not_fit_are_refused() {
        let x = || floats(&[2, 3], &[1.0; 6]);
        for (equation, inputs) in [
            ("ij,ij->k", vec![x(), x()]),
            ("...i,j->k", vec![x(), x()]),
            ("ijk->i", vec![x()]),
            ("ii->i", vec![x()]),
            ("ij,jk->ik", vec![x(), x()]),
            ("...ijk->i", vec![x()]),
            ("...,...->...", vec![x(), floats(&[2, 2], &[1.0; 4])]),
        ] {
            assert_eq!(code(einsum(equation, &inputs)), Code::InvalidArgument, "{equation}");
        }
    }

    #[test]
    fn axes_of_an_ellipsis_broadcast_and_are_not_summed() {
        let a = floats(&[1, 2], &[1.0, 2.0]);
        let b = floats(&[3, 1], &[1.0, 10.0, 100.0]);
        let got = einsum("...,...->...", &[a.clone(), b.clone()]).unwrap();
        assert_eq!(got[0].as_slice::<f32>().unwrap(), &[1.0, 2.0, 10.0, 20.0, 100.0, 200.0]);
        assert_eq!(code(einsum("...,...->", &[a, b])), Code::InvalidArgument);
    }

    #[test]
    fn axes_without_elements_sum_to_zero() {
        let got = einsum("ij,jk->ik", &[floats(&[2, 0], &[]), floats(&[0, 1], &[])]).unwrap();
        assert_eq!(got[0].as_slice::<f32>().unwrap(), &[0.0; 2]);
    }
}
