//! `Dilation2D`: greyscale dilation, the maximum of image plus filter under a window; and its gradients.

use crate::elementwise::for_chunks_of;
use crate::prelude::*;
use crate::windows::Sliding;
use thalweg_math::window::{Grid, WindowAxis};

pub static OPS: &[&Op] = &[&DILATION2D, &DILATION2D_BACKPROP_FILTER, &DILATION2D_BACKPROP_INPUT];

static DILATION2D: Op = Op {
    name: "Dilation2D",
    doc: "The maximum, over each window position, of input + filter, by channel.",
    inputs: &["input: T", "filter: T"],
    outputs: &["output: T"],
    attrs: &[
        "T: realnumbertype",
        "strides: list(int) >= 4",
        "rates: list(int) >= 4",
        "padding: {'SAME', 'VALID'}",
    ],
    shape: |c| {
        let (x, f, sliding) = (c.rank(0, 4)?, c.rank(1, 3)?, Sliding::of(c.attrs)?);
        let depth = merge_dim(x.dim(3), f.dim(2))?;
        // An empty filter is the kernel's matter.
        let size = [1, f.dim(0), f.dim(1)].map(|k| if k == 0 { -1 } else { k });
        Ok(vec![sliding.shape(&x, size, depth)?])
    },
    grad: Rule(|g| {
        let attrs: Vec<(&'static str, Attr)> = ["strides", "rates", "padding"]
            .iter()
            .filter_map(|name| Some((*name, g.attrs.get(name)?.clone())))
            .collect();
        let (x, f, dy) = (g.x[0], g.x[1], g.dy()?);
        let mut by = |op: &str| g.op(op, [x.into(), f.into(), dy.into()], &attrs).map(Grad::from);
        Ok(vec![by("Dilation2DBackpropInput")?, by("Dilation2DBackpropFilter")?])
    }),
    kernels: cpu!(make prepare: T in f32, f64, f16, bf16, i32, i64, i8, i16, u8, u16, u32, u64),
    cases: |r| {
        let mut case = |x: &[usize], f: &[usize]| Case::new(vec![r.tensor(x), r.tensor(f)]);
        vec![
            with_windows(case(&[2, 4, 5, 2], &[2, 3, 2]), [1, 1], [1, 1], "VALID"),
            with_windows(case(&[1, 5, 5, 3], &[3, 2, 3]), [2, 1], [1, 2], "SAME"),
        ]
    },
    expensive: true,
    ..Op::PURE
};

static DILATION2D_BACKPROP_INPUT: Op = Op {
    name: "Dilation2DBackpropInput",
    doc: "The gradient of Dilation2D by input: that of each window goes to its largest sum, the first of equal ones.",
    inputs: &["input: T", "filter: T", "out_backprop: T"],
    outputs: &["in_backprop: T"],
    shape: |c| Ok(vec![c.rank(0, 4)?]),
    grad: Missing,
    kernels: cpu!(make prepare_by_input: T in f32, f64, f16, bf16, i32, i64, i8, i16, u8, u16, u32, u64),
    cases: |r| {
        let mut case =
            |x: &[usize], f: &[usize], dy: &[usize]| Case::new(vec![r.tensor(x), r.tensor(f), r.tensor(dy)]);
        vec![
            with_windows(case(&[2, 4, 5, 2], &[2, 3, 2], &[2, 3, 3, 2]), [1, 1], [1, 1], "VALID"),
            with_windows(case(&[1, 5, 5, 3], &[3, 2, 3], &[1, 3, 5, 3]), [2, 1], [1, 2], "SAME"),
        ]
    },
    ..DILATION2D
};

static DILATION2D_BACKPROP_FILTER: Op = Op {
    name: "Dilation2DBackpropFilter",
    doc: "The gradient of Dilation2D by filter: that of each window goes to its largest sum, the first of equal ones.",
    outputs: &["filter_backprop: T"],
    shape: |c| Ok(vec![c.rank(1, 3)?]),
    kernels: cpu!(make prepare_by_filter: T in f32, f64, f16, bf16, i32, i64, i8, i16, u8, u16, u32, u64),
    ..DILATION2D_BACKPROP_INPUT
};

fn with_windows(case: Case, strides: [i64; 2], rates: [i64; 2], padding: &str) -> Case {
    let four = |[h, w]: [i64; 2]| Attr::ints(&[1, h, w, 1]);
    case.attr("strides", four(strides)).attr("rates", four(rates)).attr("padding", padding)
}

/// With this many outputs, filter gradients are summed in several copies.
const LARGE: usize = 1 << 16;
const PARTS: usize = 8;

/// A dilation of these shapes.
struct Dilation<'a, T> {
    grid: Grid,
    depth: usize,
    x: &'a [T],
    filter: &'a [T],
}

