//! `RandomCrop`: a part of an image at a random place.

use super::drawn::Seeded;
use crate::prelude::*;
use thalweg_math::random::Words;

pub static RANDOM_CROP: Op = Op {
    name: "RandomCrop",
    doc: "A part of an image, of `size` rows and columns, at a random place.",
    inputs: &["image: T", "size: int64"],
    outputs: &["output: T"],
    attrs: &["T: {uint8, int8, int16, int32, int64, float, double}", "seed: int = 0", "seed2: int = 0"],
    shape: |c| {
        let image = c.rank(0, 3)?;
        PartialShape::vector(2).merge(&c.input(1))?;
        let size = c.as_shape(1)?;
        let dim = |i: usize| if size.rank() == Some(2) { size.dim(i) } else { -1 };
        Ok(vec![[dim(0), dim(1), image.dim(2)].into_iter().collect()])
    },
    kernels: cpu!(make prepare: T in u8, i8, i16, i32, i64, f32, f64),
    cases: |r| {
        let size = Tensor::vector(&[2i64, 3]).unwrap_or_else(|_| Tensor::scalar(0i64));
        vec![Case::new(vec![r.tensor(&[4, 5, 2]), size]).attr("seed", 3).attr("seed2", 5)]
    },
    ..Op::STATEFUL
};

fn prepare<T: Element>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let own = Seeded::of(node)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let (shape, size) = (c.shape(0)?.clone(), c.int_vector(1)?);
        let (&[height, width, depth], &[rows, columns]) = (shape.dims(), size.as_slice()) else {
            return Err(invalid!(
                "input must be 3-dimensional and shape_t must have two elements, got {shape} and {}",
                c.shape(1)?
            ));
        };
        let fits = |wanted: i64, there: usize| usize::try_from(wanted).ok().filter(|w| *w <= there);
        let (Some(rows), Some(columns)) = (fits(rows, height), fits(columns, width)) else {
            return Err(failed_precondition(format_args!(
                "height must be >= target_height: height = {height}, target_height = {rows}; and width = {width}, target_width = {columns}"
            )));
        };
        if (rows, columns) == (height, width) {
            let same = c.take(0)?;
            c.set(0, same);
            return Ok(());
        }
        let mut words = Words::new(own.reserve(c, |s| s.reserve_words(2)));
        let mut offset = |spare: usize| if spare == 0 { 0 } else { words.next_word() as usize % (spare + 1) };
        let (top, left) = (offset(height - rows), offset(width - columns));
        let mut out = Tensor::uninit(T::DTYPE, Shape::new(&[rows, columns, depth])?)?;
        let (image, line) = (c.slice::<T>(0)?, columns * depth);
        if line > 0 {
            for (r, out) in out.as_mut_slice::<T>()?.chunks_mut(line).enumerate() {
                out.copy_from_slice(&image[((top + r) * width + left) * depth..][..line]);
            }
        }
        c.set(0, out);
        Ok(())
    }))
}
