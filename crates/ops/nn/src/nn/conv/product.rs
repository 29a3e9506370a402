//! Convolutions as matrix products (im2col): a patch matrix with a row for each window position.
//!
//! Output rows are processed in parts, so that the patches of a part are still in cache when they are multiplied. Where there are
//! many parts each is computed by one thread, else the threads share each part. Shapes alone decide.

use super::direct::{Direct, flipped_filter, transposed};
use super::sizes::Sizes;
use crate::elementwise::for_chunks_of;
use crate::prelude::*;
use std::ops::Range;
use std::sync::Mutex;
use thalweg_core::sync::lock;
use thalweg_math::gemm::{Epilogue, GemmElement, MatMut, MatRef, ShapeError, gemm};
use thalweg_math::parallel::{Parallel, Serial};
use thalweg_math::reduce::Number as Summed;
use thalweg_math::window::col2im;

/// Bytes of patches in a part, per thread and shared.
const OWN_BYTES: usize = 1 << 20;
const SHARED_BYTES: usize = 4 << 20;

/// With fewer output positions, packing the filter for their own product does not pay.
const PLACES: usize = 512;

/// With this many parts each is computed by one thread.
pub(super) const ENOUGH_PARTS: usize = 8;

/// Filter gradients up to this many elements are summed in several copies, one for each part.
const SMALL_FILTER: usize = 1 << 18;

pub trait Multiplied: Element + GemmElement + Summed {}
impl<T: Element + GemmElement + Summed> Multiplied for T {}

pub(super) fn internal_size(e: ShapeError) -> Error {
    internal(e.to_string())
}

/// One group's share of a convolution.
struct Group<'a> {
    sizes: &'a Sizes,
    number: usize,
    /// The group's columns of the result and of the filter.
    outputs: usize,
    patch: usize,
}

/// Output rows in parts of `step`.
fn split(rows: Range<usize>, step: usize) -> impl Iterator<Item = Range<usize>> {
    rows.clone().step_by(step).map(move |start| start..rows.end.min(start + step))
}

impl Sizes {
    fn each_group(&self) -> impl Iterator<Item = Group<'_>> {
        let groups = self.groups();
        let outputs = self.outputs.checked_div(groups).unwrap_or(0);
        (0..groups).map(move |number| Group {
            sizes: self,
            number,
            outputs,
            patch: self.patches(number).len(),
        })
    }

    /// Elements of an output row.
    fn width(&self) -> usize {
        self.grid.cols.output * self.outputs
    }

    /// Output rows whose patches take up to that many bytes.
    fn rows_of(&self, bytes: usize, element: usize) -> usize {
        (bytes / (self.grid.cols.output * self.patches(0).len() * element).max(1)).max(1)
    }

    /// Output rows in a part of one thread, if there are enough parts.
    fn own_parts(&self, element: usize) -> Option<usize> {
        let worth_while = PLACES.div_ceil(self.grid.cols.output.max(1));
        let step = self.rows_of(OWN_BYTES, element).max(worth_while);
        (!self.patches(0).is_identity() && self.grid.output_rows().div_ceil(step) >= ENOUGH_PARTS)
            .then_some(step)
    }

    /// Output rows in a part that the threads share.
    fn shared_part(&self, element: usize) -> usize {
        if self.patches(0).is_identity() { usize::MAX } else { self.rows_of(SHARED_BYTES, element) }
    }
}

impl Group<'_> {
    /// This group's columns of a matrix with a column for each output channel.
    fn columns<'m, T>(&self, matrix: &'m [T], rows: usize) -> Result<MatRef<'m, T>> {
        let from = matrix.get(self.number * self.outputs..).unwrap_or(&[]);
        MatRef::new(from, rows, self.outputs, self.sizes.outputs, 1).map_err(internal_size)
    }

    fn columns_mut<'m, T>(&self, matrix: &'m mut [T], rows: usize) -> Result<MatMut<'m, T>> {
        let from = matrix.get_mut(self.number * self.outputs..).unwrap_or(&mut []);
        MatMut::new(from, rows, self.outputs, self.sizes.outputs).map_err(internal_size)
    }

    /// This group's part of a bias vector over output channels.
    fn bias<'m, T>(&self, all: &'m [T]) -> Result<&'m [T]> {
        let start = self.number * self.outputs;
        all.get(start..start + self.outputs).ok_or_else(|| internal("a bias that is too short"))
    }

    /// The patches of some output rows: in `buffer`, or the images themselves if they are the patches (1x1 windows).
    fn patches<'m, T: Multiplied>(
        &self,
        par: &dyn Parallel,
        images: &'m [T],
        part: &Range<usize>,
        buffer: &'m mut Tensor,
    ) -> Result<MatRef<'m, T>> {
        let rows = part.len() * self.sizes.grid.cols.output;
        let what = self.sizes.patches(self.number);
        if what.is_identity() {
            return MatRef::row_major(images, rows, self.patch).map_err(internal_size);
        }
        let patches = sized::<T>(buffer, rows * self.patch)?;
        what.im2col(par, images, part.clone(), patches);
        MatRef::row_major(patches, rows, self.patch).map_err(internal_size)
    }
}

