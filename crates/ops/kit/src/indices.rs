//! Index tensors: read, validated, and converted to offsets.

use crate::prelude::*;

/// Marks an index that is skipped.
pub const NOWHERE: usize = usize::MAX;

/// The indices as positions; each must be in [0, limit).
pub fn positions(indices: &Tensor, limit: usize) -> Result<Vec<usize>> {
    let values = indices.to_i64s()?;
    match values.iter().position(|v| *v < 0 || *v as usize >= limit) {
        None => reserve::collect(values.iter().map(|v| *v as usize)),
        Some(i) => Err(invalid!(
            "indices{} = {} is not in [0, {limit})",
            coordinates_text(i, indices.shape()),
            values[i]
        )),
    }
}

/// `[1,2]` for an element of a tensor; nothing for a scalar.
pub fn coordinates_text(mut i: usize, shape: &[usize]) -> String {
    let mut at: Vec<String> = shape
        .iter()
        .rev()
        .map(|n| {
            let here = i % (*n).max(1);
            i /= (*n).max(1);
            here.to_string()
        })
        .collect();
    at.reverse();
    if at.is_empty() { String::new() } else { format!("[{}]", at.join(",")) }
}

/// How an out-of-range index is handled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum BadIndices {
    Error,
    Ignore,
}

impl BadIndices {
    /// From attr `bad_indices_policy`.
    pub fn of(attrs: &Attrs) -> Result<BadIndices> {
        match attrs.str("bad_indices_policy")? {
            "" | "DEFAULT" | "ERROR" => Ok(BadIndices::Error),
            "IGNORE" => Ok(BadIndices::Ignore),
            other => Err(invalid!("bad_indices_policy must be DEFAULT, ERROR or IGNORE, got '{other}'")),
        }
    }
}

/// Indices whose innermost dimension addresses the outer dimensions of a tensor: each selects a slice.
pub struct NdIndices {
    /// The slice that each index selects; `NOWHERE` if out of range and ignored.
    pub places: Vec<usize>,
    /// Number of slices of the tensor; elements of each.
    pub runs: usize,
    pub run: usize,
    /// Dimensions that an index addresses.
    pub depth: usize,
    /// Shape of the indices without the innermost dimension.
    pub outer: Shape,
}

impl NdIndices {
    /// For scatters, where a vector of indices addresses the first dimension.
    pub fn scattering(indices: &Tensor, shape: &Shape, bad: BadIndices) -> Result<NdIndices> {
        if indices.rank() != 1 {
            return NdIndices::new(indices, shape, bad, "shape");
        }
        let column = Shape::new(&[indices.elements(), 1])?;
        NdIndices::new(&indices.clone().reshape(column)?, shape, bad, "shape")
    }

    /// `what` names the tensor addressed in error texts.
    pub fn new(indices: &Tensor, shape: &Shape, bad: BadIndices, what: &str) -> Result<NdIndices> {
        let Some((&depth, outer)) = indices.shape().split_last() else {
            return Err(invalid!("indices must be at least a vector, got shape {}", indices.shape()));
        };
        if depth > shape.rank() {
            return Err(invalid!(
                "index innermost dimension length must be <= rank of {what} {shape}; saw: {depth} vs. {}",
                shape.rank()
            ));
        }
        let (addressed, rest) = shape.split_at(depth);
        let outer = Shape::new(outer)?;
        let values = indices.to_i64s()?;
        // If a dimension of their shape is 0 there may be any number of indices.
        let mut places = reserve::with_capacity(outer.elements())?;
        for i in 0..outer.elements() {
            let index = &values[i * depth..(i + 1) * depth];
            let inside = index.iter().zip(addressed).all(|(v, n)| *v >= 0 && (*v as usize) < *n);
            places.push(match (inside, bad) {
                (true, _) => index.iter().zip(addressed).fold(0, |at, (v, n)| at * n + *v as usize),
                (false, BadIndices::Ignore) => NOWHERE,
                (false, BadIndices::Error) => {
                    let index: Vec<String> = index.iter().map(i64::to_string).collect();
                    return Err(invalid!(
                        "indices{} = [{}] does not index into {what} {shape}",
                        coordinates_text(i, &outer),
                        index.join(", ")
                    ));
                }
            });
        }
        Ok(NdIndices { places, runs: addressed.iter().product(), run: rest.iter().product(), depth, outer })
    }
}

impl NdIndices {
    /// Checks that `updates` has a slice per index.
    pub fn check_updates(&self, updates: &Shape, target: &Shape) -> Result<()> {
        if !updates.starts_with(&self.outer) {
            return Err(invalid!(
                "Outer dimensions of indices and update must match. Indices outer shape: {}, updates shape: {updates}",
                self.outer
            ));
        }
        if updates[self.outer.rank()..] != target[self.depth..] {
            return Err(invalid!(
                "Dimensions [{},{}) of input[shape={target}] must match dimensions [{},{}) of updates[shape={updates}]",
                self.depth,
                target.rank(),
                self.outer.rank(),
                updates.rank()
            ));
        }
        Ok(())
    }

    /// Applies the updates to the elements addressed, in order.
    pub fn update<T: Clone>(&self, target: &mut [T], updates: &[T], change: impl Fn(&mut T, &T)) {
        let always = |t: &mut T, u: &T| {
            change(t, u);
            Ok(())
        };
        let _ = self.try_update(target, updates, always);
    }

    /// As `update`; stops at the first error.
    pub fn try_update<T: Clone>(
        &self,
        target: &mut [T],
        updates: &[T],
        change: impl Fn(&mut T, &T) -> Result<()>,
    ) -> Result<()> {
        if self.run == 0 {
            return Ok(());
        }
        for (place, updates) in self.places.iter().zip(updates.chunks_exact(self.run)) {
            if *place != NOWHERE {
                for (t, u) in target[place * self.run..].iter_mut().zip(updates) {
                    change(t, u)?;
                }
            }
        }
        Ok(())
    }
}

/// Shape rule of a scatter by coordinates: the shape of `target`, the others checked against it.
pub fn scatter_nd_shape(
    target: &PartialShape,
    indices: &PartialShape,
    updates: &PartialShape,
) -> Result<PartialShape> {
    let (Some((depth, outer)), Some(t)) = (indices.dims().and_then(|d| d.split_last()), target.dims()) else {
        return Ok(target.clone());
    };
    if *depth < 0 || outer.is_empty() {
        return Ok(target.clone());
    }
    let Some(rest) = t.get(*depth as usize..) else {
        return Err(invalid!("indices of shape {indices} address {depth} dimensions of shape {target}"));
    };
    let wanted: PartialShape = outer.iter().chain(rest).copied().collect();
    wanted.merge(updates).map_err(|e| {
        e.context(format_args!(
            "updates of shape {updates} for indices of shape {indices} into shape {target}"
        ))
    })?;
    Ok(target.clone())
}
