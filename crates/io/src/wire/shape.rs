//! TensorShapeProto.

use thalweg_core::error::Result;
use thalweg_core::shape::{PartialShape, Shape};
use thalweg_core::{invalid, reserve};
use thalweg_proto::TensorShapeProto;
use thalweg_proto::tensor_shape_proto::Dim;

pub fn partial_shape_from_proto(p: &TensorShapeProto) -> Result<PartialShape> {
    if p.unknown_rank {
        return Ok(PartialShape::unknown());
    }
    PartialShape::new(&reserve::collect(p.dim.iter().map(|d| d.size))?)
}

/// A fully defined shape: absent means scalar, and no dimension may be unknown.
pub fn shape_from_proto(p: Option<&TensorShapeProto>) -> Result<Shape> {
    let Some(p) = p else { return Ok(Shape::scalar()) };
    if p.unknown_rank {
        return Err(invalid!("a tensor's shape must be known, got one of unknown rank"));
    }
    Shape::from_i64(&reserve::collect(p.dim.iter().map(|d| d.size))?)
}

pub fn partial_shape_to_proto(s: &PartialShape) -> TensorShapeProto {
    match s.dims() {
        None => TensorShapeProto { unknown_rank: true, ..Default::default() },
        Some(dims) => TensorShapeProto {
            dim: dims.iter().map(|d| Dim { size: *d, ..Default::default() }).collect(),
            ..Default::default()
        },
    }
}

pub fn shape_to_proto(s: &Shape) -> TensorShapeProto {
    partial_shape_to_proto(&s.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_stays_unknown() {
        for shape in
            [PartialShape::unknown(), PartialShape::new(&[]).unwrap(), PartialShape::new(&[-1, 3]).unwrap()]
        {
            assert_eq!(partial_shape_from_proto(&partial_shape_to_proto(&shape)).unwrap(), shape);
        }
        assert!(shape_from_proto(Some(&partial_shape_to_proto(&PartialShape::unknown()))).is_err());
        assert!(shape_from_proto(Some(&partial_shape_to_proto(&PartialShape::new(&[-1]).unwrap()))).is_err());
        assert_eq!(shape_from_proto(None).unwrap(), Shape::scalar());
    }
}
