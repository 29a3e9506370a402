//! `Shape`: the dimensions of a tensor; `PartialShape`: those known before it exists.
//!
//! Both reject invalid shapes: more than 254 dimensions, negative sizes, products past `i64`.

use crate::error::{Error, Result, part};
use crate::invalid;
use smallvec::SmallVec;
use std::fmt;
use std::ops::Deref;

/// Most dimensions a tensor may have, as in TensorFlow.
pub const MAX_RANK: usize = 254;

/// Dimensions inline up to rank four: images and their batches need no allocation.
type Dims = SmallVec<[usize; 4]>;

/// Sizes of the dimensions, outermost first. Always valid: the product of the sizes fits `i64`.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Shape(Dims);

impl Shape {
    #[inline]
    pub fn scalar() -> Self {
        Shape(SmallVec::new())
    }

    pub fn vector(n: usize) -> Self {
        Shape(SmallVec::from_slice(&[n]))
    }

    pub fn new(dims: &[usize]) -> Result<Self> {
        check(dims.len(), dims.iter().map(|d| i64::try_from(*d).ok()), || part(format_args!("{dims:?}")))?;
        Ok(Shape(SmallVec::from_slice(dims)))
    }

    /// From untrusted sizes.
    pub fn from_i64(dims: &[i64]) -> Result<Self> {
        check(dims.len(), dims.iter().map(|d| Some(*d)), || part(format_args!("{dims:?}")))?;
        Ok(Shape(dims.iter().map(|d| *d as usize).collect()))
    }

    /// For shapes derived from a valid one, whose product cannot be larger (removing dimensions, permuting).
    pub(crate) fn trusted(dims: impl IntoIterator<Item = usize>) -> Self {
        Shape(dims.into_iter().collect())
    }

    #[inline]
    pub fn dims(&self) -> &[usize] {
        &self.0
    }

    #[inline]
    pub fn rank(&self) -> usize {
        self.0.len()
    }

    /// Number of elements.
    #[inline]
    pub fn elements(&self) -> usize {
        self.0.iter().product()
    }

    /// Size of a dimension; the error states the rank.
    pub fn dim(&self, axis: usize) -> Result<usize> {
        self.0.get(axis).copied().ok_or_else(|| invalid!("needs a dimension {axis}, but the shape is {self}"))
    }

    #[inline]
    pub fn is_scalar(&self) -> bool {
        self.0.is_empty()
    }

    pub fn to_i64(&self) -> SmallVec<[i64; 4]> {
        self.0.iter().map(|d| *d as i64).collect()
    }

    /// Row-major strides, in elements.
    pub fn strides(&self) -> Dims {
        let mut strides: Dims = SmallVec::from_elem(1, self.rank());
        for i in (0..self.rank().saturating_sub(1)).rev() {
            strides[i] = strides[i + 1] * self.0[i + 1];
        }
        strides
    }

    /// Products of the dimensions before, at and after `axis`.
    pub fn around(&self, axis: usize) -> Result<(usize, usize, usize)> {
        let at = self.dim(axis)?;
        Ok((self.0[..axis].iter().product(), at, self.0[axis + 1..].iter().product()))
    }

    /// This shape with `axis` removed.
    pub fn without(&self, axis: usize) -> Shape {
        Shape::trusted(self.0.iter().enumerate().filter(|(i, _)| *i != axis).map(|(_, d)| *d))
    }

    /// This shape with the size at `axis` replaced.
    pub fn with(&self, axis: usize, size: usize) -> Result<Shape> {
        let mut dims = self.0.clone();
        *dims.get_mut(axis).ok_or_else(|| invalid!("no dimension {axis} in shape {self}"))? = size;
        Shape::new(&dims)
    }
}

impl Deref for Shape {
    type Target = [usize];
    fn deref(&self) -> &[usize] {
        &self.0
    }
}

/// `[2,3]`, as in TensorFlow's error texts.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_dims(f, "[", self.0.iter(), ",", "]")
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn write_dims<D: fmt::Display>(
    f: &mut fmt::Formatter<'_>,
    open: &str,
    dims: impl Iterator<Item = D>,
    comma: &str,
    close: &str,
) -> fmt::Result {
    f.write_str(open)?;
    for (i, d) in dims.enumerate() {
        if i > 0 {
            f.write_str(comma)?;
        }
        write!(f, "{d}")?;
    }
    f.write_str(close)
}

