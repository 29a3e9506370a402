//! `NthElement`: the n-th element in sorted order of each row.

use crate::elementwise::for_chunks_of;
use crate::gradients::cast;
use crate::prelude::*;

pub static NTH_ELEMENT: Op = Op {
    name: "NthElement",
    doc: "For each row along the last dimension, its n-th smallest element, or n-th largest if reversed, from 0.",
    inputs: &["input: T", "n: int32"],
    outputs: &["values: T"],
    attrs: &["reverse: bool = false", "T: realnumbertype"],
    shape,
    grad: Rule(grad),
    kernels: cpu!(make prepare: T in f32, f64, i32, i64, f16, bf16, u8, u16, u32, u64, i8, i16),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 5]), Tensor::scalar(1i32)]),
            Case::new(vec![r.tensor(&[4]), Tensor::scalar(0i32)]).attr("reverse", true),
        ]
    },
    host_inputs: &["n"],
    ..Op::PURE
};

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    c.scalar(1)?;
    let input = c.rank_at_least(0, 1)?;
    let Some((last, outer)) = input.dims().and_then(|d| d.split_last()) else {
        return Ok(vec![PartialShape::unknown()]);
    };
    if let Some(n) = c.ints(1).and_then(|n| n.first().copied())
        && *last >= 0
        && !(0..*last).contains(&n)
    {
        return Err(invalid!("Input must have last dimension > n = {n} but is {last}"));
    }
    Ok(vec![outer.iter().copied().collect()])
}

/// The gradient flows to the element selected, equally on ties.
fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (x, y, dy) = (g.x[0], g.y[0], g.dy()?);
    let last = g.constant(Tensor::scalar(-1i32))?;
    let (y, column) = (g.binary("ExpandDims", y, last)?, g.binary("ExpandDims", dy, last)?);
    let taken = g.binary("Equal", y, x)?;
    let taken = cast(g, taken, dy)?;
    let count = g.op("Sum", [taken.into(), last.into()], &[("keep_dims", Attr::Bool(true))])?;
    let share = g.binary("RealDiv", taken, count)?;
    Ok(vec![g.binary("Mul", share, column)?.into(), Grad::None])
}

fn prepare<T: Real>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let reverse = node.attrs.bool("reverse")?;
    Ok(Box::new(move |c: &mut OpCall<'_>| run::<T>(c, reverse)))
}

fn run<T: Real>(c: &mut OpCall<'_>, reverse: bool) -> Result<()> {
    let (n, shape) = (c.scalar_int(1)?, c.shape(0)?);
    let Some((width, outer)) = shape.split_last() else {
        return Err(invalid!("Input must be at least rank 1 but is rank 0"));
    };
    let Ok(n) = usize::try_from(n) else { return Err(invalid!("n must be non-negative but is {n}")) };
    if n >= *width {
        return Err(invalid!("Input must have last dimension > n = {n}, got {width}"));
    }
    let mut out = Tensor::uninit(T::DTYPE, Shape::new(outer)?)?;
    let x = c.slice::<T>(0)?;
    for_chunks_of(c.par(), out.as_mut_slice::<T>()?, 1, (1 << 14) / width + 1, &|rows, out| {
        for (row, out) in rows.zip(out) {
            let values = &x[row * width..][..*width];
            let at = if reverse { width - 1 - n } else { n };
            *out = values[place_of_nth(scratch::collect(values.iter().map(|x| x.rank()).zip(0..)), at)];
        }
    });
    c.set(0, out);
    Ok(())
}

/// The index of the n-th element in sorted order, NaN last.
fn place_of_nth(mut ranked: Vec<(u64, usize)>, n: usize) -> usize {
    ranked.select_nth_unstable(n).1.1
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::*;

    #[test]
    fn n_must_be_in_the_row() {
        for n in [-1, 3] {
            let y = call("NthElement", &[floats(&[3], &[5.0, 1.0, 3.0]), Tensor::scalar(n)], &[]);
            assert_eq!(code(y), Code::InvalidArgument);
        }
    }
}
