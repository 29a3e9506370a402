//! `_FusedConv2D`: a convolution and its epilogue.

use super::epilogue::FusedEpilogue;
use super::stages::Stages;
use crate::nn::conv::{CONV2D, channels_last, convolved};
use crate::prelude::*;
use crate::windows::Sliding;
use thalweg_math::gemm::Epilogue;

pub static FUSED_CONV2D: Op = Op {
    name: "_FusedConv2D",
    doc: "Conv2D and the ops in fused_ops, one after the other.",
    inputs: &["input: T", "filter: T", "args: TArgs", "host_args: num_host_args * float"],
    outputs: &["output: T"],
    attrs: &[
        "T: {half, float, double, int8, qint8}",
        "TArgs: list(type) >= 1",
        "num_args: int >= 0",
        "num_host_args: int = 0",
        "strides: list(int)",
        "padding: {'SAME', 'VALID', 'EXPLICIT'}",
        "explicit_paddings: list(int) = []",
        "data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'",
        "filter_format: {'HWIO', 'OIHW', 'OIHW_VECT_I'} = 'HWIO'",
        "dilations: list(int) = [1, 1, 1, 1]",
        "use_cudnn_on_gpu: bool = true",
        "fused_ops: list(string) = []",
        "epsilon: float = 0.0001",
        "leakyrelu_alpha: float = 0.2",
    ],
    shape: |c| (CONV2D.shape)(c),
    kernels: &[
        cpu_row!([("T", DataType::Float)], Make::Prepared(prepare)),
        cpu_row!([("T", DataType::Double)], Make::Prepared(prepare)),
        cpu_row!([("T", DataType::Half)], Make::Prepared(prepare)),
    ],
    // No cases: they cannot express two list inputs.
    cases: |_| vec![],
    expensive: true,
    ..Op::PURE
};

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    if node.attrs.str("filter_format")? != "HWIO" || node.attrs.str("data_format")? == "NCHW_VECT_C" {
        return Err(unimplemented("formats of vectors of channels are for other devices"));
    }
    let same = ["strides", "padding", "explicit_paddings", "data_format", "dilations", "use_cudnn_on_gpu"];
    let stages = Stages::new(node, &CONV2D, &same)?.kernel()?;
    let Some(after) = FusedEpilogue::read(node)? else { return Ok(stages) };
    let Ok(sliding) = channels_last(Sliding::of(&node.attrs)?) else { return Ok(stages) };
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        // Sums of whole images, and empty or invalid inputs, run op by op.
        let ([_, _, _, outputs], [biases]) = (c.shape(1)?.dims(), c.shape(2)?.dims()) else {
            return stages.compute(c);
        };
        if outputs != biases || !after.broadcasts || c.shape(0)?.elements() == 0 {
            return stages.compute(c);
        }
        let epilogue = Epilogue { accumulate: false, bias: Some(c.slice::<f32>(2)?), relu: after.relu };
        let out = convolved::<f32>(c, &sliding, epilogue)?;
        c.set(0, out);
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use crate::testing::*;
    use thalweg_core::attr::Attr;
    use thalweg_core::dtype::DataType;

    #[test]
    fn a_convolution_with_its_bias_is_as_the_ops_one_by_one() {
        let numbers = |n: usize| -> Vec<f32> { (0..n).map(|i| (i * 7 % 23) as f32 / 11.0 - 1.0).collect() };
        for (images, filter, groups_out) in [([2, 5, 4, 3], [3, 2, 3, 4], 4), ([1, 4, 4, 4], [2, 2, 2, 6], 6)]
        {
            let x = floats(&images, &numbers(images.iter().product()));
            let f = floats(&filter, &numbers(filter.iter().product()));
            let bias = floats(&[groups_out], &numbers(groups_out));
            let sliding = [("strides", Attr::ints(&[1, 1, 1, 1])), ("padding", Attr::str("SAME"))];
            let y = call("Conv2D", &[x.clone(), f.clone()], &sliding).unwrap().remove(0);
            let y = call("BiasAdd", &[y, bias.clone()], &[]).unwrap().remove(0);
            let want = call("Relu", &[y], &[]).unwrap().remove(0);
            let names = Attr::List(vec![Attr::str("BiasAdd"), Attr::str("Relu")]);
            let types = Attr::List(vec![Attr::Type(DataType::Float)]);
            let mut attrs = sliding.to_vec();
            attrs.extend([("fused_ops", names), ("num_args", Attr::Int(1)), ("TArgs", types)]);
            let got = call("_FusedConv2D", &[x, f, bias], &attrs).unwrap().remove(0);
            assert!(got.same_bits(&want), "{got} {want}");
        }
    }
}
