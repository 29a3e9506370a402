//! Semantics of `x[begin:end:strides, ...]`: arguments and masks shared by all strided-slice ops.
//!
//! Bit i of a mask is for entry i: `begin_mask` and `end_mask` ignore that bound; the `ellipsis_mask` entry expands to the
//! remaining dimensions; a `new_axis_mask` entry adds a dimension of size 1; a `shrink_axis_mask` entry is a single index, whose
//! dimension is removed.

use crate::moving::Block;
use crate::prelude::*;

pub const ATTRS: [&str; 5] = ["begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"];

/// The masks have no more bits.
const MAX_ENTRIES: usize = 32;

#[derive(Clone, Copy)]
pub struct Masks {
    begin: i64,
    end: i64,
    ellipsis: i64,
    new_axis: i64,
    shrink: i64,
}

impl Masks {
    pub fn of(attrs: &Attrs) -> Result<Masks> {
        let masks = Masks {
            begin: attrs.int("begin_mask")?,
            end: attrs.int("end_mask")?,
            ellipsis: attrs.int("ellipsis_mask")?,
            new_axis: attrs.int("new_axis_mask")?,
            shrink: attrs.int("shrink_axis_mask")?,
        };
        if masks.ellipsis & (masks.ellipsis.wrapping_sub(1)) != 0 {
            return Err(invalid!("Multiple ellipses in slice spec not allowed"));
        }
        Ok(masks)
    }
}

fn bit(mask: i64, i: usize) -> bool {
    mask >> i & 1 == 1
}

/// The entries of a slice; unknown bounds are `None`.
pub struct Entries {
    pub begin: Option<Vec<i64>>,
    pub end: Option<Vec<i64>>,
    pub strides: Vec<i64>,
}

impl Entries {
    /// From the inputs of a kernel, `begin` being input `first`.
    pub fn of(c: &OpCall<'_>, first: usize) -> Result<Entries> {
        let (begin, end, strides) =
            (c.int_vector(first)?, c.int_vector(first + 1)?, c.int_vector(first + 2)?);
        if begin.len() != strides.len() || end.len() != strides.len() {
            return Err(invalid!(
                "Expected begin, end, and strides to be 1D equal size tensors, but got {}, {} and {} entries",
                begin.len(),
                end.len(),
                strides.len()
            ));
        }
        Ok(Entries { begin: Some(begin), end: Some(end), strides })
    }

    /// From the inputs of a shape rule; `None` if the strides are unknown.
    pub fn known(c: &ShapeCall<'_>, first: usize) -> Result<Option<Entries>> {
        let mut n = -1;
        for i in first..first + 3 {
            n = merge_dim(n, c.rank(i, 1)?.dim(0))?;
        }
        let Some(strides) = c.ints(first + 2) else { return Ok(None) };
        let fits = |v: &Vec<i64>| v.len() == strides.len();
        Ok(Some(Entries { begin: c.ints(first).filter(fits), end: c.ints(first + 1).filter(fits), strides }))
    }
}

/// The elements taken along one dimension of the input.
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    pub begin: i64,
    pub stride: i64,
    /// Number of elements; -1: unknown.
    pub count: i64,
}

/// A slice resolved for an input.
pub struct Slice {
    pub walks: Vec<Walk>,
    /// The result's sizes; -1 if unknown.
    pub dims: Vec<i64>,
}

impl Slice {
    /// `dims` are the sizes of the input, -1 if unknown.
    pub fn new(dims: &[i64], entries: &Entries, masks: Masks) -> Result<Slice> {
        let n = entries.strides.len();
        if n > MAX_ENTRIES {
            return Err(invalid!("a slice has at most {MAX_ENTRIES} entries, got {n}"));
        }
        let is_new = |i: usize| bit(masks.new_axis, i) && !bit(masks.ellipsis, i);
        let named = (0..n).filter(|i| !is_new(*i) && !bit(masks.ellipsis, *i)).count();
        let mut slice = Slice { walks: Vec::new(), dims: Vec::new() };
        let mut ellipsis_seen = false;
        for i in 0..n {
            if bit(masks.ellipsis, i) {
                ellipsis_seen = true;
                slice.whole_dims(dims, dims.len().saturating_sub(named));
            } else if is_new(i) {
                slice.dims.push(1);
            } else {
                let Some(size) = dims.get(slice.walks.len()) else {
                    return Err(invalid!(
                        "Index out of range using input dim {}; input has only {} dims",
                        slice.walks.len(),
                        dims.len()
                    ));
                };
                let walk = walk(*size, entries, masks, i, slice.walks.len())?;
                slice.walks.push(walk);
                if !bit(masks.shrink, i) {
                    slice.dims.push(walk.count);
                }
            }
        }
        if !ellipsis_seen {
            slice.whole_dims(dims, dims.len().saturating_sub(slice.walks.len()));
        }
        Ok(slice)
    }

