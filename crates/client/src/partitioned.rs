//! Partitioned variables: one large variable sharded into several parts, named and saved as in TensorFlow.

use crate::output::Output;
use crate::scope::Scope;
use crate::variables::{Initializer, Variable, VariableOptions};
use std::panic::Location;
use thalweg_core::dtype::DataType;
use thalweg_core::error::Result;
use thalweg_core::invalid;

/// How many parts a variable is partitioned into, and along which axis.
#[derive(Clone, Copy, Debug)]
pub enum Partitioner {
    /// This many, at most the size of the axis.
    FixedSize {
        /// How many parts.
        shards: usize,
        /// The axis that is split.
        axis: usize,
    },
    /// As few as keep each part at `max_shard_bytes` at most, up to `max_shards`.
    VariableAxisSize {
        /// The maximum size of a part.
        max_shard_bytes: usize,
        /// The axis that is split.
        axis: usize,
        /// The maximum number of parts, if any.
        max_shards: Option<usize>,
    },
    /// Up to `max_partitions` of at least `min_slice_size` bytes.
    MinMax {
        /// The maximum number of parts.
        max_partitions: usize,
        /// The axis that is split.
        axis: usize,
        /// The minimum size of a part, in bytes.
        min_slice_size: usize,
    },
}

/// The size of a string that the partitioners assume.
const STRING_BYTES: usize = 16;

impl Partitioner {
    fn axis(&self) -> usize {
        match self {
            Partitioner::FixedSize { axis, .. }
            | Partitioner::VariableAxisSize { axis, .. }
            | Partitioner::MinMax { axis, .. } => *axis,
        }
    }

    /// The number of parts of a variable of this type and shape.
    pub fn parts(&self, dtype: DataType, dims: &[usize]) -> Result<usize> {
        let axis = self.axis();
        let Some(length) = dims.get(axis).copied() else {
            return Err(invalid!("cannot split a variable of rank {} along axis {axis}", dims.len()));
        };
        let element = if dtype == DataType::String { STRING_BYTES } else { dtype.size().max(1) };
        let product = |dims: &[usize]| dims.iter().try_fold(element, |n, d| n.checked_mul(*d));
        let bytes = product(dims).ok_or_else(|| invalid!("the size of {dims:?} overflows"))?;
        let wanted = match self {
            Partitioner::FixedSize { shards, .. } => *shards,
            Partitioner::VariableAxisSize { max_shard_bytes, max_shards, .. } => {
                let row = bytes.checked_div(length).unwrap_or(0);
                let rows = max_shard_bytes.checked_div(row).unwrap_or(length).max(1);
                length.div_ceil(rows).min(max_shards.unwrap_or(usize::MAX))
            }
            Partitioner::MinMax { max_partitions, min_slice_size, .. } => {
                bytes.div_ceil((*min_slice_size).max(1)).min(*max_partitions)
            }
        };
        Ok(wanted.min(length).max(1))
    }
}

/// The slice of a larger tensor that a variable holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The name of the full tensor.
    pub full_name: String,
    /// The shape of the full tensor.
    pub full_dims: Vec<usize>,
    /// The start of the slice.
    pub offset: Vec<usize>,
    /// The shape of the slice.
    pub dims: Vec<usize>,
}

impl Slice {
    /// The slice spec of SaveV2 and RestoreV2: full shape, then start and length in each dimension.
    pub fn spec(&self) -> String {
        let whole: String = self.full_dims.iter().map(|d| format!("{d} ")).collect();
        let part: Vec<String> =
            self.offset.iter().zip(&self.dims).map(|(start, length)| format!("{start},{length}")).collect();
        whole + &part.join(":")
    }
}

/// A partitioned variable; its parts are ordinary variables `name/part_0`, `name/part_1`, ..
#[derive(Clone, Debug)]
pub struct PartitionedVariable {
    /// The full name, used in checkpoints.
    pub name: String,
    /// In order along the axis.
    pub parts: Vec<Variable>,
    /// The axis that it is split along.
    pub axis: usize,
}

impl PartitionedVariable {
    /// The parts concatenated to one tensor.
    #[track_caller]
    pub fn value(&self, g: &Scope) -> Output {
        let g = g.top_level();
        let parts: Vec<&Output> = self.parts.iter().map(|v| &v.value).collect();
        let whole = match parts.as_slice() {
            [one] => (*one).clone(),
            many => {
                let inside = g.name_scope(&format!("{}/ConcatPartitions", self.name));
                inside.concat(many, i32::try_from(self.axis).unwrap_or(i32::MAX))
            }
        };
        g.op("Identity").name(&self.name).input(&whole).output()
    }
}

