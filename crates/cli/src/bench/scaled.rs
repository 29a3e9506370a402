//! The cases of the op table at larger sizes: dimensions grow, values are repeated.

use thalweg_core::case::Case;
use thalweg_core::dtype::DataType;
use thalweg_core::error::Result;
use thalweg_core::shape::Shape;
use thalweg_core::tensor::Tensor;

/// Which dimensions grow. Dimensions of one size belong together in most cases (the inner ones of a product, the rows of values and
/// their indices), so they grow together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Growth {
    All,
    OfSize(usize),
}

impl Growth {
    fn grows(self, dim: usize) -> bool {
        dim > 1 && (self == Growth::All || self == Growth::OfSize(dim))
    }

    /// The factor by which dimensions grow, if the largest input is to have about so many bytes.
    fn factor(self, case: &Case, bytes: usize) -> Option<usize> {
        let factor = |t: &Tensor| {
            let growing = t.shape().iter().filter(|d| self.grows(**d)).count() as i32;
            let now = t.byte_len().max(1) as f64;
            (growing > 0).then(|| (bytes as f64 / now).powf(1.0 / f64::from(growing)))
        };
        let least = case.inputs.iter().filter_map(factor).reduce(f64::min)?;
        (least >= 1.0).then_some(least.round() as usize)
    }
}

/// The ways in which a case can grow.
pub fn growths(case: &Case) -> Vec<Growth> {
    let mut sizes: Vec<usize> =
        case.inputs.iter().flat_map(|t| t.shape().to_vec()).filter(|d| *d > 1).collect();
    sizes.sort_unstable_by_key(|d| std::cmp::Reverse(*d));
    sizes.dedup();
    std::iter::once(Growth::All).chain(sizes.into_iter().map(Growth::OfSize)).collect()
}

/// The case with an input of about so many bytes. Not always valid: an axis or a shape may be among the values.
pub fn grown_to(case: &Case, way: Growth, bytes: usize) -> Option<Case> {
    grown(case, way, way.factor(case, bytes)?).ok()
}

fn grown(case: &Case, way: Growth, factor: usize) -> Result<Case> {
    let inputs = case.inputs.iter().map(|t| stretched(t, way, factor)).collect::<Result<_>>()?;
    Ok(Case { inputs, ..case.clone() })
}

/// Each value repeated along the dimensions that grow: sorted ones stay sorted, indices stay in range.
fn stretched(t: &Tensor, way: Growth, factor: usize) -> Result<Tensor> {
    if !t.dtype().is_plain() || !t.shape().iter().any(|d| way.grows(*d)) {
        return Ok(t.clone());
    }
    let (old, size) = (t.shape().to_vec(), t.dtype().size());
    let new: Vec<usize> = old.iter().map(|d| if way.grows(*d) { d * factor } else { *d }).collect();
    let mut out = Tensor::uninit(t.dtype(), Shape::new(&new)?)?;
    let from = t.bytes()?;
    for (i, place) in out.bytes_mut()?.chunks_exact_mut(size).enumerate() {
        let (mut rest, mut at, mut stride) = (i, 0, 1);
        for (new, old) in new.iter().zip(&old).rev() {
            at += (rest % new) * old / new * stride;
            (rest, stride) = (rest / new, stride * old);
        }
        place.copy_from_slice(&from[at * size..(at + 1) * size]);
    }
    if t.dtype() == DataType::Float {
        roughen(&mut out)?;
    }
    Ok(out)
}

/// Repeated values would favour branches that are predicted well, and make matrices singular.
fn roughen(t: &mut Tensor) -> Result<()> {
    for (i, v) in t.as_mut_slice::<f32>()?.iter_mut().enumerate() {
        *v *= 1.0 + ((i * 7919) % 1009) as f32 * 1e-4;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimensions_of_one_size_grow_together() {
        let matrix = |rows, columns| {
            Tensor::build(Shape::new(&[rows, columns]).unwrap(), |out: &mut [f32]| out.fill(1.0)).unwrap()
        };
        let case = Case::new(vec![matrix(2, 3), matrix(3, 4)]);
        let shapes = |case: &Case| case.inputs.iter().map(|t| t.shape().to_vec()).collect::<Vec<_>>();
        let forms = growths(&case).into_iter().filter_map(|way| grown_to(&case, way, 4800));
        let all: Vec<_> = forms.map(|case| shapes(&case)).collect();
        assert_eq!(all[0], [[20, 30], [30, 40]]);
        assert!(all.contains(&vec![vec![2, 300], vec![300, 4]]), "{all:?}");
    }

    #[test]
    fn integers_keep_their_order_and_range() {
        let ids = Tensor::vector(&[0i32, 1, 3]).unwrap();
        let grown = stretched(&ids, Growth::All, 2).unwrap();
        assert_eq!(grown.as_slice::<i32>().unwrap(), [0, 0, 1, 1, 3, 3]);
    }
}
