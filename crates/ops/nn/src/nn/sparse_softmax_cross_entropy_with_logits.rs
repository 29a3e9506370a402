//! `SparseSoftmaxCrossEntropyWithLogits`: softmax loss against a class index, with its gradient.

use super::logits::{Logits, RowFloat, loss_gradient, shape_of_loss};
use crate::narrow::in_float;
use crate::prelude::*;

pub static SPARSE_SOFTMAX_CROSS_ENTROPY_WITH_LOGITS: Op = Op {
    name: "SparseSoftmaxCrossEntropyWithLogits",
    doc: "For each row, -log(softmax(features)) of the class in labels, and its gradient by the features.",
    inputs: &["features: T", "labels: Tlabels"],
    outputs: &["loss: T", "backprop: T"],
    attrs: &["T: {half, bfloat16, float, double}", "Tlabels: {int32, int64} = DT_INT64"],
    shape: |c| {
        let (features, labels) = (c.rank(0, 2)?, c.rank(1, 1)?);
        let rows = merge_dim(features.dim(0), labels.dim(0))?;
        shape_of_loss([rows, features.dim(1)].into_iter().collect())
    },
    grad: Rule(|g| Ok(vec![loss_gradient(g)?.into(), Grad::None])),
    kernels: cpu!(run: T in f32, f64; run_narrow: T in f16, bf16),
    cases: |r| vec![Case::new(vec![r.tensor(&[3, 4]), int_vector(&[1, 0, 3])]).without_difference(&[1])],
    expensive: true,
    ..Op::PURE
};

fn run<T: RowFloat>(c: &mut OpCall<'_>) -> Result<()> {
    let (x, y) = (c.shape(0)?, c.shape(1)?);
    let [rows, classes] = *x.dims() else {
        return Err(invalid!("logits must be 2-D, but got shape {x}"));
    };
    if y.rank() != 1 {
        return Err(invalid!("labels must be 1-D, but got shape {y}"));
    }
    if y[0] != rows {
        return Err(invalid!(
            "logits and labels must have the same first dimension, got logits shape {x} and labels shape {y}"
        ));
    }
    if classes == 0 {
        return Err(invalid!("Must have at least one class, but got logits shape {x}"));
    }
    let labels = c.input(1)?.to_i64s()?;
    if let Some(label) = labels.iter().find(|l| !(0..classes as i64).contains(*l)) {
        return Err(invalid!(
            "Received a label value of {label} which is outside the valid range of [0, {classes})"
        ));
    }
    let logits = Logits::<T>::of(c, rows, classes)?;
    let mut loss = Tensor::uninit(T::DTYPE, Shape::vector(rows))?;
    for (i, (label, loss)) in labels.iter().zip(loss.as_mut_slice::<T>()?).enumerate() {
        *loss = logits.log(i, i * classes + *label as usize).neg();
    }
    let mut softmax = logits.softmax;
    let back = softmax.as_mut_slice::<T>()?;
    for (row, label) in back.chunks_exact_mut(classes).zip(&labels) {
        row[*label as usize] = Number::sub(row[*label as usize], <T as Number>::ONE);
    }
    c.set(0, loss);
    c.set(1, softmax);
    Ok(())
}

fn run_narrow<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    in_float::<T>(c, &run::<f32>)
}

#[cfg(test)]
mod tests {
    use crate::testing::*;
    use thalweg_core::error::Code;

    #[test]
    fn a_label_past_the_classes_is_refused() {
        let x = floats(&[2, 3], &[1.0; 6]);
        for labels in [ints(&[2], &[0, 7]), ints(&[2], &[0, -1]), ints(&[1], &[0]), ints(&[2, 1], &[0, 0])] {
            let y = call("SparseSoftmaxCrossEntropyWithLogits", &[x.clone(), labels], &[]);
            assert_eq!(code(y), Code::InvalidArgument);
        }
    }
}