/// The product of sizes; `None` if one is unknown, or on overflow.
pub fn product<'a>(dims: impl IntoIterator<Item = &'a i64>) -> Option<i64> {
    dims.into_iter().try_fold(1i64, |all, d| all.checked_mul(*d).filter(|_| *d >= 0))
}

/// The validity of shapes: rank, no negative size, and a product that fits even without the zeros.
fn check(rank: usize, dims: impl Iterator<Item = Option<i64>>, show: impl Fn() -> String) -> Result<()> {
    if rank > MAX_RANK {
        return Err(invalid!("a tensor has at most {MAX_RANK} dimensions, got {rank}"));
    }
    let mut product: i64 = 1;
    for d in dims {
        let Some(d) = d else { return Err(invalid!("shape {} has a dimension past 2^63", show())) };
        if d < 0 {
            return Err(invalid!("shape {} has the negative dimension {d}", show()));
        }
        // Zeros count as 1: [0, 2^40, 2^40] would overflow when sliced or padded.
        product = product
            .checked_mul(d.max(1))
            .ok_or_else(|| invalid!("shape {} has more elements than a tensor can have (2^63)", show()))?;
    }
    Ok(())
}

/// A shape as known before the graph runs: unknown rank, or a rank with some sizes (-1: unknown).
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct PartialShape(Option<SmallVec<[i64; 4]>>);

impl PartialShape {
    pub fn unknown() -> Self {
        PartialShape(None)
    }

    pub fn scalar() -> Self {
        PartialShape(Some(SmallVec::new()))
    }

    pub fn vector(n: i64) -> Self {
        PartialShape(Some(SmallVec::from_slice(&[n.max(-1)])))
    }

    /// Unknown rank if the rank is invalid.
    pub fn unknown_of_rank(rank: usize) -> Self {
        PartialShape((rank <= MAX_RANK).then(|| SmallVec::from_elem(-1, rank)))
    }

    /// From sizes where -1 is unknown; less is rejected.
    pub fn new(dims: &[i64]) -> Result<Self> {
        if let Some(d) = dims.iter().find(|d| **d < -1) {
            return Err(invalid!(
                "shape {dims:?} has the dimension {d}; only sizes from 0, or -1 for unknown"
            ));
        }
        check(dims.len(), dims.iter().map(|d| Some((*d).max(0))), || part(format_args!("{dims:?}")))?;
        Ok(PartialShape(Some(SmallVec::from_slice(dims))))
    }

    /// The dimensions, if the rank is known.
    pub fn dims(&self) -> Option<&[i64]> {
        self.0.as_deref()
    }

    pub fn rank(&self) -> Option<usize> {
        self.0.as_ref().map(|d| d.len())
    }

    /// Size of a dimension; -1 if unknown or out of range.
    pub fn dim(&self, axis: usize) -> i64 {
        self.0.as_ref().and_then(|d| d.get(axis)).copied().unwrap_or(-1)
    }

    pub fn is_fully_known(&self) -> bool {
        self.0.as_ref().is_some_and(|d| d.iter().all(|d| *d >= 0))
    }

    pub fn to_shape(&self) -> Option<Shape> {
        self.0.as_ref().and_then(|d| Shape::from_i64(d).ok())
    }

    /// Number of elements, if all sizes are known and some tensor can have so many.
    pub fn elements(&self) -> Option<i64> {
        product(self.0.as_ref()?)
    }

    /// Whether a tensor's shape is compatible with this.
    pub fn allows(&self, shape: &Shape) -> bool {
        self.0.as_ref().is_none_or(|dims| {
            dims.len() == shape.rank()
                && dims.iter().zip(shape.iter()).all(|(p, s)| *p < 0 || *p as usize == *s)
        })
    }

    /// The intersection of both; an error if they contradict each other.
    pub fn merge(&self, other: &PartialShape) -> Result<PartialShape> {
        let (Some(a), Some(b)) = (&self.0, &other.0) else {
            return Ok(if self.0.is_some() { self.clone() } else { other.clone() });
        };
        if a.len() != b.len() {
            return Err(invalid!("shapes {self} and {other} have different ranks"));
        }
        let dims: Result<SmallVec<[i64; 4]>> = a.iter().zip(b).map(|(x, y)| merge_dim(*x, *y)).collect();
        dims.map(|d| PartialShape(Some(d)))
            .map_err(|e: Error| e.context(format_args!("shapes {self} and {other} do not agree")))
    }

