//! `Pad`, `PadV2`: padding with one value around a tensor.

use crate::moving::{Block, filled};
use crate::paddings::{padded_shape, padded_size, paddings_input};
use crate::prelude::*;

pub static PAD: Op = Op {
    name: "Pad",
    doc: "The input with zeros before and after it along each dimension.",
    inputs: &["input: T", "paddings: Tpaddings"],
    outputs: &["output: T"],
    attrs: &["T: type", "Tpaddings: {int32, int64} = DT_INT32"],
    shape: |c| Ok(vec![padded_shape(c, 1)?]),
    grad: Rule(grad),
    kernels: cpu!(run),
    cases: |r| {
        let paddings = |v: &[i32]| Tensor::from_slice(Shape::new(&[v.len() / 2, 2])?, v);
        let case = |x: Tensor, v: &[i32]| paddings(v).map(|p| Case::new(vec![x, p])).ok();
        [
            case(r.tensor(&[2, 3]), &[1, 0, 0, 2]),
            case(r.tensor(&[0, 2]), &[1, 1, 0, 0]),
            case(r.tensor(&[]), &[]),
        ]
        .into_iter()
        .flatten()
        .collect()
    },
    host_inputs: &["paddings"],
    ..Op::PURE
};

pub static PAD_V2: Op = Op {
    name: "PadV2",
    doc: "The input with `constant_values` before and after it along each dimension.",
    inputs: &["input: T", "paddings: Tpaddings", "constant_values: T"],
    shape: |c| {
        c.scalar(2)?;
        Ok(vec![padded_shape(c, 1)?])
    },
    cases: |r| {
        let mut cases = (PAD.cases)(r);
        cases.iter_mut().for_each(|c| {
            c.inputs.push(Tensor::scalar(7f32));
            c.no_difference = vec![2];
        });
        cases
    },
    host_inputs: &["paddings", "constant_values"],
    ..PAD
};

/// The gradient without the padding. As in TensorFlow, the padding value has none.
fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (x, paddings, dy) = (g.x[0], g.x[1], g.dy()?);
    let index = [("out_type", g.graph.dtype(paddings).into())];
    let size = g.op("Shape", [x.into()], &index)?;
    let columns = g.ops("Unpack", [paddings.into()], &[("num", 2.into()), ("axis", 1.into())])?;
    let dx = g.op("Slice", [dy.into(), columns[0].into(), size.into()], &[])?;
    let mut grads = vec![Grad::None; g.x.len()];
    grads[0] = dx.into();
    Ok(grads)
}

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let x = c.input(0)?;
    let value = if c.inputs.len() > 2 { Some(c.input(2)?) } else { None };
    if let Some(v) = value.filter(|v| v.rank() != 0) {
        return Err(invalid!("constant_values must be a scalar, got shape {}", v.shape()));
    }
    let paddings = paddings_input(c, 1, x.rank())?;
    let dims: Result<Vec<usize>> =
        x.shape().iter().zip(&paddings).map(|(n, (b, a))| padded_size(*n, *b, *a)).collect();
    let mut out = filled(c.par(), x.dtype(), Shape::new(&dims?)?, value)?;
    let start = paddings.iter().zip(out.shape().strides()).map(|(p, s)| p.0 * s).sum();
    let block = Block::at(0, start).part(x.shape(), x.shape(), out.shape());
    block.copy(c.par(), x, &mut out)?;
    c.set(0, out);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, floats, ints};

    #[test]
    fn negative_or_misshapen_paddings_are_refused() {
        let x = floats(&[2], &[1.0, 2.0]);
        for p in
            [ints(&[1, 2], &[-1, 0]), ints(&[2], &[0, 0]), ints(&[2, 2], &[0; 4]), ints(&[2, 1], &[0; 2])]
        {
            assert_eq!(code(call("Pad", &[x.clone(), p], &[])), Code::InvalidArgument);
        }
        let text = |x: Tensor, p: Tensor| call("Pad", &[x, p], &[]).unwrap_err().to_string();
        let rank = text(floats(&[], &[1.0]), ints(&[1, 2], &[0; 2]));
        assert!(
            rank.contains("The first dimension of paddings must be the rank of inputs[1,2] []"),
            "{rank}"
        );
        let columns = text(x.clone(), ints(&[2], &[0, 0]));
        assert!(columns.contains("paddings must be a matrix with 2 columns: [2]"), "{columns}");
        let huge = Tensor::from_slice(Shape::new(&[1, 2]).unwrap(), &[i64::MAX, i64::MAX]).unwrap();
        assert_eq!(code(call("Pad", &[x, huge], &[])), Code::InvalidArgument);
    }
}