    fn whole_dims(&mut self, dims: &[i64], n: usize) {
        for _ in 0..n {
            let count = dims.get(self.walks.len()).copied().unwrap_or(-1);
            self.walks.push(Walk { begin: 0, stride: 1, count });
            self.dims.push(count);
        }
    }

    pub fn shape(&self) -> Result<Shape> {
        Shape::from_i64(&self.dims)
    }

    /// If the result is contiguous rows of the first dimension: which.
    pub fn rows(&self, shape: &Shape) -> Option<(usize, usize)> {
        let (first, rest) = self.walks.split_first()?;
        let whole = |(w, n): (&Walk, &usize)| w.stride == 1 && w.begin == 0 && w.count as usize == *n;
        let together = (first.stride == 1 || first.count == 1) && first.count > 0;
        (together && rest.iter().zip(&shape[1..]).all(whole))
            .then_some((first.begin as usize, first.count as usize))
    }

    /// The copy between the input, of this shape, and the slice, contiguous.
    pub fn block(&self, whole: &Shape, to_part: bool) -> Block {
        let mut start = 0;
        let mut steps = Vec::with_capacity(self.walks.len());
        for (w, s) in self.walks.iter().zip(whole.strides()) {
            if w.count > 0 {
                start += w.begin as usize * s;
            }
            // For a single element the stride is not used, and may be anything.
            let stride = if w.count > 1 { w.stride as isize * s as isize } else { 0 };
            steps.push((w.count.max(0) as usize, stride));
        }
        let mut part = steps.iter().map(|s| s.0).product::<usize>();
        let mut block = if to_part { Block::at(start, 0) } else { Block::at(0, start) };
        for (count, stride) in steps {
            part /= count.max(1);
            block = match to_part {
                true => block.dim(count, stride, part as isize),
                false => block.dim(count, part as isize, stride),
            };
        }
        block
    }
}

/// Entry `i` on dimension `d` of this size.
fn walk(size: i64, entries: &Entries, masks: Masks, i: usize, d: usize) -> Result<Walk> {
    let stride = entries.strides[i];
    let (begin, end) = (entries.begin.as_ref().map(|v| v[i]), entries.end.as_ref().map(|v| v[i]));
    if stride == 0 {
        return Err(invalid!("strides[{i}] must be non-zero"));
    }
    if bit(masks.shrink, i) {
        if stride < 0 {
            return Err(invalid!("only stride 1 allowed on non-range indexing."));
        }
        let Some(index) = begin.filter(|_| size >= 0) else {
            return Ok(Walk { begin: 0, stride: 1, count: 1 });
        };
        let at = if index < 0 { index.saturating_add(size) } else { index };
        if at < 0 || at >= size {
            return Err(invalid!("slice index {at} of dimension {d} out of bounds."));
        }
        return Ok(Walk { begin: at, stride: 1, count: 1 });
    }
    // With a negative stride, -1 (before the first element) is a bound.
    let (low, high) = if stride > 0 { (0, size) } else { (-1, size - 1) };
    let bound = |value: Option<i64>, open: bool, default: i64| match value {
        _ if open => Some(default),
        Some(v) if v < 0 => Some(v.saturating_add(size).clamp(low, high)),
        Some(v) => Some(v.clamp(low, high)),
        None => None,
    };
    let (first, last) = if stride > 0 { (low, high) } else { (high, low) };
    if size < 0 {
        return Ok(Walk { begin: 0, stride, count: -1 });
    }
    let (Some(begin), Some(end)) =
        (bound(begin, bit(masks.begin, i), first), bound(end, bit(masks.end, i), last))
    else {
        return Ok(Walk { begin: 0, stride, count: -1 });
    };
    // Both are within the dimension, so the difference does not overflow.
    let span = end - begin;
    let count = if (span > 0) == (stride > 0) && span != 0 {
        (span.unsigned_abs() - 1) / stride.unsigned_abs() + 1
    } else {
        0
    };
    Ok(Walk { begin, stride, count: count as i64 })
}
