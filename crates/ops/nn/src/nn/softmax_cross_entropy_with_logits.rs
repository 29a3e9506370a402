//! `SoftmaxCrossEntropyWithLogits`: softmax loss against a distribution, with its gradient.

use super::logits::{Logits, RowFloat, as_matrix, loss_gradient, shape_of_loss};
use crate::broadcast::broadcast_shape;
use crate::gradients::broadcast_pair;
use crate::narrow::in_float;
use crate::prelude::*;
use thalweg_core::shape_call::broadcast_shapes;

pub static SOFTMAX_CROSS_ENTROPY_WITH_LOGITS: Op = Op {
    name: "SoftmaxCrossEntropyWithLogits",
    doc: "For each row, -sum(labels * log(softmax(features))), and its gradient by the features; rows and columns broadcast.",
    inputs: &["features: T", "labels: T"],
    outputs: &["loss: T", "backprop: T"],
    attrs: &["T: {half, bfloat16, float, double}"],
    shape: |c| {
        let both = broadcast_shapes(&c.input(0), &c.input(1))?;
        shape_of_loss(both)
    },
    grad: Rule(grad),
    kernels: cpu!(run: T in f32, f64; run_narrow: T in f16, bf16),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[3, 4]), distributions(r, 3, 4)]),
            Case::new(vec![r.tensor(&[2, 3]), distributions(r, 1, 3)]),
        ]
    },
    expensive: true,
    ..Op::PURE
};

/// Labels whose rows sum to 1, as the gradient assumes.
fn distributions(r: &mut CaseGen, rows: usize, classes: usize) -> Tensor {
    let mut labels = r.positive(&[rows, classes]);
    for row in labels.as_mut_slice::<f32>().into_iter().flat_map(|v| v.chunks_mut(classes)) {
        let sum: f32 = row.iter().sum();
        row.iter_mut().for_each(|v| *v /= sum);
    }
    labels
}

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (features, dx) = (g.x[0], loss_gradient(g)?);
    let log = g.unary("LogSoftmax", features)?;
    let minus = g.unary("Neg", log)?;
    let (dloss, last) = (g.dy_or_zeros(0)?, g.constant(Tensor::scalar(-1i32))?);
    let column = g.binary("ExpandDims", dloss, last)?;
    let mut dy = g.binary("Mul", column, minus)?;
    // The second output is softmax - labels.
    if let Some(dback) = g.dy.get(1).copied().flatten() {
        dy = g.binary("Sub", dy, dback)?;
    }
    broadcast_pair(g, dx, dy)
}

fn run<T: RowFloat>(c: &mut OpCall<'_>) -> Result<()> {
    let (x, y) = (c.shape(0)?, c.shape(1)?);
    let both = broadcast_shape(x, y)
        .map_err(|_| invalid!("logits and labels must be broadcastable: logits_size={x} labels_size={y}"))?;
    let ([rows, classes], Some((label_rows, label_classes))) = (both.dims(), as_matrix(y)) else {
        return Err(invalid!(
            "logits and labels must be 2-dimensional, got logits shape {x} and labels shape {y}"
        ));
    };
    let (row_step, step) = (if label_rows == 1 { 0 } else { label_classes }, (label_classes != 1) as usize);
    let labels = c.slice::<T>(1)?;
    let logits = Logits::<T>::of(c, *rows, *classes)?;
    let mut loss = Tensor::zeros(T::DTYPE, Shape::vector(*rows))?;
    let label = |i: usize, j: usize| labels[i * row_step + j * step];
    for (i, loss) in loss.as_mut_slice::<T>()?.iter_mut().enumerate() {
        let terms = (0..*classes).map(|j| label(i, j).to_f64() * logits.log(i, i * classes + j).to_f64());
        *loss = T::from_f64(-terms.sum::<f64>());
    }
    let mut softmax = logits.softmax;
    for (i, row) in softmax.as_mut_slice::<T>()?.chunks_exact_mut((*classes).max(1)).enumerate() {
        row.iter_mut().enumerate().for_each(|(j, back)| *back = Number::sub(*back, label(i, j)));
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
    fn labels_of_one_row_or_column_serve_all() {
        let x = floats(&[2, 3], &[1.0; 6]);
        for labels in [floats(&[1, 3], &[1.0; 3]), floats(&[2, 1], &[1.0; 2]), floats(&[3], &[1.0; 3])] {
            let y = call("SoftmaxCrossEntropyWithLogits", &[x.clone(), labels], &[]).unwrap();
            for v in y[0].as_slice::<f32>().unwrap() {
                assert!((v - 3.295837).abs() < 1e-5);
            }
            for v in y[1].as_slice::<f32>().unwrap() {
                assert!((v + 2.0 / 3.0).abs() < 1e-6);
            }
        }
        let nothing = |rows: usize| floats(&[rows, 0], &[]);
        let many = call("SoftmaxCrossEntropyWithLogits", &[nothing(1 << 50), nothing(1 << 50)], &[]);
        assert_eq!(code(many), Code::ResourceExhausted);
        let side = vec![0.0; 1 << 22];
        let sides = [floats(&[1 << 22, 1], &side), floats(&[1, 1 << 22], &side)];
        assert_eq!(code(call("SoftmaxCrossEntropyWithLogits", &sides, &[])), Code::ResourceExhausted);
        let bad = call("SoftmaxCrossEntropyWithLogits", &[x, floats(&[3, 3], &[1.0; 9])], &[]);
        assert_eq!(code(bad), Code::InvalidArgument);
        let vector = floats(&[3], &[1.0; 3]);
        let bad = call("SoftmaxCrossEntropyWithLogits", &[vector.clone(), vector], &[]);
        assert_eq!(code(bad), Code::InvalidArgument);
    }
}
