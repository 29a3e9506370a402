//! `_FusedDepthwiseConv2dNative`: a depthwise convolution and its epilogue.

use super::stages::Stages;
use crate::nn::conv::{DEPTHWISE_CONV2D_NATIVE, with_windows};
use crate::prelude::*;

pub static FUSED_DEPTHWISE_CONV2D_NATIVE: Op = Op {
    name: "_FusedDepthwiseConv2dNative",
    doc: "DepthwiseConv2dNative and the ops in fused_ops, one after the other.",
    inputs: &["input: T", "filter: T", "args: num_args * T"],
    outputs: &["output: T"],
    attrs: &[
        "T: {half, bfloat16, float, double}",
        "num_args: int >= 0",
        "strides: list(int)",
        "padding: {'SAME', 'VALID'}",
        "data_format: {'NHWC', 'NCHW'} = 'NHWC'",
        "dilations: list(int) = [1, 1, 1, 1]",
        "fused_ops: list(string) = []",
        "epsilon: float = 0.0001",
        "leakyrelu_alpha: float = 0.2",
    ],
    shape: |c| (DEPTHWISE_CONV2D_NATIVE.shape)(c),
    kernels: &[
        cpu_row!([("T", DataType::Float)], Make::Prepared(prepare)),
        cpu_row!([("T", DataType::Double)], Make::Prepared(prepare)),
        cpu_row!([("T", DataType::Half)], Make::Prepared(prepare)),
        cpu_row!([("T", DataType::Bfloat16)], Make::Prepared(prepare)),
    ],
    cases: |r| {
        let inputs = vec![r.tensor(&[2, 5, 4, 3]), r.tensor(&[3, 2, 3, 2]), r.tensor(&[6])];
        let names = Attr::List(vec![Attr::str("BiasAdd"), Attr::str("Relu6")]);
        let case = Case::new(inputs).attr("num_args", 1i64).attr("fused_ops", names);
        vec![with_windows(case, [1, 1], [1, 1], "SAME")]
    },
    expensive: true,
    ..Op::PURE
};

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let same = ["strides", "padding", "data_format", "dilations"];
    Stages::new(node, &DEPTHWISE_CONV2D_NATIVE, &same)?.kernel()
}
