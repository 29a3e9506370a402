//! `Sum` over axes.

use super::axes::{cases, reduced, reduction, spread_dy};
use crate::prelude::*;
use thalweg_math::reduce;

pub static SUM: Op = Op {
    name: "Sum",
    doc: "The sum over the axes named.",
    inputs: &["input: T", "reduction_indices: Tidx"],
    outputs: &["output: T"],
    attrs: &["keep_dims: bool = false", "T: numbertype", "Tidx: {int32, int64} = DT_INT32"],
    shape: reduced,
    grad: Rule(|g| Ok(vec![spread_dy(g)?.into(), Grad::None])),
    kernels: cpu!(make prepare: T in f32, f64, i32, i64, f16, bf16, u8, u16, u32, u64, i8, i16, Complex32, ComplexDouble),
    cases,
    host_inputs: &["reduction_indices"],
    identity_if_same_shape: true,
    ..Op::PURE
};

fn prepare<T: Element + reduce::Element<Acc: reduce::Number>>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    reduction::<T, _>(node, |_| reduce::Sum)
}

#[cfg(test)]
mod tests {
    use crate::testing::{call, floats, ints};

    /// As TensorFlow does it; and a plan that leaves such a sum out gives the same.
    #[test]
    fn a_sum_of_one_each_is_that_one_with_its_sign() {
        let x = floats(&[2, 1], &[-0.0, 3.0]);
        for (op, axes) in [("Sum", &[][..]), ("Sum", &[1]), ("Mean", &[1]), ("Prod", &[1])] {
            let y = call(op, &[x.clone(), ints(&[axes.len()], axes)], &[]).unwrap().remove(0);
            let values = y.as_slice::<f32>().unwrap();
            assert!(values[0].is_sign_negative() && values[1] == 3.0, "{op} over {axes:?}: {values:?}");
        }
        let all = call("Sum", &[x, ints(&[1], &[0])], &[]).unwrap().remove(0);
        assert_eq!(all.as_slice::<f32>().unwrap(), [3.0]);
    }
}