/// Slices of equal length; the first ones are longer by one if it does not divide evenly.
fn slices(name: &str, dims: &[usize], axis: usize, parts: usize) -> Vec<Slice> {
    let length = dims.get(axis).copied().unwrap_or(0);
    let (each, longer) = (length / parts, length % parts);
    let mut at = 0;
    let part = |i: usize| {
        let mut slice = Slice {
            full_name: name.to_string(),
            full_dims: dims.to_vec(),
            offset: vec![0; dims.len()],
            dims: dims.to_vec(),
        };
        let rows = each + usize::from(i < longer);
        if let (Some(offset), Some(size)) = (slice.offset.get_mut(axis), slice.dims.get_mut(axis)) {
            (*offset, *size) = (at, rows);
        }
        at += rows;
        slice
    };
    (0..parts).map(part).collect()
}

impl Scope {
    /// A partitioned variable: created or shared, as the scope's reuse says. Each part has its own initializer.
    #[track_caller]
    pub fn get_partitioned_variable(
        &self,
        name: &str,
        dims: &[usize],
        initializer: &dyn Initializer,
        partitioner: &Partitioner,
    ) -> PartitionedVariable {
        self.get_partitioned_variable_with(name, dims, initializer, partitioner, VariableOptions::default())
    }

    /// As [`Scope::get_partitioned_variable`], with a type and whether optimizers train it.
    #[track_caller]
    pub fn get_partitioned_variable_with(
        &self,
        name: &str,
        dims: &[usize],
        initializer: &dyn Initializer,
        partitioner: &Partitioner,
        options: VariableOptions,
    ) -> PartitionedVariable {
        let (full, axis) = (self.variable_name(name), partitioner.axis());
        let parts = match partitioner.parts(options.dtype, dims) {
            Ok(parts) => slices(&full, dims, axis, parts),
            Err(e) => {
                self.fail(e.context(format_args!("variable '{full}'")), Location::caller());
                Vec::new()
            }
        };
        let mut made = Vec::with_capacity(parts.len());
        for (i, slice) in parts.into_iter().enumerate() {
            let build = |at: &Scope| initializer.build_part(at, options.dtype, &slice);
            let part = self.get_or_make(&format!("{name}/part_{i}"), &slice.dims, options, build);
            made.push(self.set_slice(part, slice));
        }
        PartitionedVariable { name: full, parts: made, axis }
    }
}

impl Variable {
    /// This variable, an optimizer's slot of `primary`, as the same slice of a larger one.
    pub fn beside(self, primary: &Variable) -> Variable {
        let Some(of) = &primary.slice else { return self };
        let own = self.name();
        let suffix = own.strip_prefix(&format!("{}/", primary.name())).unwrap_or(&own);
        let slice = Slice { full_name: format!("{}/{suffix}", of.full_name), ..Slice::clone(of) };
        let scope = self.handle.scope.clone();
        scope.set_slice(self, slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Results of TensorFlow 2.21's partitioners.
    #[test]
    fn as_many_parts_as_tensorflow_makes() {
        let parts = |p: Partitioner, dtype, dims: &[usize]| p.parts(dtype, dims).unwrap();
        let float = DataType::Float;
        assert_eq!(parts(Partitioner::FixedSize { shards: 3, axis: 0 }, float, &[7, 3]), 3);
        assert_eq!(parts(Partitioner::FixedSize { shards: 3, axis: 0 }, float, &[2, 3]), 2);
        let by_size =
            |bytes, max| Partitioner::VariableAxisSize { max_shard_bytes: bytes, axis: 0, max_shards: max };
        assert_eq!(parts(by_size(65536, None), float, &[4096, 16]), 4);
        assert_eq!(parts(by_size(1, None), float, &[5, 16]), 5);
        assert_eq!(parts(by_size(65536, Some(3)), float, &[4096, 16]), 3);
        assert_eq!(parts(by_size(1024, None), DataType::String, &[100]), 2);
        let min_max = |max, min| Partitioner::MinMax { max_partitions: max, axis: 0, min_slice_size: min };
        assert_eq!(parts(min_max(100, 2 << 10), float, &[1024, 8]), 16);
        assert_eq!(parts(min_max(10, 2 << 10), float, &[1024, 8]), 10);
        assert_eq!(parts(min_max(100, 256 << 10), float, &[3, 8]), 1);
        assert!(Partitioner::FixedSize { shards: 2, axis: 2 }.parts(float, &[7, 3]).is_err());
    }

    #[test]
    fn the_first_parts_are_the_longer_ones() {
        let rows: Vec<(usize, usize)> =
            slices("p", &[7, 3], 0, 3).iter().map(|s| (s.offset[0], s.dims[0])).collect();
        assert_eq!(rows, [(0, 3), (3, 2), (5, 2)]);
        assert_eq!(slices("p", &[7, 3], 1, 3)[1].spec(), "7 3 0,7:1,1");
    }
}
