//! `ResizeArea`: resizing, each pixel the mean of the area that it covers.

use super::resize_axis::{Mapping, four, not_empty, resized_shape, size_input};
use super::weighted::{Taps, resize};
use crate::prelude::*;

pub static OPS: &[&Op] = &[&RESIZE_AREA];

static RESIZE_AREA: Op = Op {
    name: "ResizeArea",
    doc: "Resized images, each pixel the mean of the area that it covers in the input.",
    inputs: &["images: T", "size: int32"],
    outputs: &["resized_images: float"],
    attrs: &[
        "T: {int8, uint8, int16, uint16, int32, int64, half, float, double, bfloat16}",
        "align_corners: bool = false",
    ],
    shape: resized_shape,
    grad: Missing,
    kernels: cpu!(make prepare: T in f32, f64, f16, bf16, i8, u8, i16, u16, i32, i64),
    cases: |r| {
        let mut case = |size: [i32; 2]| Case::new(vec![r.tensor(&[2, 5, 4, 2]), int_vector(&size)]);
        vec![case([2, 3]), case([7, 4]), case([3, 2]).attr("align_corners", true)]
    },
    expensive: true,
    host_inputs: &["size"],
    ..Op::PURE
};

fn taps(mapping: &Mapping, old: usize, new: usize) -> Result<Taps> {
    let (scale, last) = (mapping.scale(old, new), old as i64 - 1);
    let ends = |i: usize| (i as f32 * scale, (i + 1) as f32 * scale);
    let cells = |i: usize| {
        let (start, end) = ends(i);
        (start.floor() as i64, end.ceil() as i64)
    };
    // A size that no memory holds fails here, not after a walk over billions of outputs.
    drop(Taps::new(new, 1)?);
    let span = (0..new).map(|i| (cells(i).1 - cells(i).0).max(0) as usize).max().unwrap_or(0);
    let mut taps = Taps::new(new, span)?;
    for i in 0..new {
        let (start, end) = ends(i);
        let (from, to) = cells(i);
        for cell in from..from + span as i64 {
            let (low, high) = (cell as f32, (cell + 1) as f32);
            let covered = match cell < to {
                true => (if high > end { end } else { high }) - (if low < start { start } else { low }),
                false => 0.0,
            };
            taps.push(cell.clamp(0, last) as usize, covered / scale)?;
        }
    }
    Ok(taps)
}

fn prepare<T: Real>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let mapping = Mapping::with_corners(&node.attrs)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let (dims, size) = (four(c, 0)?, size_input(c, 1)?);
        not_empty(&dims)?;
        Shape::new(&[dims[0], size[0], size[1], dims[3]])?;
        let (down, across) = (taps(&mapping, dims[1], size[0])?, taps(&mapping, dims[2], size[1])?);
        let out = resize(c, c.slice::<T>(0)?, dims, size, [&down, &across])?;
        c.set(0, out);
        Ok(())
    }))
}
