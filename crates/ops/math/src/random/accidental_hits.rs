//! `ComputeAccidentalHits`: sampled classes that are true classes.

use crate::prelude::*;
use std::collections::HashMap;

pub static COMPUTE_ACCIDENTAL_HITS: Op = Op {
    name: "ComputeAccidentalHits",
    doc: "For each true class that was sampled too: its row, its index in the sample, and the lowest float as the weight that masks it.",
    inputs: &["true_classes: int64", "sampled_candidates: int64"],
    outputs: &["indices: int32", "ids: int64", "weights: float"],
    attrs: &["num_true: int", "seed: int = 0", "seed2: int = 0"],
    shape: |c| {
        merge_dim(c.rank(0, 2)?.dim(1), c.attrs.int("num_true")?)?;
        c.rank(1, 1)?;
        Ok(vec![PartialShape::vector(-1); 3])
    },
    grad: Stops,
    kernels: cpu!(run),
    cases: |_| {
        let truth = Tensor::from_slice(Shape::new(&[2, 2]).unwrap_or_default(), &[3i64, 7, 1, 3]);
        let sampled = Tensor::vector(&[5i64, 3, 1, 5]);
        let inputs: Option<Vec<Tensor>> = truth.ok().zip(sampled.ok()).map(|(t, s)| vec![t, s]);
        inputs.into_iter().map(|inputs| Case::new(inputs).attr("num_true", 2)).collect()
    },
    ..Op::PURE
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let (classes, num_true) = (c.shape(0)?.clone(), c.attrs().int("num_true")?);
    if classes.rank() != 2 || classes[1] as i64 != num_true {
        return Err(invalid!(
            "true_candidates must be a batch_size * num_true matrix: expected [n, {num_true}], got {classes}"
        ));
    }
    if c.shape(1)?.rank() != 1 {
        return Err(invalid!(
            "sampled_candidates must be a vector, which is typically the output from CandidateSampler"
        ));
    }
    let sampled = c.slice::<i64>(1)?;
    let mut places = HashMap::new();
    reserve::room(&mut places, sampled.len())?;
    places.extend(sampled.iter().copied().zip(0i64..));
    let (mut rows, mut hits) = (Vec::new(), Vec::new());
    for (i, class) in c.slice::<i64>(0)?.iter().enumerate() {
        if let Some(place) = places.get(class) {
            reserve::push(&mut rows, (i / classes[1].max(1)) as i32)?;
            reserve::push(&mut hits, *place)?;
        }
    }
    c.set(2, Tensor::full(Shape::vector(hits.len()), f32::MIN)?);
    c.set(0, Tensor::vector(&rows)?);
    c.set(1, Tensor::vector(&hits)?);
    Ok(())
}
