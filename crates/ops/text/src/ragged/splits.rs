//! Row splits: the starts of the rows of a ragged dimension, and the end of the last.

use crate::prelude::*;

/// The splits of `input`: they begin with 0, do not fall, and end at `end`, the number of values.
pub fn checked(input: &Tensor, end: Option<usize>) -> Result<Vec<i64>> {
    if input.rank() != 1 {
        return Err(invalid!("ragged splits must be a vector, got shape {}", input.shape()));
    }
    let splits = input.to_i64s()?;
    let Some(last) = splits.last() else { return Err(invalid!("ragged splits may not be empty.")) };
    if splits[0] != 0 {
        return Err(invalid!("First value of ragged splits must be 0, got {}", splits[0]));
    }
    if let Some(pair) = splits.windows(2).find(|pair| pair[0] > pair[1]) {
        return Err(invalid!(
            "Ragged splits should be non decreasing, but we got {} followed by {}",
            pair[0],
            pair[1]
        ));
    }
    match end {
        Some(end) if end as i64 != *last => Err(invalid!(
            "Final value of ragged splits must match the length the corresponding ragged values: {last} and {end}"
        )),
        _ => Ok(splits),
    }
}

/// The splits of nested dimensions, outermost first: each ends where the next, at last `values`, has its last row.
pub fn nested(inputs: &[&Tensor], values: &Tensor) -> Result<Vec<Vec<i64>>> {
    let rows = values.shape().first().copied();
    let rows = rows.ok_or_else(|| {
        invalid!("Final value of ragged splits must match the length the corresponding ragged values: a scalar has none")
    })?;
    let mut all = Vec::new();
    for (i, input) in inputs.iter().enumerate() {
        let end = inputs.get(i + 1).map_or(rows, |next| next.elements().saturating_sub(1));
        reserve::push(&mut all, checked(input, Some(end))?)?;
    }
    Ok(all)
}

/// The inputs of an argument of the signature.
pub fn arguments<'a>(c: &'a OpCall<'_>, arg: usize) -> Result<Vec<&'a Tensor>> {
    reserve::try_collect(c.arg(arg).map(|i| c.input(i)))
}

/// Splits as a tensor of their type: int32 or int64.
pub fn tensor_of(dtype: DataType, splits: &[i64]) -> Result<Tensor> {
    match dtype {
        DataType::Int64 => Tensor::vector(splits),
        _ => {
            let narrow = splits.iter().map(|v| {
                i32::try_from(*v)
                    .map_err(|_| invalid!("row split {v} does not fit int32; use int64 row splits"))
            });
            Tensor::vector(&reserve::try_collect::<i32>(narrow)?)
        }
    }
}
