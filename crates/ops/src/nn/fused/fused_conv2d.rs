//! `_FusedConv2D`: a convolution, and what is done to it.

use super::stages::Stages;
use crate::nn::conv::CONV2D;
use crate::prelude::*;

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
    // Its inputs are two lists, which no example's flat inputs can be dealt out to.
    cases: |_| vec![],
    expensive: true,
    ..Op::PURE
};

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    if node.attrs.str("filter_format")? != "HWIO" || node.attrs.str("data_format")? == "NCHW_VECT_C" {
        return Err(unimplemented("formats of vectors of channels are for other devices"));
    }
    let same = ["strides", "padding", "explicit_paddings", "data_format", "dilations", "use_cudnn_on_gpu"];
    Stages::new(node, &CONV2D, &same)?.kernel()
}
