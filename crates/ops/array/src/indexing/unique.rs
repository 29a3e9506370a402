//! `Unique`, `UniqueV2`, `UniqueWithCounts`, `UniqueWithCountsV2`: distinct values.

use super::number_hash::NumberHash;
use crate::convert::int_tensor;
use crate::keys::keys;
use crate::moving::{Gather, apply};
use crate::prelude::*;
use std::collections::HashMap;
use std::hash::Hash;

pub static UNIQUE: Op = Op {
    name: "Unique",
    doc: "The distinct elements of a vector in order of appearance, and the index into them of each element.",
    inputs: &["x: T"],
    outputs: &["y: T", "idx: out_idx"],
    attrs: &["T: type", "out_idx: {int32, int64} = DT_INT32"],
    shape,
    kernels: cpu!(run),
    cases: |_| {
        vec![Case::new(vec![int_vector(&[1, 1, 2, 4, 4, 4, 7, 8, 1])]), Case::new(vec![int_vector(&[])])]
    },
    ..Op::PURE
};

pub static UNIQUE_V2: Op = Op {
    name: "UniqueV2",
    doc: "As Unique, of the slices along `axis` (or the elements, if it is empty).",
    inputs: &["x: T", "axis: Taxis"],
    attrs: &["T: type", "Taxis: {int32, int64} = DT_INT64", "out_idx: {int32, int64} = DT_INT32"],
    cases: |r| {
        vec![
            Case::new(vec![r.ints(&[6, 2], 0, 2), int_vector(&[0])]),
            Case::new(vec![r.ints(&[2, 6, 2], 0, 2), int_vector(&[1])]),
            Case::new(vec![r.ints(&[6], 0, 3), int_vector(&[])]),
        ]
    },
    host_inputs: &["axis"],
    ..UNIQUE
};

pub static UNIQUE_WITH_COUNTS: Op = Op {
    name: "UniqueWithCounts",
    doc: "As Unique, with the number of times that each element occurs.",
    outputs: &["y: T", "idx: out_idx", "count: out_idx"],
    ..UNIQUE
};

pub static UNIQUE_WITH_COUNTS_V2: Op = Op {
    name: "UniqueWithCountsV2",
    doc: "As UniqueV2, with the number of times that each slice occurs.",
    outputs: &["y: T", "idx: out_idx", "count: out_idx"],
    ..UNIQUE_V2
};

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let has_axis = c.inputs.len() > 1;
    let x = if has_axis { c.input(0) } else { c.rank(0, 1)? };
    let axes = if has_axis { c.rank(1, 1).map(|_| c.ints(1))? } else { Some(vec![]) };
    let (y, slices) = match (x.dims(), axes.as_deref()) {
        (_, Some([])) => (PartialShape::vector(-1), c.rank(0, 1)?.dim(0)),
        (Some(dims), Some([axis])) => {
            let axis = axis_in_range(*axis, dims.len())?;
            let with = dims.iter().enumerate().map(|(i, d)| if i == axis { -1 } else { *d });
            (with.collect(), dims[axis])
        }
        (_, Some([_, _, ..])) => {
            return Err(invalid!("axis does not support input tensors larger than 1 elements"));
        }
        _ => (PartialShape::unknown(), -1),
    };
    let mut shapes = vec![y, PartialShape::vector(slices)];
    if c.outputs > 2 {
        shapes.push(PartialShape::vector(-1));
    }
    Ok(shapes)
}

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let x = c.input(0)?;
    let axes = if c.inputs.len() > 1 { c.int_vector(1)? } else { Vec::new() };
    let axis = match axes.as_slice() {
        [] if x.rank() == 1 => 0,
        [] => return Err(invalid!("unique expects a 1D vector, got shape {}", x.shape())),
        [axis] => axis_in_range(*axis, x.rank())?,
        _ => return Err(invalid!("axis does not support input tensors larger than 1 elements")),
    };
    let (outer, size, inner) = x.shape().around(axis)?;
    // Mostly row ids, which need no key conversion.
    let is_number = matches!(x.dtype(), DataType::Int32 | DataType::Int64);
    let found = if outer * inner == 1 && is_number {
        distinct_numbers(&x.to_i64s()?)?
    } else if outer * inner == 1 {
        first_places(keys(&[x])?.pop().unwrap_or_default().into_iter().map(Ok))?
    } else {
        let numbers = keys(&[x])?.pop().unwrap_or_default();
        let slice = |i: usize| {
            let mut slice = reserve::with_capacity(outer.saturating_mul(inner))?;
            let starts = (0..outer).map(|o| (o * size + i) * inner);
            starts.for_each(|s| slice.extend_from_slice(&numbers[s..s + inner]));
            Ok(slice)
        };
        first_places((0..size).map(slice))?
    };
    let mut y = Tensor::uninit(x.dtype(), x.shape().with(axis, found.places.len())?)?;
    let pick = Gather { batches: 1, outer, size, run: inner, picks: &found.places, par: c.par() };
    apply(&pick, x, &mut y)?;
    let index = c.output_type(1)?;
    let (idx, counts) = (int_tensor(index, &found.ids)?, int_tensor(index, &found.counts)?);
    c.set(0, y);
    c.set(1, idx);
    if c.node.outputs.len() > 2 {
        c.set(2, counts);
    }
    Ok(())
}

