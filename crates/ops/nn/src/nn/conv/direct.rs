//! Convolutions without im2col: a padded image in memory is a matrix of overlapping rows, which gemm packs directly.
//!
//! Each image is computed by one thread if there are enough of them, else all threads share each image. Shapes alone decide.

use super::product::{ENOUGH_PARTS, Multiplied, buffer, each_chunk, internal_size, sized};
use super::sizes::Sizes;
use crate::prelude::*;
use thalweg_math::gemm::{Epilogue, Im2colRef, MatMut, MatRef, NestedAxis, gemm};
use thalweg_math::parallel::{Parallel, Serial};
use thalweg_math::window::{Grid, WindowAxis};

/// With fewer output positions, packing the whole filter for one image does not pay.
const PLACES: usize = 128;

/// With fewer output columns, or channels, too much of a micro-kernel's tile is unused.
const RUN: usize = 4;
const OUTPUTS: usize = 8;

/// A convolution that can be done image by image.
pub struct Direct<'a> {
    sizes: &'a Sizes,
    /// Elements of an image, of it with its padding, and of its result.
    image: usize,
    padded: usize,
    result: usize,
}

impl<'a> Direct<'a> {
    pub fn of(sizes: &'a Sizes) -> Option<Direct<'a>> {
        let (rows, cols) = (&sizes.grid.rows, &sizes.grid.cols);
        let places = rows.output.checked_mul(cols.output)?;
        let fits = sizes.groups() == 1
            && sizes.grid.planes == WindowAxis::ONE
            && cols.dilation == 1
            && rows.dilation == 1
            && !sizes.patches(0).is_identity()
            && cols.output >= RUN
            && sizes.outputs >= OUTPUTS
            && places >= PLACES;
        let padded = rows.padded_len().checked_mul(cols.padded_len())?.checked_mul(sizes.depth)?;
        fits.then(|| Direct {
            sizes,
            image: rows.input * cols.input * sizes.depth,
            padded,
            result: places * sizes.outputs,
        })
    }

    /// The row pitch of the image, padded if need be.
    fn pitch(&self) -> usize {
        let cols = &self.sizes.grid.cols;
        (if self.sizes.grid.is_unpadded() { cols.input } else { cols.padded_len() }) * self.sizes.depth
    }

    /// The im2col view: a row for each output position.
    fn windows<'m, T: Multiplied>(&self, image: &'m [T], memory: &'m mut Tensor) -> Result<Im2colRef<'m, T>> {
        let (grid, depth, pitch) = (&self.sizes.grid, self.sizes.depth, self.pitch());
        let places = NestedAxis {
            count: grid.rows.output,
            length: grid.cols.output,
            stride: grid.cols.stride * depth,
            run_stride: grid.rows.stride * pitch,
        };
        let taps = NestedAxis {
            count: grid.rows.size,
            length: grid.cols.size * depth,
            stride: 1,
            run_stride: pitch,
        };
        let seen = if grid.is_unpadded() {
            image
        } else {
            let padded = sized::<T>(memory, self.padded)?;
            grid.write_padded(depth, image, padded);
            padded
        };
        Im2colRef::new(seen, places, taps).map_err(internal_size)
    }

    fn image<'m, T>(&self, images: &'m [T], number: usize) -> &'m [T] {
        &images[number * self.image..(number + 1) * self.image]
    }

    /// The convolution of images with a filter.
    pub fn convolve<T: Multiplied>(
        &self,
        par: &dyn Parallel,
        images: &[T],
        filter: &[T],
        out: &mut [T],
        epilogue: Epilogue<'_, T>,
    ) -> Result<()> {
        let one = |par: &dyn Parallel, number: usize, memory: &mut Tensor, out: &mut [T]| -> Result<()> {
            let left = self.windows(self.image(images, number), memory)?;
            let right = MatRef::row_major(filter, left.cols(), self.sizes.outputs).map_err(internal_size)?;
            let into = MatMut::row_major(out, left.rows(), self.sizes.outputs).map_err(internal_size)?;
            gemm(par, left, right, into, epilogue).map_err(internal_size)
        };
        let some = |par: &dyn Parallel, first: usize, out: &mut [T]| -> Result<()> {
            let (mut memory, results) = (buffer(), out.chunks_exact_mut(self.result));
            results.enumerate().try_for_each(|(i, out)| one(par, first + i, &mut memory, out))
        };
        if self.sizes.grid.batch < ENOUGH_PARTS {
            return some(par, 0, out);
        }
        each_chunk(par, out, self.result, 1, &|numbers, out| some(&Serial, numbers.start, out))
    }

    /// Adds the filter gradient of some images to `out`.
    pub fn add_by_filter<T: Multiplied>(
        &self,
        par: &dyn Parallel,
        numbers: std::ops::Range<usize>,
        images: &[T],
        gradient: &[T],
        out: &mut [T],
    ) -> Result<()> {
        let mut memory = buffer();
        for number in numbers {
            let left = self.windows(self.image(images, number), &mut memory)?.t();
            let gradient = &gradient[number * self.result..(number + 1) * self.result];
            let right =
                MatRef::row_major(gradient, left.cols(), self.sizes.outputs).map_err(internal_size)?;
            let into =
                MatMut::row_major(&mut *out, left.rows(), self.sizes.outputs).map_err(internal_size)?;
            let add = Epilogue { accumulate: true, ..Epilogue::default() };
            gemm(par, left, right, into, add).map_err(internal_size)?;
        }
        Ok(())
    }
}