    /// The union of both: sizes that differ become unknown.
    pub fn common(&self, other: &PartialShape) -> PartialShape {
        match (&self.0, &other.0) {
            (Some(a), Some(b)) if a.len() == b.len() => {
                PartialShape(Some(a.iter().zip(b).map(|(x, y)| if x == y { *x } else { -1 }).collect()))
            }
            _ => PartialShape(None),
        }
    }

    /// Sizes of this shape followed by those of `tail`; unknown if either rank is.
    pub fn concat(&self, tail: &PartialShape) -> PartialShape {
        match (&self.0, &tail.0) {
            (Some(a), Some(b)) => PartialShape(Some(a.iter().chain(b).copied().collect())),
            _ => PartialShape(None),
        }
    }
}

/// Merges two sizes of a dimension, -1 for unknown; an error if they differ.
pub fn merge_dim(a: i64, b: i64) -> Result<i64> {
    match (a, b) {
        (-1, d) | (d, -1) => Ok(d),
        (a, b) if a == b => Ok(a),
        (a, b) => Err(invalid!("dimensions must be equal, but are {a} and {b}")),
    }
}

impl From<&Shape> for PartialShape {
    fn from(s: &Shape) -> Self {
        PartialShape(Some(s.to_i64()))
    }
}

impl FromIterator<i64> for PartialShape {
    fn from_iter<I: IntoIterator<Item = i64>>(dims: I) -> Self {
        PartialShape(Some(dims.into_iter().map(|d| d.max(-1)).collect()))
    }
}

/// `[2,?]`, or `<unknown>`.
impl fmt::Display for PartialShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            None => f.write_str("<unknown>"),
            Some(dims) => {
                let show = |d: &i64| if *d < 0 { "?".to_string() } else { d.to_string() };
                write_dims(f, "[", dims.iter().map(show), ",", "]")
            }
        }
    }
}

impl fmt::Debug for PartialShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl PartialShape {
    /// `(2, None)`, `()`, `(3,)` or `<unknown>`: as Python prints a tensor's shape.
    pub fn python(&self) -> String {
        let Some(dims) = &self.0 else { return "<unknown>".into() };
        let show = |d: &i64| if *d < 0 { "None".to_string() } else { d.to_string() };
        let inner: Vec<String> = dims.iter().map(show).collect();
        if inner.len() == 1 { format!("({},)", inner[0]) } else { format!("({})", inner.join(", ")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absurd_shapes_are_refused() {
        assert!(Shape::from_i64(&[1 << 40, 1 << 40]).is_err());
        assert!(Shape::from_i64(&[0, 1 << 40, 1 << 40]).is_err());
        assert!(Shape::from_i64(&[-5]).is_err());
        assert!(Shape::new(&[usize::MAX]).is_err());
        assert!(Shape::new(&[1; 255]).is_err());
        assert!(Shape::new(&[1; 254]).is_ok());
        assert!(PartialShape::new(&[-2]).is_err());
        assert!(PartialShape::new(&[-1, 1 << 40, 1 << 40]).is_err());
    }

    #[test]
    fn the_elements_of_shapes_that_rules_put_together_do_not_overflow() {
        let large: PartialShape = [1i64 << 40, 1 << 40].into_iter().collect();
        assert_eq!(large.elements(), None);
        let hidden: PartialShape = [1i64 << 40, 1 << 40, 0].into_iter().collect();
        assert_eq!(hidden.elements(), None);
        assert_eq!(product(&[3, -1]), None);
        assert_eq!(product(&[3, 0, 4]), Some(0));
    }

    #[test]
    fn merging_keeps_what_is_known() {
        let a = PartialShape::new(&[-1, 3]).unwrap();
        let b = PartialShape::new(&[2, -1]).unwrap();
        assert_eq!(a.merge(&b).unwrap().dims(), Some(&[2, 3][..]));
        assert!(b.merge(&PartialShape::new(&[4, 1]).unwrap()).is_err());
        assert_eq!(PartialShape::unknown().merge(&a).unwrap(), a);
        assert_eq!(a.common(&b), PartialShape::unknown_of_rank(2));
        assert_eq!(a.python(), "(None, 3)");
        assert_eq!(PartialShape::vector(3).python(), "(3,)");
    }

    #[test]
    fn strides_are_row_major() {
        let s = Shape::new(&[2, 3, 4]).unwrap();
        assert_eq!(s.strides().as_slice(), &[12, 4, 1]);
        assert_eq!(s.around(1).unwrap(), (2, 3, 4));
        assert_eq!(s.to_string(), "[2,3,4]");
    }
}
