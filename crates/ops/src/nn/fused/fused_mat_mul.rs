//! `_FusedMatMul`: a product of matrices, and what is done to it.

use super::stages::Stages;
use crate::linalg::MAT_MUL;
use crate::prelude::*;

pub static FUSED_MAT_MUL: Op = Op {
    name: "_FusedMatMul",
    doc: "MatMul and the ops in fused_ops, one after the other.",
    inputs: &["a: T", "b: T", "args: num_args * T"],
    outputs: &["product: T"],
    attrs: &[
        "transpose_a: bool = false",
        "transpose_b: bool = false",
        "T: {bfloat16, half, float}",
        "num_args: int >= 0",
        "fused_ops: list(string) = []",
        "epsilon: float = 0.0001",
        "leakyrelu_alpha: float = 0.2",
    ],
    shape: |c| (MAT_MUL.shape)(c),
    kernels: &[
        cpu_row!([("T", DataType::Float)], Make::Prepared(prepare)),
        cpu_row!([("T", DataType::Half)], Make::Prepared(prepare)),
        cpu_row!([("T", DataType::Bfloat16)], Make::Prepared(prepare)),
    ],
    cases: |r| {
        let mut case = |names: &[&str], args: usize| {
            let mut inputs = vec![r.tensor(&[3, 4]), r.tensor(&[4, 2])];
            inputs.extend((0..args).map(|_| r.tensor(&[2])));
            let names = Attr::List(names.iter().map(|n| Attr::str(n)).collect());
            Case::new(inputs).attr("num_args", args as i64).attr("fused_ops", names)
        };
        vec![case(&["BiasAdd"], 1), case(&["BiasAdd", "Relu"], 1)]
    },
    expensive: true,
    ..Op::PURE
};

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    Stages::new(node, &MAT_MUL, &["transpose_a", "transpose_b"])?.kernel()
}