/// The transposed convolution, which computes the input gradient: of the output gradient with the flipped filter. Only for
/// stride 1.
pub fn transposed(sizes: &Sizes) -> Option<Sizes> {
    let transpose = |span: &WindowAxis| {
        let before = span.size.checked_sub(1)?.checked_sub(span.before)?;
        let transposed = WindowAxis { input: span.output, output: span.input, before, ..*span };
        (span.stride == 1 && span.dilation == 1).then_some(transposed)
    };
    let grid = &sizes.grid;
    Some(Sizes {
        grid: Grid {
            batch: grid.batch,
            planes: transpose(&grid.planes)?,
            rows: transpose(&grid.rows)?,
            cols: transpose(&grid.cols)?,
        },
        depth: sizes.outputs,
        group_depth: sizes.outputs,
        outputs: sizes.depth,
        volumes: sizes.volumes,
    })
    .filter(|_| sizes.groups() == 1)
}

/// The filter with its taps in reverse order, and input and output channels transposed.
pub fn flipped_filter<T: Multiplied>(sizes: &Sizes, filter: &[T]) -> Result<Tensor> {
    let tap = sizes.group_depth * sizes.outputs;
    let mut out = Tensor::uninit(T::DTYPE, Shape::vector(filter.len()))?;
    let taps = out.as_mut_slice::<T>()?.chunks_exact_mut(tap);
    for (out, from) in taps.zip(filter.rchunks_exact(tap)) {
        for (o, out) in out.chunks_exact_mut(sizes.group_depth).enumerate() {
            out.iter_mut().zip(from[o..].iter().step_by(sizes.outputs)).for_each(|(out, x)| *out = *x);
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::step;
    use thalweg_core::direct;

    /// Direct convolution against its definition.
    #[test]
    fn every_tap_meets_its_place() {
        let registry = crate::testing::registry();
        for ([n, h, w, d], [kh, kw, outputs], stride, padding) in [
            ([2, 14, 13, 3], [5, 4, 8], 1, "SAME"),
            ([1, 30, 33, 2], [3, 5, 9], 2, "SAME"),
            ([9, 16, 12, 1], [3, 1, 17], 1, "VALID"),
        ] {
            let mut r = CaseGen::new(5);
            let mut values = |dims: &[usize]| {
                Tensor::build(Shape::new(dims).unwrap(), |o: &mut [f64]| o.fill_with(|| r.unit() - 0.5))
                    .unwrap()
            };
            let (x, f) = (values(&[n, h, w, d]), values(&[kh, kw, d, outputs]));
            let attrs: Attrs =
                [("strides", Attr::ints(&[1, stride, stride, 1])), ("padding", padding.into())]
                    .into_iter()
                    .collect();
            let y = direct::call(registry, &step(2), "Conv2D", vec![x.clone(), f.clone()], attrs)
                .unwrap()
                .remove(0);
            let [_, rows, cols, _] = *y.shape().dims() else { panic!("{}", y.shape()) };
            let before = |places: usize, size: usize, positions: usize| {
                if padding == "VALID" {
                    0
                } else {
                    ((places - 1) * stride as usize + size).saturating_sub(positions) / 2
                }
            };
            let (top, left) = (before(rows, kh, h), before(cols, kw, w));
            let (x, f) = (x.as_slice::<f64>().unwrap(), f.as_slice::<f64>().unwrap());
            for (at, got) in y.as_slice::<f64>().unwrap().iter().enumerate() {
                let (o, place) = (at % outputs, at / outputs);
                let (col, row, image) = (place % cols, place / cols % rows, place / cols / rows);
                let mut want = 0.0;
                for (ky, kx) in (0..kh).flat_map(|ky| (0..kw).map(move |kx| (ky, kx))) {
                    let (y, x_at) = (row * stride as usize + ky, col * stride as usize + kx);
                    if y < top || x_at < left || y - top >= h || x_at - left >= w {
                        continue;
                    }
                    let pixel = ((image * h + y - top) * w + x_at - left) * d;
                    let tap = (ky * kw + kx) * d;
                    want += (0..d).map(|c| x[pixel + c] * f[(tap + c) * outputs + o]).sum::<f64>();
                }
                assert!((got - want).abs() < 1e-12, "{got}, not {want}, at {at}");
            }
        }
    }
}
