//! `UnsortedSegmentJoin`: the strings of each segment joined.

use super::mapped::words;
use crate::prelude::*;
use bytes::Bytes;

pub static UNSORTED_SEGMENT_JOIN: Op = Op {
    name: "UnsortedSegmentJoin",
    doc: "The strings with each segment id, joined in order; ids may be in any order.",
    inputs: &["inputs: string", "segment_ids: Tindices", "num_segments: Tnumsegments"],
    outputs: &["output: string"],
    attrs: &["separator: string = ''", "Tindices: {int32, int64}", "Tnumsegments: {int32, int64} = DT_INT32"],
    shape: |c| {
        let (data, ids) = (c.input(0), c.input(1));
        c.scalar(2)?;
        let (Some(data), Some(ids)) = (data.dims(), ids.dims()) else { return shape_call::unknown(c) };
        if data.len() < ids.len() {
            return Err(invalid!("segment_ids of shape {} for inputs of shape {}", c.input(1), c.input(0)));
        }
        let segments = match c.ints(2).as_deref() {
            Some([n]) if *n < 0 => {
                return Err(invalid!("Number of segments must be non-negative but got {n}"));
            }
            Some([n]) => *n,
            _ => -1,
        };
        Ok(vec![std::iter::once(segments).chain(data[ids.len()..].iter().copied()).collect()])
    },
    grad: Stops,
    kernels: cpu!(run),
    cases: |_| {
        let text = words(&[2, 2], &["a", "b", "c", "d"]);
        let two = Tensor::scalar(2i32);
        vec![
            Case::new(vec![text.clone(), int_vector(&[1, 1]), two.clone()]).attr("separator", "-"),
            Case::new(vec![
                text.reshape(Shape::vector(4)).unwrap_or_else(|_| Tensor::string("")),
                int_vector(&[0, 2, 0, 2]),
                Tensor::scalar(3i32),
            ]),
        ]
    },
    ..Op::PURE
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let (data, ids, separator) = (c.input(0)?, c.input(1)?, c.attrs().bytes("separator")?);
    if !c.shape(2)?.is_scalar() {
        return Err(invalid!("Number of segments must be a scalar, got shape {}", c.shape(2)?));
    }
    let segments = c.scalar_int(2)?;
    let segments = usize::try_from(segments)
        .map_err(|_| invalid!("Number of segments must be non-negative but got {segments}"))?;
    if ids.rank() == 0 {
        return Err(invalid!("Segment_id cannot have rank 0"));
    }
    let (front, inner) = data.shape().dims().split_at_checked(ids.rank()).unwrap_or((&[], &[]));
    if front != ids.shape().dims() {
        return Err(invalid!(
            "the shape of segment_ids {} must begin that of inputs {}",
            ids.shape(),
            data.shape()
        ));
    }
    let columns: usize = inner.iter().product();
    let shape = Shape::new(&[&[segments], inner].concat())?;
    let mut joined: Vec<Vec<u8>> = reserve::filled(shape.elements(), Vec::new())?;
    let strings = data.strings()?;
    for (i, id) in ids.to_i64s()?.into_iter().enumerate() {
        let Some(id) = usize::try_from(id).ok().filter(|id| *id < segments) else {
            return Err(invalid!(
                "segment_ids are not allowed to exceed num_segments or to have negative values: {id} of {segments}"
            ));
        };
        for column in 0..columns {
            let (Some(text), Some(out)) =
                (strings.get(i * columns + column), joined.get_mut(id * columns + column))
            else {
                continue;
            };
            // As in TensorFlow, empty strings at the front leave no separator.
            if !out.is_empty() {
                reserve::extend(out, separator)?;
            }
            reserve::extend(out, text)?;
        }
    }
    let items = reserve::collect(joined.into_iter().map(Bytes::from))?;
    let out = Tensor::from_objects(shape, items)?;
    c.set(0, out);
    Ok(())
}
