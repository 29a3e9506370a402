//! `InTopK` and `InTopKV2`: whether the target is among the top predictions.

use crate::prelude::*;

pub static IN_TOP_K: Op = Op {
    name: "InTopK",
    doc: "For each row, whether fewer than k predictions are larger than that of the target. False if the target is not a class, or a prediction is not finite.",
    inputs: &["predictions: float", "targets: T"],
    outputs: &["precision: bool"],
    attrs: &["k: int", "T: {int32, int64} = DT_INT32"],
    shape,
    grad: Stops,
    kernels: cpu!(make prepare),
    cases: |r| vec![Case::new(vec![r.tensor(&[3, 4]), int_vector(&[0, 3, 9])]).attr("k", 2i64)],
    ..Op::PURE
};

pub static IN_TOP_K_V2: Op = Op {
    name: "InTopKV2",
    inputs: &["predictions: float", "targets: T", "k: T"],
    attrs: &["T: {int32, int64} = DT_INT32"],
    shape: |c| {
        c.scalar(2)?;
        shape(c)
    },
    kernels: cpu!(run_v2),
    cases: |r| vec![Case::new(vec![r.tensor(&[3, 4]), int_vector(&[0, 3, -1]), Tensor::scalar(2i32)])],
    ..IN_TOP_K
};

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let (predictions, targets) = (c.rank(0, 2)?, c.rank(1, 1)?);
    Ok(vec![PartialShape::vector(merge_dim(predictions.dim(0), targets.dim(0))?)])
}

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let k = node.attrs.int("k")?;
    Ok(Box::new(move |c: &mut OpCall<'_>| run(c, k)))
}

fn run_v2(c: &mut OpCall<'_>) -> Result<()> {
    let k = c.scalar_int(2)?;
    run(c, k)
}

fn run(c: &mut OpCall<'_>, k: i64) -> Result<()> {
    let shape = c.shape(0)?;
    let [rows, classes] = *shape.dims() else {
        return Err(invalid!("predictions must be 2-dimensional, got shape {shape}"));
    };
    let targets = c.int_vector(1)?;
    if targets.len() != rows {
        return Err(invalid!(
            "First dimension of predictions {rows} must match length of targets {}",
            targets.len()
        ));
    }
    let x = c.slice::<f32>(0)?;
    let hit = |(i, target): (usize, &i64)| {
        let row = &x[i * classes..][..classes];
        let own = usize::try_from(*target).ok().and_then(|t| row.get(t)).filter(|p| p.is_finite());
        own.is_some_and(|own| is_among(row, *own, k))
    };
    let hits = reserve::collect(targets.iter().enumerate().map(hit))?;
    c.set(0, Tensor::vector(&hits)?);
    Ok(())
}

/// Whether all of a row are finite, and fewer than `k` of them larger than its own. Most rows are decided by their beginning.
fn is_among(row: &[f32], own: f32, k: i64) -> bool {
    let mut larger = 0;
    for part in row.chunks(256) {
        larger += part.iter().filter(|p| **p > own).count() as i64;
        if larger >= k || !part.iter().all(|p| p.is_finite()) {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::*;

    #[test]
    fn a_target_that_is_no_class_is_never_among_them() {
        let inf = f32::INFINITY;
        let x = floats(&[4, 2], &[0.1, 0.3, 0.3, 0.3, inf, 1.0, 1.0, 2.0]);
        let y = call("InTopK", &[x.clone(), ints(&[4], &[1, 1, 0, 9])], &[("k", Attr::Int(1))]).unwrap();
        assert_eq!(y[0].as_slice::<bool>().unwrap(), &[true, true, false, false]);
        let y = call("InTopK", &[x.clone(), ints(&[4], &[1, 1, 0, 9])], &[("k", Attr::Int(-1))]).unwrap();
        assert_eq!(y[0].as_slice::<bool>().unwrap(), &[false; 4]);
        let y = call("InTopKV2", &[x, ints(&[3], &[1, 1, 0]), Tensor::scalar(1i32)], &[]);
        assert_eq!(code(y), Code::InvalidArgument);
    }
}
