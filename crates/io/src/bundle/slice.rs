//! Slices of tensors, stored or requested.

use std::fmt;
use thalweg_core::error::{Result, data_loss};
use thalweg_core::invalid;
use thalweg_core::shape::Shape;
use thalweg_proto::TensorSliceProto;
use thalweg_proto::tensor_slice_proto::{self, extent::HasLengthHack};

/// A range along one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    pub start: i64,
    /// `None`: the whole dimension.
    pub length: Option<i64>,
}

/// A range along each dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorSlice(Vec<Extent>);

impl TensorSlice {
    /// Parses `0,3:-:5,1`.
    pub fn parse(text: &str) -> Result<TensorSlice> {
        let part = |part: &str| {
            if part == "-" {
                return Some(Extent { start: 0, length: None });
            }
            let (start, length) = part.split_once(',')?;
            let (start, length) = (start.parse::<i64>().ok()?, length.parse::<i64>().ok()?);
            (start >= 0 && length > 0).then_some(Extent { start, length: Some(length) })
        };
        let extents: Option<Vec<Extent>> =
            if text.is_empty() { Some(Vec::new()) } else { text.split(':').map(part).collect() };
        extents.map(TensorSlice).ok_or_else(|| {
            invalid!("Expected a pair of numbers or '-' for each dimension ('0,3:-'), got slice '{text}'")
        })
    }

    pub fn from_proto(p: &TensorSliceProto) -> Result<TensorSlice> {
        let extent = |e: &tensor_slice_proto::Extent| {
            let length = e.has_length_hack.as_ref().map(|HasLengthHack::Length(n)| *n);
            match (e.start, length) {
                (0, None) => Ok(Extent { start: 0, length: None }),
                (start, Some(n)) if start >= 0 && n >= 0 => Ok(Extent { start, length }),
                _ => Err(data_loss(format_args!(
                    "a stored slice starts at {} with length {length:?}",
                    e.start
                ))),
            }
        };
        p.extent.iter().map(extent).collect::<Result<_>>().map(TensorSlice)
    }

    pub fn to_proto(&self) -> TensorSliceProto {
        let extent = |e: &Extent| tensor_slice_proto::Extent {
            start: e.start,
            has_length_hack: e.length.map(HasLengthHack::Length),
        };
        TensorSliceProto { extent: self.0.iter().map(extent).collect() }
    }

    pub fn extents(&self) -> &[Extent] {
        &self.0
    }

    pub fn rank(&self) -> usize {
        self.0.len()
    }

    /// Start and end along each dimension of a tensor of this shape.
    pub fn ranges(&self, shape: &Shape) -> Result<Vec<(usize, usize)>> {
        if self.rank() != shape.rank() {
            return Err(invalid!(
                "Mismatching ranks: shape = {shape}, slice = {self} of rank {}",
                self.rank()
            ));
        }
        self.0
            .iter()
            .zip(shape.iter())
            .enumerate()
            .map(|(i, (e, size))| {
                let outside =
                    || invalid!("Extent in dimension {i} out of bounds: shape = {shape}, slice = {self}");
                let Some(length) = e.length else { return Ok((0, *size)) };
                let end =
                    e.start.checked_add(length).filter(|end| *end <= *size as i64).ok_or_else(outside)?;
                Ok((e.start as usize, end as usize))
            })
            .collect()
    }
}

impl fmt::Display for TensorSlice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, e) in self.0.iter().enumerate() {
            let colon = if i > 0 { ":" } else { "" };
            match e.length {
                Some(n) => write!(f, "{colon}{},{n}", e.start)?,
                None => write!(f, "{colon}-")?,
            }
        }
        Ok(())
    }
}

/// An element of `shape_and_slices`: `4 3 0,2:-`, the full shape and a slice.
#[derive(Clone, Debug)]
pub struct ShapeAndSlice {
    pub shape: Shape,
    pub slice: TensorSlice,
    /// The shape of the slice.
    pub slice_shape: Shape,
}

impl ShapeAndSlice {
    pub fn parse(text: &str) -> Result<ShapeAndSlice> {
        let mut parts: Vec<&str> = text.split(' ').collect();
        let slice = match parts.pop() {
            Some(slice) if !parts.is_empty() => slice,
            _ => return Err(invalid!("Need least two elements in shape_and_slice specification: {text}")),
        };
        let dims: Option<Vec<i64>> = parts.iter().map(|d| d.parse().ok()).collect();
        let dims =
            dims.ok_or_else(|| invalid!("Non numerical dimension in shape_and_slice specification: {text}"))?;
        let shape = Shape::from_i64(&dims)?;
        let slice = TensorSlice::parse(slice)?;
        let sizes: Vec<usize> = slice.ranges(&shape)?.iter().map(|(start, end)| end - start).collect();
        Ok(ShapeAndSlice { slice_shape: Shape::new(&sizes)?, shape, slice })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_slices() {
        for text in ["", "-", "0,3", "0,3:-:5,1"] {
            assert_eq!(TensorSlice::parse(text).unwrap().to_string(), text);
        }
        for text in ["x", "1", "1,0", "-1,2", "1,-2", "0,3:", "99999999999999999999,1", "1,2,3"] {
            assert!(TensorSlice::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn stored_slices_come_back_unless_they_are_none() {
        let slice = TensorSlice::parse("0,3:-:5,1").unwrap();
        assert_eq!(TensorSlice::from_proto(&slice.to_proto()).unwrap(), slice);
        for (start, length) in [(-1, Some(2)), (0, Some(-1)), (1, None), (-1, None)] {
            let has_length_hack = length.map(HasLengthHack::Length);
            let extent = vec![tensor_slice_proto::Extent { start, has_length_hack }];
            assert!(TensorSlice::from_proto(&TensorSliceProto { extent }).is_err(), "{start} {length:?}");
        }
    }

    #[test]
    fn shapes_with_slices() {
        let s = ShapeAndSlice::parse("5 3 3,2:-").unwrap();
        assert_eq!((s.shape.dims(), s.slice_shape.dims()), (&[5, 3][..], &[2, 3][..]));
        for bad in [
            "",
            "x",
            "2",
            "2 1,2",
            "2 2 0,1",
            "a 0,1",
            "-2 0,1",
            "9223372036854775807 0,9223372036854775807 ",
        ] {
            assert!(ShapeAndSlice::parse(bad).is_err(), "{bad}");
        }
        let huge = "9223372036854775807 9223372036854775807,9223372036854775807";
        assert!(ShapeAndSlice::parse(huge).is_err());
    }
}
