//! `MatMul`: the product of two matrices, either of which may be transposed.

use super::products::product_gradients;
use crate::prelude::*;
use thalweg_math::gemm::{Epilogue, GemmElement, MatMut, MatRef, gemm};

pub static MAT_MUL: Op = Op {
    name: "MatMul",
    doc: "The matrix product a * b; either operand may be transposed.",
    inputs: &["a: T", "b: T"],
    outputs: &["product: T"],
    attrs: &[
        "transpose_a: bool = false",
        "transpose_b: bool = false",
        "T: {bfloat16, half, float, double, int32, int64, uint8, uint16, uint32, uint64, complex64, complex128}",
        "grad_a: bool = false",
        "grad_b: bool = false",
    ],
    shape,
    grad: Rule(grad),
    kernels: cpu!(make prepare: T in f32, f64, f16, bf16, i32, i64, u8, u16, u32, u64, Complex32, ComplexDouble),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[3, 4]), r.tensor(&[4, 2])]),
            Case::new(vec![r.tensor(&[4, 3]), r.tensor(&[4, 2])]).attr("transpose_a", true),
            Case::new(vec![r.tensor(&[3, 4]), r.tensor(&[2, 4])]).attr("transpose_b", true),
            Case::new(vec![r.tensor(&[4, 3]), r.tensor(&[2, 4])])
                .attr("transpose_a", true)
                .attr("transpose_b", true),
            Case::new(vec![r.tensor(&[2, 0]), r.tensor(&[0, 3])]),
        ]
    },
    expensive: true,
    fused_as: Some("_FusedMatMul"),
    transposed_by: &["transpose_a", "transpose_b"],
    ..Op::PURE
};

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let (a, b) = (c.rank(0, 2)?, c.rank(1, 2)?);
    let (ta, tb) = (c.attrs.bool("transpose_a")? as usize, c.attrs.bool("transpose_b")? as usize);
    merge_dim(a.dim(1 - ta), b.dim(tb))?;
    Ok(vec![[a.dim(ta), b.dim(1 - tb)].into_iter().collect()])
}

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (ta, tb) = (g.attrs.bool("transpose_a")?, g.attrs.bool("transpose_b")?);
    let (a, b) = (crate::gradients::conj_x(g, 0)?, crate::gradients::conj_x(g, 1)?);
    let (da, db) = product_gradients(g, a, b, ta, tb, |g, x, y, tx, ty| {
        g.op(
            "MatMul",
            [x.into(), y.into()],
            &[("transpose_a", Attr::Bool(tx)), ("transpose_b", Attr::Bool(ty))],
        )
    })?;
    Ok(vec![da.into(), db.into()])
}

pub fn prepare<T: Element + GemmElement>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let (ta, tb) = (node.attrs.bool("transpose_a")?, node.attrs.bool("transpose_b")?);
    Ok(Box::new(move |c: &mut OpCall<'_>| run::<T>(c, ta, tb)))
}

fn run<T: Element + GemmElement>(c: &mut OpCall<'_>, ta: bool, tb: bool) -> Result<()> {
    let (a, b) = (c.shape(0)?, c.shape(1)?);
    let ([a0, a1], [b0, b1]) = (a.dims(), b.dims()) else {
        return Err(invalid!("In[0] and In[1] ndims must be == 2: {a} and {b}"));
    };
    if (if ta { a0 } else { a1 }) != (if tb { b1 } else { b0 }) {
        return Err(invalid!(
            "Matrix size-incompatible: In[0]: {a}, In[1]: {b} with transpose_a={ta}, transpose_b={tb}"
        ));
    }
    let left = MatRef::row_major(c.slice::<T>(0)?, *a0, *a1).map_err(super::wrong_size)?.t_if(ta);
    let right = MatRef::row_major(c.slice::<T>(1)?, *b0, *b1).map_err(super::wrong_size)?.t_if(tb);
    let (m, n) = (left.rows(), right.cols());
    let mut out = Tensor::uninit(T::DTYPE, Shape::new(&[m, n])?)?;
    let into = MatMut::row_major(out.as_mut_slice::<T>()?, m, n).map_err(super::wrong_size)?;
    gemm(c.par(), left, right, into, Epilogue::default()).map_err(super::wrong_size)?;
    c.set(0, out);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::testing::*;
    use thalweg_core::error::Code;

    #[test]
    fn matrices_that_do_not_fit_are_refused() {
        let a = floats(&[2, 3], &[1.0; 6]);
        let e = call("MatMul", &[a.clone(), a.clone()], &[]).unwrap_err();
        assert!(e.message().starts_with("Matrix size-incompatible: In[0]: [2,3], In[1]: [2,3]"), "{e}");
        assert_eq!(code(call("MatMul", &[floats(&[2], &[1.0; 2]), a], &[])), Code::InvalidArgument);
    }
}
