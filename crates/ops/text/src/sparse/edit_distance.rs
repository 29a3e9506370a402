//! `EditDistance`: the Levenshtein distance of sequences in sparse tensors.

use crate::keys::keys;
use crate::prelude::*;
use std::collections::HashMap;

pub static EDIT_DISTANCE: Op = Op {
    name: "EditDistance",
    doc: "For each pair of sequences in two sparse tensors, the Levenshtein distance; divided by the truth's length if `normalize`.",
    inputs: &[
        "hypothesis_indices: int64",
        "hypothesis_values: T",
        "hypothesis_shape: int64",
        "truth_indices: int64",
        "truth_values: T",
        "truth_shape: int64",
    ],
    outputs: &["output: float"],
    attrs: &["normalize: bool = true", "T: type"],
    shape: |c| {
        for first in [0, 3] {
            merge_dim(c.rank(first, 2)?.dim(0), c.rank(first + 1, 1)?.dim(0))?;
            c.rank(first + 2, 1)?;
        }
        Ok(vec![match (c.ints(2), c.ints(5)) {
            (Some(h), Some(t)) => groups(&h, &t)?.into_iter().collect(),
            _ => PartialShape::unknown(),
        }])
    },
    grad: Stops,
    kernels: cpu!(make prepare),
    cases: |_| {
        let sparse = |at: &[i64], values: &[i64], shape: &[i64]| {
            let rows = Shape::new(&[values.len(), shape.len()]).and_then(|s| Tensor::from_slice(s, at));
            [rows, Tensor::vector(values), Tensor::vector(shape)].into_iter().flatten()
        };
        let hypothesis = sparse(&[0, 0, 1, 0], &[1, 2], &[3, 1]);
        let truth = sparse(&[0, 0, 0, 1, 2, 0], &[1, 2, 3], &[3, 2]);
        vec![Case::new(hypothesis.chain(truth).collect())]
    },
    ..Op::PURE
};

/// The output shape: the larger of each dimension, without the innermost.
fn groups(hypothesis: &[i64], truth: &[i64]) -> Result<Vec<i64>> {
    if hypothesis.len() != truth.len() || hypothesis.is_empty() {
        return Err(invalid!(
            "Expected truth and hypothesis to have matching ranks, but their shapes are: {truth:?} and {hypothesis:?}"
        ));
    }
    reserve::collect(hypothesis[..truth.len() - 1].iter().zip(truth).map(|(h, t)| *h.max(t)))
}

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let normalize = node.attrs.bool("normalize")?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let shape = Shape::from_i64(&groups(&c.int_vector(2)?, &c.int_vector(5)?)?)?;
        let numbers = keys(&[c.input(1)?, c.input(4)?])?;
        let [hypothesis, truth] =
            [(0, &numbers[0]), (3, &numbers[1])].map(|(i, v)| sequences(c, i, v, &shape));
        let (hypothesis, truth) = (hypothesis?, truth?);
        let mut out = Tensor::zeros(DataType::Float, shape)?;
        let distances = out.as_mut_slice::<f32>()?;
        for group in hypothesis.keys().chain(truth.keys()) {
            let [h, t] = [&hypothesis, &truth].map(|s| s.get(group).map_or(&[][..], Vec::as_slice));
            let distance = levenshtein(h, t)? as f32;
            distances[*group] = match (normalize, t.len()) {
                (false, _) => distance,
                (true, 0) => f32::INFINITY,
                (true, n) => distance / n as f32,
            };
        }
        c.set(0, out);
        Ok(())
    }))
}

/// The sequences of a sparse tensor, by output position; its indices are input `i`.
fn sequences(c: &OpCall<'_>, i: usize, values: &[u128], shape: &Shape) -> Result<HashMap<usize, Vec<u128>>> {
    let indices = c.input(i)?;
    if indices.shape().dims() != [values.len(), shape.rank() + 1] || c.shape(i + 1)?.rank() != 1 {
        return Err(invalid!(
            "{} must be a matrix with a row of {} numbers for each of {} values, got shape {}",
            c.input_name(i),
            shape.rank() + 1,
            values.len(),
            indices.shape()
        ));
    }
    let mut found: HashMap<usize, Vec<u128>> = HashMap::new();
    for (row, value) in indices.as_slice::<i64>()?.chunks_exact(shape.rank() + 1).zip(values) {
        let mut group = 0;
        for (at, n) in row.iter().zip(shape.iter()) {
            if *at < 0 || *at as usize >= *n {
                return Err(invalid!("{} has the row {row:?}, outside of shape {shape}", c.input_name(i)));
            }
            group = group * n + *at as usize;
        }
        reserve::room(&mut found, 1)?;
        reserve::push(found.entry(group).or_default(), *value)?;
    }
    Ok(found)
}

/// The fewest edits from one sequence to the other.
fn levenshtein(a: &[u128], b: &[u128]) -> Result<usize> {
    let mut row = reserve::collect(0..=b.len())?;
    for (i, x) in a.iter().enumerate() {
        let mut before = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substitute = before + usize::from(x != y);
            before = row[j + 1];
            row[j + 1] = substitute.min(before + 1).min(row[j] + 1);
        }
    }
    Ok(row[b.len()])
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code};

    #[test]
    fn complex_elements_are_compared() {
        let z = |re| Tensor::vector(&[Complex32::new(re, 1.0)]).unwrap();
        let sparse = |v| {
            [
                Tensor::zeros(DataType::Int64, Shape::new(&[1, 1]).unwrap()).unwrap(),
                v,
                Tensor::vector(&[1i64]).unwrap(),
            ]
        };
        for (other, want) in [(0.0, 0.0), (2.0, 1.0)] {
            let got = call("EditDistance", &[sparse(z(-0.0)), sparse(z(other))].concat(), &[]).unwrap();
            assert_eq!(got[0].to_scalar::<f32>().unwrap(), want);
        }
    }

    #[test]
    fn an_index_far_outside_is_refused() {
        let sparse = |at: i64| {
            let rows = Tensor::from_slice(Shape::new(&[1, 2]).unwrap(), &[at, 0]).unwrap();
            [rows, Tensor::vector(&[1i64]).unwrap(), Tensor::vector(&[2i64, 2]).unwrap()]
        };
        for at in [-1250999896764, 2] {
            assert_eq!(
                code(call("EditDistance", &[sparse(at), sparse(0)].concat(), &[])),
                Code::InvalidArgument
            );
        }
        assert!(call("EditDistance", &[sparse(1), sparse(0)].concat(), &[]).is_ok());
    }
}