impl<'a, T: Real> Dilation<'a, T> {
    fn of(c: &'a OpCall<'_>, sliding: &Sliding) -> Result<Dilation<'a, T>> {
        let (x, filter) = (c.shape(0)?, c.shape(1)?);
        let (&[_, _, _, depth], &[rows, cols, taken]) = (x.dims(), filter.dims()) else {
            return Err(invalid!(
                "input must be 4-dimensional and filter 3-dimensional, got {x} and {filter}"
            ));
        };
        if depth != taken {
            return Err(invalid!("input and filter must have the same depth: {depth} vs {taken}"));
        }
        let grid = sliding.grid(x.dims(), [1, rows, cols])?;
        Ok(Dilation { grid, depth, x: c.slice(0)?, filter: c.slice(1)? })
    }

    fn output(&self) -> Result<Shape> {
        Shape::new(&[self.grid.batch, self.grid.rows.output, self.grid.cols.output, self.depth])
    }

    /// Calls `found(output, largest, pixel, tap)` for each channel of the outputs of a row of the batch.
    fn row(&self, row: usize, mut found: impl FnMut(usize, T, usize, usize)) {
        let (rows, cols, depth) = (&self.grid.rows, &self.grid.cols, self.depth);
        let (image, out_row) = (row / rows.output, row % rows.output);
        for col in 0..cols.output {
            for channel in 0..depth {
                // Sums that are not above the least number have a place too: where the window begins, inside.
                let (mut best, mut tap) = (T::least_finite(), 0);
                let begin = |span: &WindowAxis, out: usize| (out * span.stride).saturating_sub(span.before);
                let first = (image * rows.input + begin(rows, out_row)) * cols.input + begin(cols, col);
                let mut pixel = first * depth + channel;
                for i in rows.taps(out_row) {
                    let line = (image * rows.input + rows.at(out_row, i)) * cols.input;
                    for j in cols.taps(col) {
                        let (at, with) = ((line + cols.at(col, j)) * depth + channel, i * cols.size + j);
                        let sum = self.x[at].add(self.filter[with * depth + channel]);
                        if sum > best {
                            (best, pixel, tap) = (sum, at, with);
                        }
                    }
                }
                found((row * cols.output + col) * depth + channel, best, pixel, tap * depth + channel);
            }
        }
    }
}

fn prepare<T: Real>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let sliding = Sliding::of(&node.attrs)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let what = Dilation::<T>::of(c, &sliding)?;
        let mut out = Tensor::uninit(T::DTYPE, what.output()?)?;
        let width = what.grid.cols.output * what.depth;
        let grain = 4096usize.div_ceil(width.saturating_mul(what.grid.taps()).max(1));
        for_chunks_of(c.par(), out.as_mut_slice::<T>()?, width, grain, &|rows, out| {
            let start = rows.start * width;
            rows.for_each(|row| what.row(row, |at, best, _, _| out[at - start] = best));
        });
        c.set(0, out);
        Ok(())
    }))
}

