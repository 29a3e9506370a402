//! `SparseMatMul`: a product of matrices that may have many zeros, of floats or bfloat16.

use super::products::product_gradients;
use crate::convert::converted;
use crate::gradients::cast;
use crate::prelude::*;

pub static OPS: &[&Op] = &[&SPARSE_MAT_MUL];

static SPARSE_MAT_MUL: Op = Op {
    name: "SparseMatMul",
    doc: "The matrix product a * b in floats; `a_is_sparse` and `b_is_sparse` are hints, which change no result.",
    inputs: &["a: Ta", "b: Tb"],
    outputs: &["product: float"],
    attrs: &[
        "transpose_a: bool = false",
        "transpose_b: bool = false",
        "a_is_sparse: bool = false",
        "b_is_sparse: bool = false",
        "Ta: {float, bfloat16} = DT_FLOAT",
        "Tb: {float, bfloat16} = DT_FLOAT",
    ],
    shape: super::MAT_MUL.shape,
    grad: Rule(grad),
    kernels: cpu!(make prepare),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[3, 4]), r.tensor(&[4, 2])]).attr("a_is_sparse", true),
            Case::new(vec![r.tensor(&[4, 3]), r.tensor(&[2, 4])])
                .attr("transpose_a", true)
                .attr("transpose_b", true),
        ]
    },
    expensive: true,
    ..Op::PURE
};

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let multiply = super::mat_mul::prepare::<f32>(node)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        for i in 0..2 {
            if c.input(i)?.dtype() != DataType::Float {
                c.inputs[i] = Input::Owned(converted(c.input(i)?, DataType::Float)?);
            }
        }
        multiply.compute(c)
    }))
}

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (a, b) = (g.x[0], g.x[1]);
    let (ta, tb) = (g.attrs.bool("transpose_a")?, g.attrs.bool("transpose_b")?);
    let (da, db) = product_gradients(g, a, b, ta, tb, |g, x, y, tx, ty| {
        let types = [("Ta", Attr::Type(g.graph.dtype(x))), ("Tb", Attr::Type(g.graph.dtype(y)))];
        let [x_type, y_type] = types;
        let attrs = [("transpose_a", Attr::Bool(tx)), ("transpose_b", Attr::Bool(ty)), x_type, y_type];
        g.op("SparseMatMul", [x.into(), y.into()], &attrs)
    })?;
    Ok(vec![cast(g, da, a)?.into(), cast(g, db, b)?.into()])
}
