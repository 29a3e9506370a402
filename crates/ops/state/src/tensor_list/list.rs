//! `TensorList`: the variant value of this family, and shared code of its ops.

use crate::prelude::*;

/// A list by value.
pub struct TensorList {
    pub dtype: DataType,
    /// The shape of an element.
    pub shape: PartialShape,
    /// Maximum length, if limited.
    pub max: Option<usize>,
    /// Elements; `None` if reserved but not set.
    pub items: Vec<Option<Tensor>>,
}

impl TensorList {
    pub fn new(dtype: DataType, shape: PartialShape) -> TensorList {
        TensorList { dtype, shape, max: None, items: Vec::new() }
    }

    pub fn check_type(&self, dtype: DataType) -> Result<()> {
        if dtype == self.dtype {
            return Ok(());
        }
        Err(invalid!("Invalid data types; op elements {dtype} but list elements {}", self.dtype))
    }

    /// The shape of an unset element: from the known shapes, or of the first set element.
    pub fn unset_shape(&self, asked: &PartialShape) -> Result<Shape> {
        let mut known = merged(asked, &self.shape)?;
        if let (false, Some(set)) = (known.is_fully_known(), self.items.iter().flatten().next()) {
            known = merged(&known, &set.shape().into())?;
        }
        known.to_shape().ok_or_else(|| {
            invalid!(
                "Trying to read an uninitialized tensor but element_shape is not fully defined: {known} \
                 and no list element is set."
            )
        })
    }

    /// Elements at these indices, zeros if unset.
    pub fn all_of(&self, indices: impl Iterator<Item = usize>, asked: &PartialShape) -> Result<Vec<Tensor>> {
        let mut zeros: Option<Tensor> = None;
        let each = indices.map(|i| match (self.items.get(i), &zeros) {
            (Some(Some(t)), _) => Ok(t.clone()),
            (_, Some(zeros)) => Ok(zeros.clone()),
            _ => {
                let t = Tensor::zeros(self.dtype, self.unset_shape(asked)?)?;
                zeros = Some(t.clone());
                Ok(t)
            }
        });
        reserve::try_collect(each)
    }

    /// A list with other elements.
    pub fn with_items(&self, items: Vec<Option<Tensor>>) -> TensorList {
        TensorList { dtype: self.dtype, shape: self.shape.clone(), max: self.max, items }
    }

    /// Resizes the list; new elements are unset.
    pub fn resize(&mut self, size: usize) -> Result<()> {
        let more = size.saturating_sub(self.items.len());
        reserve::room(&mut self.items, more)
            .map_err(|e| e.context(format_args!("a list of {size} elements")))?;
        self.items.resize_with(size, || None);
        Ok(())
    }
}

/// What is known by two shapes, with TensorFlow's words where they contradict each other.
pub fn merged(a: &PartialShape, b: &PartialShape) -> Result<PartialShape> {
    a.merge(b).map_err(|_| match (a.rank(), b.rank()) {
        (Some(x), Some(y)) if x != y => {
            invalid!("PartialTensorShape: Incompatible ranks during merge: {x} vs. {y}")
        }
        _ => invalid!("PartialTensorShape: Incompatible shapes during merge: {a} vs. {b}"),
    })
}

/// The shape that input `i` holds: a vector, or the scalar -1 for any shape.
pub fn shape_input(c: &OpCall<'_>, i: usize) -> Result<PartialShape> {
    let t = c.input(i)?;
    let sizes = t.to_i64s()?;
    match (t.rank(), sizes.as_slice()) {
        (0, [-1]) => Ok(PartialShape::unknown()),
        (0, _) => Err(invalid!(
            "The only valid scalar shape tensor is the fully unknown shape specified as -1, got {sizes:?}"
        )),
        (1, sizes) => PartialShape::new(sizes),
        _ => Err(invalid!("a shape must be a vector or -1, got shape {}", t.shape())),
    }
}

/// As `shape_input`, before running.
pub fn shape_argument(c: &ShapeCall<'_>, i: usize) -> Result<PartialShape> {
    let scalar = c.input(i).rank() == Some(0) || c.constant(i).is_some_and(|t| t.rank() == 0);
    if scalar || c.input(i).rank().is_none() && c.constant(i).is_none() {
        return Ok(PartialShape::unknown());
    }
    c.as_shape(i)
}

/// A non-negative scalar.
pub fn size_input(c: &OpCall<'_>, i: usize, what: &str) -> Result<usize> {
    let n = c.scalar::<i32>(i)?;
    usize::try_from(n).map_err(|_| invalid!("{what} must be a non negative number, but got {n}"))
}

/// The shape of `x` without its first dimension, as a vector, in a gradient rule.
pub fn shape_of_rows(g: &mut GradCall<'_>, x: Output) -> Result<Output> {
    let shape = g.shape_of(x)?;
    let one = g.constant(int_vector(&[1]))?;
    g.op("StridedSlice", [shape.into(), one.into(), one.into(), one.into()], &[("end_mask", Attr::Int(1))])
}

/// The element shape of a list, in a gradient rule.
pub fn element_shape_of(g: &mut GradCall<'_>, list: Output) -> Result<Output> {
    g.op("TensorListElementShape", [list.into()], &[("shape_type", Attr::Type(DataType::Int32))])
}
