//! `MatrixBandPart`: matrices with zeros outside a band.

use crate::axis::single_constant;
use crate::moving::{Motion, apply};
use crate::prelude::*;

pub static MATRIX_BAND_PART: Op = Op {
    name: "MatrixBandPart",
    doc: "The input with zeros in its innermost matrices below `num_lower` subdiagonals and above `num_upper` superdiagonals; negative: keep all.",
    inputs: &["input: T", "num_lower: Tindex", "num_upper: Tindex"],
    outputs: &["band: T"],
    attrs: &["T: type", "Tindex: {int32, int64} = DT_INT64"],
    shape,
    grad: Rule(|g| {
        let (lower, upper, dy) = (g.x[1], g.x[2], g.dy()?);
        let dx = g.op("MatrixBandPart", [dy.into(), lower.into(), upper.into()], &[])?;
        Ok(vec![dx.into(), Grad::None, Grad::None])
    }),
    kernels: cpu!(run),
    cases: |r| {
        let case = |x: Tensor, lower: i64, upper: i64| {
            Case::new(vec![x, Tensor::scalar(lower), Tensor::scalar(upper)])
        };
        vec![case(r.tensor(&[3, 4]), 1, -1), case(r.tensor(&[2, 4, 3]), 0, 1), case(r.tensor(&[0, 3]), -1, 0)]
    },
    host_inputs: &["num_lower", "num_upper"],
    ..Op::PURE
};

pub static BATCH_MATRIX_BAND_PART: Op = Op {
    name: "BatchMatrixBandPart",
    doc: "Deprecated: as MatrixBandPart.",
    inputs: &["input: T", "num_lower: int64", "num_upper: int64"],
    attrs: &["T: type"],
    grad: Missing,
    ..MATRIX_BAND_PART
};

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let x = c.rank_at_least(0, 2)?;
    for (i, what) in [(1, "rows"), (2, "columns")] {
        c.scalar(i)?;
        let size = x.rank().map_or(-1, |r| x.dim(r + i - 3));
        if let (Some(n), 0..) = (single_constant(c, i)?, size) {
            check(n, size, what)?;
        }
    }
    Ok(vec![x])
}

fn check(n: i64, size: i64, what: &str) -> Result<()> {
    if n > size {
        let bound = if what == "rows" { "num_lower" } else { "num_upper" };
        return Err(invalid!(
            "{bound} must be negative or less or equal to number of {what} ({size}) got: {n}"
        ));
    }
    Ok(())
}

/// Copies the band; the target is zeros.
struct BandPart {
    rows: usize,
    cols: usize,
    lower: usize,
    upper: usize,
}

impl Motion for BandPart {
    fn run<C: Clone + Send + Sync>(&self, from: &[C], to: &mut [C]) {
        for (i, (from, to)) in from.chunks_exact(self.cols).zip(to.chunks_exact_mut(self.cols)).enumerate() {
            let row = i % self.rows;
            let start = row.saturating_sub(self.lower).min(self.cols);
            let end = row.saturating_add(self.upper).saturating_add(1).min(self.cols);
            to[start..end].clone_from_slice(&from[start..end]);
        }
    }
}

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let x = c.input(0)?;
    let [.., rows, cols] = *x.shape().dims() else {
        return Err(invalid!("input must be at least 2-dim, received shape: {}", x.shape()));
    };
    let (lower, upper) = (c.scalar_int(1)?, c.scalar_int(2)?);
    check(lower, rows as i64, "rows")?;
    check(upper, cols as i64, "columns")?;
    let keep = |n: i64| usize::try_from(n).unwrap_or(usize::MAX);
    let mut out = Tensor::zeros(x.dtype(), x.shape().clone())?;
    if x.elements() > 0 {
        apply(&BandPart { rows, cols, lower: keep(lower), upper: keep(upper) }, x, &mut out)?;
    }
    c.set(0, out);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, floats};

    #[test]
    fn a_band_wider_than_the_matrix_is_refused() {
        for (lower, upper) in [(5i64, 0i64), (0, 5)] {
            let inputs = [floats(&[1, 2], &[1.0, 2.0]), Tensor::scalar(lower), Tensor::scalar(upper)];
            assert_eq!(code(call("MatrixBandPart", &inputs, &[])), Code::InvalidArgument);
        }
    }
}
