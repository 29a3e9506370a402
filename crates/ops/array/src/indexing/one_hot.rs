//! `OneHot`: indices as rows that are `on_value` at one position.

use crate::moving::{Motion, apply, filled};
use crate::prelude::*;

pub static ONE_HOT: Op = Op {
    name: "OneHot",
    doc: "A new dimension of size `depth` that is `on_value` at the index and `off_value` elsewhere.",
    inputs: &["indices: TI", "depth: int32", "on_value: T", "off_value: T"],
    outputs: &["output: T"],
    attrs: &["axis: int = -1", "T: type", "TI: {uint8, int8, int32, int64} = DT_INT64"],
    shape,
    grad: Stops,
    kernels: cpu!(make prepare),
    cases: |_| {
        let on_off = [Tensor::scalar(1f32), Tensor::scalar(0f32)];
        let case = |indices: &[i32], depth: i32| {
            let [on, off] = on_off.clone();
            Case::new(vec![int_vector(indices), Tensor::scalar(depth), on, off])
        };
        vec![case(&[0, 2, -1, 3], 3), case(&[1, 0], 4).attr("axis", 0), case(&[], 2)]
    },
    host_inputs: &["depth"],
    ..Op::PURE
};

/// Position of the new dimension: -1 is last.
fn axis_position(axis: i64, rank: usize) -> Result<usize> {
    match axis {
        -1 => Ok(rank),
        0.. if axis as u64 <= rank as u64 => Ok(axis as usize),
        _ => Err(invalid!("Expected axis to be -1 or between [0, {}).  But received: {axis}", rank + 1)),
    }
}

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    for scalar in 1..4 {
        c.scalar(scalar)?;
    }
    let axis = c.attrs.int("axis")?;
    if axis < -1 {
        return Err(invalid!("axis must be >= -1, got {axis}"));
    }
    let depth = c.ints(1).and_then(|d| d.first().copied());
    if depth.is_some_and(|d| d < 0) {
        return Err(invalid!("depth must be non-negative, got: {}", depth.unwrap_or(0)));
    }
    let Some(mut dims) = c.input(0).dims().map(<[i64]>::to_vec) else {
        return Ok(vec![PartialShape::unknown()]);
    };
    dims.insert(axis_position(axis, dims.len())?, depth.unwrap_or(-1));
    Ok(vec![dims.into_iter().collect()])
}

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let axis = node.attrs.int("axis")?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let (depth, on, off) = (c.scalar::<i32>(1)?, c.input(2)?, c.input(3)?);
        for (i, value) in [(2, on), (3, off)] {
            if value.rank() != 0 {
                return Err(invalid!("{} must be a scalar, got shape {}", c.input_name(i), value.shape()));
            }
        }
        let depth =
            usize::try_from(depth).map_err(|_| invalid!("depth must be non-negative, got: {depth}"))?;
        let mut dims = c.shape(0)?.to_vec();
        let axis = axis_position(axis, dims.len())?;
        dims.insert(axis, depth);
        let mut out = filled(c.par(), on.dtype(), Shape::new(&dims)?, Some(off))?;
        let suffix: usize = dims[axis + 1..].iter().product();
        match c.input(0)?.dtype() {
            DataType::Uint8 => apply(&Marks { indices: c.slice::<u8>(0)?, depth, suffix }, on, &mut out)?,
            DataType::Int8 => apply(&Marks { indices: c.slice::<i8>(0)?, depth, suffix }, on, &mut out)?,
            DataType::Int32 => apply(&Marks { indices: c.slice::<i32>(0)?, depth, suffix }, on, &mut out)?,
            _ => apply(&Marks { indices: c.slice::<i64>(0)?, depth, suffix }, on, &mut out)?,
        }
        c.set(0, out);
        Ok(())
    }))
}

/// Writes the source, a scalar, to the position of each index. Read as they are: a list of positions would be larger than the indices.
struct Marks<'a, I> {
    indices: &'a [I],
    depth: usize,
    /// Elements after the new dimension.
    suffix: usize,
}

impl<I: Copy + Into<i64> + Sync> Motion for Marks<'_, I> {
    fn run<C: Clone + Send + Sync>(&self, from: &[C], to: &mut [C]) {
        let (Some(on), true) = (from.first(), self.depth > 0 && self.suffix > 0) else { return };
        let blocks = to.chunks_exact_mut(self.depth * self.suffix);
        for (block, indices) in blocks.zip(self.indices.chunks_exact(self.suffix)) {
            for (j, index) in indices.iter().enumerate() {
                let index = usize::try_from((*index).into()).ok().filter(|index| *index < self.depth);
                if let Some(slot) = index.and_then(|index| block.get_mut(index * self.suffix + j)) {
                    slot.clone_from(on);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, floats, ints};

    #[test]
    fn a_negative_or_absurd_depth_is_refused() {
        let one = floats(&[], &[1.0]);
        let hot = |n: usize, depth| {
            let indices = ints(&[n], &vec![0; n]);
            call("OneHot", &[indices, ints(&[], &[depth]), one.clone(), one.clone()], &[])
        };
        assert_eq!(code(hot(1, -3)), Code::InvalidArgument);
        assert_eq!(code(hot(1000, i32::MAX)), Code::ResourceExhausted);
    }
}
