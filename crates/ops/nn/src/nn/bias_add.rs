//! `BiasAdd`, and the older `BiasAddV1`: a bias for each channel.

use super::channels::channel_axis;
use crate::prelude::*;

pub static BIAS_ADD: Op = Op {
    name: "BiasAdd",
    doc: "value with bias added along its channels: the last dimension, or the second for NCHW.",
    inputs: &["value: T", "bias: T"],
    outputs: &["output: T"],
    attrs: &["T: numbertype", "data_format: {'NHWC', 'NCHW'} = 'NHWC'"],
    shape,
    grad: Rule(grad),
    kernels: cpu!(make prepare: T in f32, f64, i32, i64, f16, bf16, u8, u16, u32, u64, i8, i16, Complex32, ComplexDouble),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 3]), r.tensor(&[3])]),
            Case::new(vec![r.tensor(&[2, 2, 2, 3]), r.tensor(&[3])]),
            Case::new(vec![r.tensor(&[2, 3, 2, 2]), r.tensor(&[3])]).attr("data_format", "NCHW"),
        ]
    },
    epilogue: Some(Epilogue { product: &[0], after_another: false }),
    ..Op::PURE
};

pub static BIAS_ADD_V1: Op = Op {
    name: "BiasAddV1",
    doc: "value with bias added along its last dimension.",
    attrs: &["T: numbertype"],
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3]), r.tensor(&[3])])],
    epilogue: None,
    ..BIAS_ADD
};

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let (value, bias) = (c.rank_at_least(0, 2)?, c.rank(1, 1)?);
    let Some(dims) = value.dims() else { return Ok(vec![value]) };
    let axis = channel_axis(c.attrs, dims.len());
    let channels = merge_dim(dims[axis], bias.dim(0))?;
    Ok(vec![dims.iter().enumerate().map(|(i, d)| if i == axis { channels } else { *d }).collect()])
}

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let dy = g.dy()?;
    let format = g.attrs.get("data_format").cloned().unwrap_or_else(|| Attr::str("NHWC"));
    Ok(vec![dy.into(), g.op("BiasAddGrad", [dy.into()], &[("data_format", format)])?.into()])
}

/// Reshapes the bias to broadcast to the value.
fn prepare<T: Number>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let attrs = node.attrs.clone();
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let (value, bias) = (c.shape(0)?, c.shape(1)?);
        if value.rank() < 2 {
            return Err(invalid!("Input tensor must be at least 2D: {value}"));
        }
        if bias.rank() != 1 {
            return Err(invalid!("Biases must be 1D: {bias}"));
        }
        let axis = channel_axis(&attrs, value.rank());
        if bias[0] != value[axis] {
            return Err(invalid!(
                "Must provide as many biases as the {} dimension of the input tensor: {bias} vs. {value}",
                if axis == 1 && value.rank() > 2 { "channel" } else { "last" }
            ));
        }
        let mut dims = vec![1; value.rank() - axis];
        dims[0] = bias[0];
        let column = c.take(1)?.reshape(Shape::new(&dims)?)?;
        c.inputs[1] = Input::Owned(column);
        binary(c, |x: T, b: T| x.add(b))
    }))
}

#[cfg(test)]
mod tests {
    use crate::testing::*;
    use thalweg_core::error::Code;

    #[test]
    fn a_bias_that_does_not_fit_is_refused() {
        let x = floats(&[2, 3], &[0.0; 6]);
        for (x, bias) in [
            (x.clone(), floats(&[4], &[1.0; 4])),
            (x, floats(&[1, 3], &[1.0; 3])),
            (floats(&[3], &[0.0; 3]), floats(&[3], &[1.0; 3])),
        ] {
            assert_eq!(code(call("BiasAdd", &[x, bias], &[])), Code::InvalidArgument);
        }
    }
}
