//! `SparseReshape`: a sparse tensor under another shape.

use super::coordinates::{Coordinates, matrix};
use super::entries::show;
use crate::prelude::*;

pub static SPARSE_RESHAPE: Op = Op {
    name: "SparseReshape",
    doc: "The indices that the elements of a sparse tensor have under another shape, of which one size may be -1.",
    inputs: &["input_indices: int64", "input_shape: int64", "new_shape: int64"],
    outputs: &["output_indices: int64", "output_shape: int64"],
    attrs: &[],
    shape: |c| {
        let (indices, old, new) = (c.rank(0, 2)?, c.rank(1, 1)?, c.rank(2, 1)?);
        merge_dim(indices.dim(1), old.dim(0))?;
        let rank = new.dim(0);
        Ok(vec![[indices.dim(0), rank].into_iter().collect(), PartialShape::vector(rank)])
    },
    grad: Stops,
    kernels: cpu!(run),
    cases: |_| {
        let at = matrix(2, 2, &[0, 1, 1, 2]).into_iter();
        let all: Vec<Tensor> = at.chain(Tensor::vector(&[2i64, 3])).collect();
        let to = |dims: &[i64]| Case::new(all.iter().cloned().chain(Tensor::vector(dims)).collect());
        vec![to(&[3, 2]), to(&[-1]), to(&[1, -1, 2])]
    },
    ..Op::PURE
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let count = match *c.shape(0)?.dims() {
        [n, _] => n,
        _ => return Err(invalid!("Input indices should be a matrix but received shape {}", c.shape(0)?)),
    };
    let old = Coordinates::of(c, 0, 1, count)?;
    let new = completed(&old.shape, &c.int_vector(2)?)?;
    let mut at = reserve::with_capacity(count.saturating_mul(new.rank()))?;
    for mut position in old.positions() {
        let start = at.len();
        for n in new.iter().rev() {
            at.push((position % n) as i64);
            position /= n;
        }
        at[start..].reverse();
    }
    c.set(0, matrix(count, new.rank(), &at)?);
    c.set(1, Tensor::vector(&new.to_i64())?);
    Ok(())
}

/// The new shape; -1 is inferred.
fn completed(old: &Shape, asked: &[i64]) -> Result<Shape> {
    let unknown = reserve::collect((0..asked.len()).filter(|i| asked[*i] == -1))?;
    let mut dims = reserve::copied(asked)?;
    match unknown[..] {
        [] => {}
        [one] => {
            dims[one] = 1;
            let rest = Shape::from_i64(&dims)?.elements();
            if rest == 0 || !old.elements().is_multiple_of(rest) {
                return Err(invalid!(
                    "Input to reshape is a SparseTensor with {} dense values, but the requested shape requires a \
                     multiple of {rest}. input_shape={old} output_shape={}",
                    old.elements(),
                    show(&dims)
                ));
            }
            dims[one] = (old.elements() / rest) as i64;
        }
        _ => return Err(invalid!("only one output dimension may be -1, got {asked:?}")),
    }
    let new = Shape::from_i64(&dims)?;
    if new.elements() != old.elements() {
        return Err(invalid!(
            "Input to reshape is a tensor with {} dense values, but the requested shape has {}. input_shape={old} output_shape={new}",
            old.elements(),
            new.elements()
        ));
    }
    Ok(new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{call, floats};

    fn text(op: &str, inputs: &[Tensor], attrs: &[(&'static str, Attr)]) -> String {
        call(op, inputs, attrs).unwrap_err().to_string()
    }

    #[test]
    fn errors_of_sparse_ops_have_the_words_that_users_search_for() {
        let at = |values: &[i64]| matrix(values.len() / 2, 2, values).unwrap();
        let dims = |v: &[i64]| Tensor::vector(v).unwrap();
        let reshaped = text("SparseReshape", &[at(&[0, 1]), dims(&[5, 6]), dims(&[4, -1])], &[]);
        let words = "requires a multiple of 4. input_shape=[5,6] output_shape=[4,1]";
        assert!(reshaped.contains(words), "{reshaped}");
        let inputs = [at(&[0, 0, 1, 0, 99, 1]), floats(&[3], &[1.0; 3]), dims(&[2, 2]), Tensor::scalar(0f32)];
        let filled = text("SparseFillEmptyRows", &inputs, &[]);
        assert!(filled.contains("indices(2, 0) is invalid: 99 >= 2"), "{filled}");
        let inputs = [Tensor::scalar(2i64), at(&[0, 0]), floats(&[1], &[1.0]), dims(&[2, 2])];
        let split = text("SparseSplit", &inputs, &[("num_split", 1.into())]);
        assert!(split.contains("Input axis should be in range [-2, 2), got 2"), "{split}");
        let inputs = [dims(&[0]), Tensor::scalar(3i64), floats(&[1], &[1.0]), Tensor::scalar(0f32)];
        let dense = text("SparseToDense", &inputs, &[]);
        assert!(dense.contains("output_shape must be rank 1, got shape []"), "{dense}");
    }
}