/// Checks that the gradient, input 2, has the shape of the result.
fn check_gradient<T: Real>(c: &OpCall<'_>, what: &Dilation<'_, T>) -> Result<()> {
    let (got, want) = (c.shape(2)?, what.output()?);
    if *got == want { Ok(()) } else { Err(invalid!("out_backprop has incompatible size: {got}, not {want}")) }
}

fn prepare_by_input<T: Real>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let sliding = Sliding::of(&node.attrs)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let what = Dilation::<T>::of(c, &sliding)?;
        check_gradient(c, &what)?;
        let mut out = Tensor::zeros(T::DTYPE, c.shape(0)?.clone())?;
        let dy = c.slice::<T>(2)?;
        if out.elements() > 0 && !dy.is_empty() {
            let (image, rows) = (out.elements() / what.grid.batch, what.grid.rows.output);
            // Windows overlap within an image: one thread computes all of it.
            for_chunks_of(c.par(), out.as_mut_slice::<T>()?, image, 1, &|numbers, out| {
                let start = numbers.start * image;
                for row in numbers.start * rows..numbers.end * rows {
                    what.row(row, |at, _, pixel, _| {
                        if let Some(sum) = out.get_mut(pixel.wrapping_sub(start)) {
                            *sum = sum.add(dy[at]);
                        }
                    });
                }
            });
        }
        c.set(0, out);
        Ok(())
    }))
}

fn prepare_by_filter<T: Real>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let sliding = Sliding::of(&node.attrs)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let what = Dilation::<T>::of(c, &sliding)?;
        check_gradient(c, &what)?;
        let mut out = Tensor::zeros(T::DTYPE, c.shape(1)?.clone())?;
        let (dy, rows) = (c.slice::<T>(2)?, what.grid.output_rows());
        let sums = out.as_mut_slice::<T>()?;
        let add = |rows: std::ops::Range<usize>, sums: &mut [T]| {
            for row in rows {
                what.row(row, |at, _, _, tap| {
                    if let Some(sum) = sums.get_mut(tap) {
                        *sum = sum.add(dy[at]);
                    }
                });
            }
        };
        if dy.len() < LARGE || sums.is_empty() {
            add(0..rows, sums);
        } else {
            let (each, size) = (rows.div_ceil(PARTS), sums.len());
            let mut copies = Tensor::zeros(T::DTYPE, Shape::new(&[PARTS, size])?)?;
            for_chunks_of(c.par(), copies.as_mut_slice::<T>()?, size, 1, &|parts, copies| {
                for (part, sums) in parts.zip(copies.chunks_exact_mut(size)) {
                    add(rows.min(part * each)..rows.min((part + 1) * each), sums);
                }
            });
            for copy in copies.as_slice::<T>()?.chunks_exact(size) {
                sums.iter_mut().zip(copy).for_each(|(sum, part)| *sum = sum.add(*part));
            }
        }
        c.set(0, out);
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, floats};

    /// Many outputs, whose filter gradients are summed in parts: each goes to the one tap of its window.
    #[test]
    fn every_gradient_goes_to_one_tap_and_one_pixel() {
        let mut r = CaseGen::new(3);
        let (x, f) = (r.tensor(&[2, 200, 200, 1]), r.tensor(&[3, 2, 1]));
        let dy = floats(&[2, 200, 200, 1], &vec![1.0; 80000]);
        let attrs = [
            ("strides", Attr::ints(&[1, 1, 1, 1])),
            ("rates", Attr::ints(&[1, 1, 1, 1])),
            ("padding", "SAME".into()),
        ];
        for op in ["Dilation2DBackpropInput", "Dilation2DBackpropFilter"] {
            let out = call(op, &[x.clone(), f.clone(), dy.clone()], &attrs).unwrap();
            assert_eq!(out[0].as_slice::<f32>().unwrap().iter().sum::<f32>(), 80000.0);
        }
    }
}