/// The distinct items of a sequence.
struct Found {
    /// First occurrences.
    places: Vec<usize>,
    /// Counts of each.
    counts: Vec<i64>,
    /// For each item of the sequence, its distinct item.
    ids: Vec<i64>,
}

/// A table of up to this size is allocated at once; a larger one grows with the distinct items.
const TABLE: usize = 1 << 14;

fn first_places<K: Hash + Eq>(items: impl ExactSizeIterator<Item = Result<K>>) -> Result<Found> {
    let mut seen: HashMap<K, usize, NumberHash> = HashMap::with_hasher(NumberHash::new());
    reserve::room(&mut seen, items.len().min(TABLE))?;
    distinct(items, |item, new| {
        reserve::room(&mut seen, 1)?;
        Ok(*seen.entry(item?).or_insert(new))
    })
}

/// Numbers that lie close together index a table: hashing them would take several times as long.
fn distinct_numbers(numbers: &[i64]) -> Result<Found> {
    let least = numbers.iter().copied().min().unwrap_or(0);
    let greatest = numbers.iter().copied().max().unwrap_or(0);
    let range = greatest.abs_diff(least);
    if range >= (numbers.len() as u64).saturating_mul(2) {
        return first_places(numbers.iter().copied().map(Ok));
    }
    let mut seen = reserve::filled(range as usize + 1, UNSEEN)?;
    distinct(numbers.iter(), |number, new| {
        let Some(id) = seen.get_mut(number.abs_diff(least) as usize) else { return Ok(new) };
        if *id == UNSEEN {
            *id = new;
        }
        Ok(*id)
    })
}

const UNSEEN: usize = usize::MAX;

/// The distinct items, where `id_of` tells the id of an item, which is the one passed if it is new.
fn distinct<I>(
    items: impl ExactSizeIterator<Item = I>,
    mut id_of: impl FnMut(I, usize) -> Result<usize>,
) -> Result<Found> {
    let mut found =
        Found { places: Vec::new(), counts: Vec::new(), ids: reserve::with_capacity(items.len())? };
    for (i, item) in items.enumerate() {
        let id = id_of(item, found.places.len())?;
        if id == found.places.len() {
            reserve::push(&mut found.places, i)?;
            reserve::push(&mut found.counts, 0)?;
        }
        found.counts[id] += 1;
        found.ids.push(id as i64);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, floats, ints};

    #[test]
    fn zeros_are_equal_and_nans_are_not() {
        let y = call("Unique", &[floats(&[4], &[0.0, -0.0, f32::NAN, f32::NAN])], &[]).unwrap();
        assert_eq!(y[1].as_slice::<i32>().unwrap(), &[0, 0, 1, 2]);
    }

    #[test]
    fn near_and_distant_numbers_have_the_same_ids() {
        for scale in [1i64, 1 << 40] {
            let x = Tensor::from_slice(Shape::vector(6), &[3, -1, 3, 0, -1, 3].map(|v| v * scale)).unwrap();
            let y = call("UniqueWithCounts", &[x], &[]).unwrap();
            assert_eq!(y[0].as_slice::<i64>().unwrap(), &[3 * scale, -scale, 0]);
            assert_eq!(y[1].as_slice::<i32>().unwrap(), &[0, 1, 0, 2, 1, 0]);
            assert_eq!(y[2].as_slice::<i32>().unwrap(), &[3, 2, 1]);
        }
        let far = Tensor::from_slice(Shape::vector(2), &[i64::MIN, i64::MAX]).unwrap();
        let far = call("Unique", &[far], &[]).unwrap();
        assert_eq!(far[1].as_slice::<i32>().unwrap(), &[0, 1]);
    }

    #[test]
    fn a_matrix_needs_one_axis() {
        let x = ints(&[1, 1], &[1]);
        assert_eq!(code(call("Unique", &[x.clone()], &[])), Code::InvalidArgument);
        for axes in [ints(&[0], &[]), ints(&[2], &[0, 1]), ints(&[1], &[2])] {
            assert_eq!(code(call("UniqueV2", &[x.clone(), axes], &[])), Code::InvalidArgument);
        }
    }
}
