//! `Bincount` and `DenseBincount`: counts of small integers.

use crate::prelude::*;

pub static BINCOUNT: Op = Op {
    name: "Bincount",
    doc: "For each number below size, how often it occurs in arr, or the sum of its weights.",
    inputs: &["arr: int32", "size: int32", "weights: T"],
    outputs: &["bins: T"],
    attrs: &["T: {int32, int64, float, double}"],
    shape: |c| {
        let size = known_size(c)?;
        Ok(vec![PartialShape::vector(size)])
    },
    kernels: cpu!(run: T in i32, i64, f32, f64),
    cases: |r| {
        vec![
            Case::new(vec![int_vector(&[1, 1, 9, 2]), Tensor::scalar(4i32), r.tensor(&[4])]),
            Case::new(vec![int_vector(&[1, 1, 9, 2]), Tensor::scalar(4i32), r.tensor(&[0])]),
        ]
    },
    ..Op::PURE
};

pub static DENSE_BINCOUNT: Op = Op {
    name: "DenseBincount",
    doc: "For each row, and each number below size, how often it occurs, or the sum of its weights, or whether it occurs.",
    inputs: &["input: Tidx", "size: Tidx", "weights: T"],
    outputs: &["output: T"],
    attrs: &["Tidx: {int32, int64}", "T: {int32, int64, float, double}", "binary_output: bool = false"],
    shape: dense_shape,
    kernels: cpu!(make prepare: T in i32, i64, f32, f64),
    cases: |r| {
        let (numbers, size) = (r.ints(&[2, 3], 0, 5), Tensor::scalar(4i32));
        vec![
            Case::new(vec![numbers.clone(), size.clone(), r.tensor(&[2, 3])]),
            Case::new(vec![numbers, size.clone(), r.tensor(&[0])]).attr("binary_output", true),
            Case::new(vec![int_vector(&[1, 3, 1]), size, r.tensor(&[3])]),
        ]
    },
    ..Op::PURE
};

/// The size, -1 if unknown. Must be a non-negative scalar.
fn known_size(c: &ShapeCall<'_>) -> Result<i64> {
    c.scalar(1)?;
    match c.ints(1).and_then(|s| s.first().copied()) {
        Some(size) if size < 0 => Err(invalid!("size ({size}) must be non-negative")),
        size => Ok(size.unwrap_or(-1)),
    }
}

fn dense_shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let (size, input) = (known_size(c)?, c.input(0));
    Ok(vec![match input.dims() {
        None => PartialShape::unknown(),
        Some([]) | Some([_]) => PartialShape::vector(size),
        Some([rows, _]) => [*rows, size].into_iter().collect(),
        Some(_) => return Err(invalid!("input must have at most 2 dimensions, got {input}")),
    }])
}

fn run<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    let arr = c.input(0)?.to_i64s()?;
    let out = counts::<T>(c, &arr, 1, false)?;
    let size = out.elements();
    c.set(0, out.reshape(Shape::vector(size))?);
    Ok(())
}

fn prepare<T: Number>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let binary = node.attrs.bool("binary_output")?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let input = c.input(0)?;
        let numbers = input.to_i64s()?;
        let rows = match input.shape().dims() {
            [] | [_] => None,
            [rows, _] => Some(*rows),
            _ => return Err(invalid!("Shape must be at most rank 2 but is rank {}", input.rank())),
        };
        let weights = c.input(2)?;
        if weights.elements() > 0 && weights.shape() != input.shape() {
            return Err(invalid!(
                "`weights` must be the same shape as `arr` or a length-0 `Tensor`, in which case it acts as all \
                 weights equal to 1. Received {}",
                weights.shape()
            ));
        }
        let out = counts::<T>(c, &numbers, rows.unwrap_or(1), binary)?;
        let size = out.elements();
        c.set(0, if rows.is_none() { out.reshape(Shape::vector(size))? } else { out });
        Ok(())
    }))
}

/// Counts, weighted by input 2 unless it is empty; numbers not below the size are dropped.
fn counts<T: Number>(c: &OpCall<'_>, numbers: &[i64], rows: usize, binary: bool) -> Result<Tensor> {
    let size = c.scalar_int(1)?;
    if size < 0 {
        return Err(invalid!("size ({size}) must be non-negative"));
    }
    if numbers.iter().any(|n| *n < 0) {
        return Err(invalid!("Input arr must be non-negative!"));
    }
    let weights = c.slice::<T>(2)?;
    if !weights.is_empty() && weights.len() != numbers.len() {
        return Err(invalid!("Input indices and weights must have the same size."));
    }
    let size = size as usize;
    let mut out = Tensor::zeros(T::DTYPE, Shape::new(&[rows, size])?)?;
    let bins = out.as_mut_slice::<T>()?;
    let width = numbers.len().checked_div(rows).unwrap_or(0);
    for (i, n) in numbers.iter().enumerate().filter(|(_, n)| (**n as u64) < size as u64) {
        let bin = &mut bins[i.checked_div(width).unwrap_or(0) * size + *n as usize];
        *bin = if binary { T::ONE } else { bin.add(weights.get(i).copied().unwrap_or(T::ONE)) };
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::*;

    #[test]
    fn weights_of_another_shape_are_refused() {
        let (x, size) = (ints(&[2, 2], &[1, 1, 3, 2]), Tensor::scalar(4i32));
        for weights in [floats(&[2], &[1.0; 2]), floats(&[4], &[1.0; 4])] {
            let y = call("DenseBincount", &[x.clone(), size.clone(), weights], &[]);
            assert_eq!(code(y), Code::InvalidArgument);
        }
        let y = call("Bincount", &[x.clone(), size, floats(&[2], &[1.0; 2])], &[]);
        assert_eq!(code(y), Code::InvalidArgument);
        let y = call("DenseBincount", &[x.clone(), Tensor::scalar(-4i32), floats(&[0], &[])], &[]);
        assert_eq!(code(y), Code::InvalidArgument);
        let y = call("DenseBincount", &[ints(&[1], &[-1]), Tensor::scalar(4i32), floats(&[0], &[])], &[]);
        assert_eq!(code(y), Code::InvalidArgument);
    }
}