/// That many elements of the scratch buffer, which grows if needed.
pub(super) fn sized<T: Element>(buffer: &mut Tensor, elements: usize) -> Result<&mut [T]> {
    if buffer.dtype() != T::DTYPE || buffer.elements() < elements {
        *buffer = Tensor::uninit(T::DTYPE, Shape::vector(elements))?;
    }
    Ok(&mut buffer.as_mut_slice::<T>()?[..elements])
}

/// An empty scratch buffer.
pub(super) fn buffer() -> Tensor {
    Tensor::scalar(0u8)
}

/// Runs `body` for chunks of `out` on several threads, and returns the error of one that failed.
pub(super) fn each_chunk<T: Send>(
    par: &dyn Parallel,
    out: &mut [T],
    item: usize,
    grain: usize,
    body: &(dyn Fn(Range<usize>, &mut [T]) -> Result<()> + Sync),
) -> Result<()> {
    let failed = Mutex::new(Ok(()));
    for_chunks_of(par, out, item, grain, &|range, out| {
        if let Err(e) = body(range, out) {
            *lock(&failed) = Err(e);
        }
    });
    failed.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The convolution of images with a filter. The bias of the epilogue has a number for each output.
pub fn convolve<T: Multiplied>(
    par: &dyn Parallel,
    sizes: &Sizes,
    images: &[T],
    filter: &[T],
    out: &mut [T],
    epilogue: Epilogue<'_, T>,
) -> Result<()> {
    if let Some(direct) = Direct::of(sizes) {
        return direct.convolve(par, images, filter, out, epilogue);
    }
    let some = |par: &dyn Parallel, rows: Range<usize>, step: usize, out: &mut [T]| -> Result<()> {
        let (start, mut memory) = (rows.start, buffer());
        for part in split(rows, step) {
            let out = &mut out[(part.start - start) * sizes.width()..(part.end - start) * sizes.width()];
            for group in sizes.each_group() {
                let left = group.patches(par, images, &part, &mut memory)?;
                let right = group.columns(filter, group.patch)?;
                let into = group.columns_mut(out, left.rows())?;
                let bias = epilogue.bias.map(|all| group.bias(all)).transpose()?;
                gemm(par, left, right, into, Epilogue { bias, ..epilogue }).map_err(internal_size)?;
            }
        }
        Ok(())
    };
    match sizes.own_parts(size_of::<T>()) {
        Some(step) => each_chunk(par, out, sizes.width(), step, &|rows, out| some(&Serial, rows, step, out)),
        None => some(par, 0..sizes.grid.output_rows(), sizes.shared_part(size_of::<T>()), out),
    }
}

/// Adds the filter gradient of the convolution to `out`.
pub fn add_by_filter<T: Multiplied>(
    par: &dyn Parallel,
    sizes: &Sizes,
    images: &[T],
    gradient: &[T],
    out: &mut [T],
) -> Result<()> {
    let batch = sizes.grid.batch;
    if let Some(direct) = Direct::of(sizes) {
        if batch < ENOUGH_PARTS || out.len() > SMALL_FILTER {
            return direct.add_by_filter(par, 0..batch, images, gradient, out);
        }
        return sum_of_parts(par, batch, 1, out, &|numbers, out| {
            direct.add_by_filter(&Serial, numbers, images, gradient, out)
        });
    }
    let some = |par: &dyn Parallel, rows: Range<usize>, step: usize, out: &mut [T]| -> Result<()> {
        let mut memory = buffer();
        for part in split(rows, step) {
            let gradient = &gradient[part.start * sizes.width()..part.end * sizes.width()];
            for group in sizes.each_group() {
                let left = group.patches(par, images, &part, &mut memory)?;
                let right = group.columns(gradient, left.rows())?;
                let into = group.columns_mut(out, group.patch)?;
                let add = Epilogue { accumulate: true, ..Epilogue::default() };
                gemm(par, left.t(), right, into, add).map_err(internal_size)?;
            }
        }
        Ok(())
    };
    let rows = sizes.grid.output_rows();
    let Some(step) = sizes.own_parts(size_of::<T>()).filter(|_| out.len() <= SMALL_FILTER) else {
        return some(par, 0..rows, sizes.shared_part(size_of::<T>()), out);
    };
    sum_of_parts(par, rows, step, out, &|rows, out| some(&Serial, rows, step, out))
}

/// Adds to `out` the sums that `add` computes for parts of `0..n`, each in a scratch buffer of its own. Parts are multiples of `step`.
fn sum_of_parts<T: Multiplied>(
    par: &dyn Parallel,
    n: usize,
    step: usize,
    out: &mut [T],
    add: &(dyn Fn(Range<usize>, &mut [T]) -> Result<()> + Sync),
) -> Result<()> {
    let mut copies = Tensor::zeros(T::DTYPE, Shape::new(&[ENOUGH_PARTS, out.len()])?)?;
    let each = n.div_ceil(step).div_ceil(ENOUGH_PARTS) * step;
    each_chunk(par, copies.as_mut_slice::<T>()?, out.len(), 1, &|copies, sums| {
        for (copy, sums) in copies.zip(sums.chunks_exact_mut(out.len())) {
            add(n.min(copy * each)..n.min((copy + 1) * each), sums)?;
        }
        Ok(())
    })?;
    for sums in copies.as_slice::<T>()?.chunks_exact(out.len()) {
        out.iter_mut().zip(sums).for_each(|(out, sum)| *out = Summed::add(*out, *sum));
    }
    Ok(())
}

/// Adds the input gradient of the convolution to `out`, which is zero.
pub fn add_by_images<T: Multiplied>(
    par: &dyn Parallel,
    sizes: &Sizes,
    filter: &[T],
    gradient: &[T],
    out: &mut [T],
) -> Result<()> {
    if let Some(transposed) = transposed(sizes)
        && let Some(direct) = Direct::of(&transposed)
    {
        let filter = flipped_filter(sizes, filter)?;
        return direct.convolve(par, gradient, filter.as_slice::<T>()?, out, Epilogue::default());
    }
    // `images` are those from `first` on, of the sizes given.
    let some =
        |par: &dyn Parallel, sizes: &Sizes, first: usize, step: usize, images: &mut [T]| -> Result<()> {
            let (before, mut memory) = (first * sizes.grid.planes.output * sizes.grid.rows.output, buffer());
            for part in split(0..sizes.grid.output_rows(), step) {
                let places = part.len() * sizes.grid.cols.output;
                let gradient =
                    &gradient[(before + part.start) * sizes.width()..(before + part.end) * sizes.width()];
                for group in sizes.each_group() {
                    let left = group.columns(gradient, places)?;
                    let right = group.columns(filter, group.patch)?.t();
                    let what = sizes.patches(group.number);
                    if what.is_identity() {
                        let into =
                            MatMut::row_major(&mut *images, places, group.patch).map_err(internal_size)?;
                        gemm(par, left, right, into, Epilogue::default()).map_err(internal_size)?;
                        continue;
                    }
                    let patches = sized::<T>(&mut memory, places * group.patch)?;
                    let into =
                        MatMut::row_major(&mut *patches, places, group.patch).map_err(internal_size)?;
                    gemm(par, left, right, into, Epilogue::default()).map_err(internal_size)?;
                    col2im(par, &what, patches, part.clone(), images);
                }
            }
            Ok(())
        };
    // Windows overlap within an image: one thread computes all of it.
    match sizes.own_parts(size_of::<T>()).filter(|_| sizes.grid.batch >= ENOUGH_PARTS) {
        Some(step) => {
            let image = out.len() / sizes.grid.batch;
            each_chunk(par, out, image, 1, &|numbers, images| {
                for (number, image) in numbers.zip(images.chunks_exact_mut(image)) {
                    let mut one = *sizes;
                    one.grid.batch = 1;
                    some(&Serial, &one, number, step, image)?;
                }
                Ok(())
            })
        }
        None => some(par, sizes, 0, sizes.shared_part(size_of::<T>()), out),
    }
}

#[cfg(test)]
mod tests {
    use super::super::direct::Direct;
    use super::super::sizes::Sizes;
    use crate::prelude::*;
    use crate::testing::step;
    use crate::windows::Sliding;
    use thalweg_core::direct;

    fn values(dims: &[usize], salt: u64) -> Tensor {
        let mut r = CaseGen::new(salt);
        Tensor::build(Shape::new(dims).unwrap(), |out: &mut [f64]| out.fill_with(|| r.unit() - 0.5)).unwrap()
    }

    fn dot(a: &Tensor, b: &Tensor) -> f64 {
        a.as_slice::<f64>().unwrap().iter().zip(b.as_slice::<f64>().unwrap()).map(|(a, b)| a * b).sum()
    }

    /// Large enough for a part per thread. The gradients are the transposes of the convolution:
    /// <conv(x, f), g> = <x, by_images(f, g)> = <f, by_filter(x, g)>.
    #[test]
    fn large_convolutions_and_their_gradients_belong_together_on_any_number_of_threads() {
        let registry = crate::testing::registry();
        let sizes =
            |dims: &[usize]| Tensor::vector(&dims.iter().map(|d| *d as i32).collect::<Vec<_>>()).unwrap();
        for (images, filter, stride, padding, is_direct) in [
            ([8, 40, 40, 16], [3, 3, 16, 2], 1, "SAME", false),
            ([2, 110, 110, 16], [3, 3, 8, 4], 1, "SAME", false),
            ([8, 80, 80, 8], [4, 3, 8, 3], 2, "SAME", false),
            ([9, 15, 14, 4], [5, 4, 4, 9], 1, "SAME", true),
            ([9, 15, 17, 1], [5, 4, 1, 33], 1, "VALID", true),
            ([2, 31, 27, 3], [3, 3, 3, 8], 2, "SAME", true),
            ([8, 31, 27, 9], [2, 1, 9, 17], 2, "VALID", true),
            ([1, 40, 5, 8], [3, 7, 8, 8], 1, "SAME", true),
        ] {
            let attrs: Attrs =
                [("strides", Attr::ints(&[1, stride, stride, 1])), ("padding", padding.into())]
                    .into_iter()
                    .collect();
            let mut complete = attrs.clone();
            complete.set("dilations", Attr::ints(&[1; 4]));
            complete.set("data_format", "NHWC");
            let parts = Sizes::new(&Sliding::of(&complete).unwrap(), &images, &filter).unwrap();
            assert!(is_direct || parts.own_parts(8).is_some(), "not large enough");
            assert_eq!(Direct::of(&parts).is_some(), is_direct);
            let run = |threads: usize, op: &str, inputs: [&Tensor; 2], more: Option<&Tensor>| {
                let inputs = inputs.into_iter().chain(more).cloned().collect();
                direct::call(registry, &step(threads), op, inputs, attrs.clone()).unwrap().remove(0)
            };
            let (x, f) = (values(&images, 1), values(&filter, 2));
            let y = run(1, "Conv2D", [&x, &f], None);
            let g = values(y.shape(), 3);
            let dx = run(1, "Conv2DBackpropInput", [&sizes(&images), &f], Some(&g));
            let df = run(1, "Conv2DBackpropFilter", [&x, &sizes(&filter)], Some(&g));
            let want = dot(&y, &g);
            for got in [dot(&x, &dx), dot(&f, &df)] {
                assert!((got - want).abs() < 1e-9 * (1.0 + want.abs()), "{got}, not {want}");
            }
            assert!(run(3, "Conv2D", [&x, &f], None).same_bits(&y));
            assert!(run(3, "Conv2DBackpropInput", [&sizes(&images), &f], Some(&g)).same_bits(&dx));
            assert!(run(3, "Conv2DBackpropFilter", [&x, &sizes(&filter)], Some(&g)).same_bits(&df));
        }
    }
}
