//! `_FusedMatMul`: a product of matrices and its epilogue.

use super::epilogue::FusedEpilogue;
use super::stages::Stages;
use crate::prelude::*;
use thalweg_math::gemm::{Epilogue, MatMut, MatRef, gemm, is_single_k_block};
use thalweg_ops_math::linalg::{MAT_MUL, wrong_size};

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
    let stages = Stages::new(node, &MAT_MUL, &["transpose_a", "transpose_b"])?.kernel()?;
    let Some(epilogue) = FusedEpilogue::read(node)? else { return Ok(stages) };
    let (ta, tb) = (node.attrs.bool("transpose_a")?, node.attrs.bool("transpose_b")?);
    Ok(Box::new(move |c: &mut OpCall<'_>| match in_one_pass(c, ta, tb, &epilogue)? {
        Some(out) => {
            c.set(0, out);
            Ok(())
        }
        None => stages.compute(c),
    }))
}

/// The product with its bias or sum and ReLU in one pass, if gemm's epilogue supports the shapes.
fn in_one_pass(c: &mut OpCall<'_>, ta: bool, tb: bool, after: &FusedEpilogue) -> Result<Option<Tensor>> {
    let ([a0, a1], [b0, b1]) = (c.shape(0)?.dims(), c.shape(1)?.dims()) else { return Ok(None) };
    let ((m, k), (k_too, n)) =
        (if ta { (*a1, *a0) } else { (*a0, *a1) }, if tb { (*b1, *b0) } else { (*b0, *b1) });
    if k != k_too {
        return Ok(None);
    }
    let whole = Shape::new(&[m, n])?;
    let (mut out, mut bias, mut accumulate) = (None, false, false);
    if c.inputs.len() > 2 {
        match c.shape(2)?.dims() {
            [len] if *len == n && after.broadcasts => bias = true,
            _ if after.whole && is_single_k_block(k) => match c.reuse(2, DataType::Float, &whole) {
                Some(sum) => (out, accumulate) = (Some(sum), true),
                None => return Ok(None),
            },
            _ => return Ok(None),
        }
    }
    let mut out = match out {
        Some(out) => out,
        None => Tensor::uninit(DataType::Float, whole)?,
    };
    let view = |i: usize, t: bool| -> Result<MatRef<'_, f32>> {
        let [rows, cols] = c.shape(i)?.dims() else { return Err(internal("a matrix that is none")) };
        Ok(MatRef::row_major(c.slice::<f32>(i)?, *rows, *cols).map_err(wrong_size)?.t_if(t))
    };
    let bias = if bias { Some(c.slice::<f32>(2)?) } else { None };
    let into = MatMut::row_major(out.as_mut_slice::<f32>()?, m, n).map_err(wrong_size)?;
    gemm(c.par(), view(0, ta)?, view(1, tb)?, into, Epilogue { accumulate, bias, relu: after.relu })
        .map_err(wrong_size)?;
    Ok(Some(out))
}

#[cfg(test)]
mod tests {
    use crate::testing::*;
    use thalweg_core::attr::Attr;
    use thalweg_core::direct;
    use thalweg_core::registry::Registry;
    use thalweg_core::tensor::Tensor;

    fn fused(names: &[&str], inputs: &[Tensor]) -> Vec<f32> {
        let names = Attr::List(names.iter().map(|n| Attr::str(n)).collect());
        let attrs = [("num_args", Attr::Int(inputs.len() as i64 - 2)), ("fused_ops", names)];
        call("_FusedMatMul", inputs, &attrs).unwrap()[0].as_slice::<f32>().unwrap().to_vec()
    }

    /// A bias of the product's shape was added elementwise if its buffer could be reused.
    #[test]
    fn a_bias_is_a_vector() {
        let inputs =
            vec![floats(&[2, 1], &[1.0, 2.0]), floats(&[1, 2], &[1.0, 2.0]), floats(&[2, 2], &[1.0; 4])];
        let names = Attr::List(vec![Attr::str("BiasAdd")]);
        let attrs = [("num_args", Attr::Int(1)), ("fused_ops", names)].into_iter().collect();
        // The kernel owns its inputs.
        let e =
            direct::call(crate::testing::registry(), &step(1), "_FusedMatMul", inputs, attrs).unwrap_err();
        assert!(e.message().contains("Biases must be 1D"), "{e}");
    }

    /// One call of an op of another group of families.
    fn call_math(op: &str, inputs: Vec<Tensor>, attrs: &[(&'static str, Attr)]) -> Tensor {
        let registry = Registry::new(thalweg_ops_math::ALL);
        direct::call(&registry, &step(1), op, inputs, attrs.iter().cloned().collect()).unwrap().remove(0)
    }

    #[test]
    fn sums_of_all_shapes_are_as_those_of_separate_ops() {
        let (a, b) = (
            floats(&[2, 3], &[1.0, -2.0, 3.0, 0.5, 4.0, -1.0]),
            floats(&[3, 2], &[2.0, 1.0, 0.0, -1.0, 1.0, 3.0]),
        );
        let product = call_math("MatMul", vec![a.clone(), b.clone()], &[]);
        for (name, shape) in [
            ("BiasAdd", &[2][..]),
            ("AddV2", &[2]),
            ("AddV2", &[2, 2]),
            ("AddV2", &[2, 1]),
            ("AddV2", &[]),
            ("AddN", &[2, 2]),
        ] {
            let values: Vec<f32> = (0..shape.iter().product()).map(|i| i as f32 - 7.5).collect();
            let added = floats(shape, &values);
            let inputs = vec![product.clone(), added.clone()];
            let attrs = if name == "AddN" { vec![("N", Attr::Int(2))] } else { vec![] };
            let sum = match name {
                "BiasAdd" => call(name, &inputs, &attrs).unwrap().remove(0),
                _ => call_math(name, inputs, &attrs),
            };
            let relu = call("Relu", &[sum.clone()], &[]).unwrap().remove(0);
            let all = [a.clone(), b.clone(), added];
            assert_eq!(fused(&[name], &all), sum.as_slice::<f32>().unwrap(), "{name} {shape:?}");
            assert_eq!(fused(&[name, "Relu"], &all), relu.as_slice::<f32>().unwrap(), "{name} {shape:?}");
        }
    }

    #[test]
    fn a_vector_is_not_one_of_n_matrices() {
        let names = Attr::List(vec![Attr::str("AddN")]);
        let inputs = [floats(&[2, 2], &[1.0; 4]), floats(&[2, 2], &[1.0; 4]), floats(&[2], &[1.0; 2])];
        assert!(call("_FusedMatMul", &inputs, &[("num_args", Attr::Int(1)), ("fused_ops", names)]).is_err());
    }
}
