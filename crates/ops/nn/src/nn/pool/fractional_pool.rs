//! `FractionalMaxPool`, `FractionalAvgPool` and their gradients: pooling by a factor that is no whole number, with cells whose
//! sizes are drawn at random (Graham, 2014).

use super::parameters::check_shape;
use crate::elementwise::for_chunks_of;
use crate::prelude::*;
use std::ops::Range;
use std::sync::OnceLock;
use thalweg_math::random::{PhiloxState, Words, shuffle};

pub static FRACTIONAL_MAX_POOL: Op = Op {
    name: "FractionalMaxPool",
    doc: "The maximum of each channel over cells of random sizes, pooling_ratio on average; and where the cells begin.",
    inputs: &["value: T"],
    outputs: &["output: T", "row_pooling_sequence: int64", "col_pooling_sequence: int64"],
    attrs: &[
        "pooling_ratio: list(float) >= 4",
        "pseudo_random: bool = false",
        "overlapping: bool = false",
        "deterministic: bool = false",
        "seed: int = 0",
        "seed2: int = 0",
        "T: {float, double, int32, int64}",
    ],
    shape,
    grad: Rule(|g| {
        let (x, y, dy) = (g.x[0], g.y[0], g.dy()?);
        let args = [x, y, dy, g.y[1], g.y[2]].map(Arg::from);
        let overlapping = Attr::Bool(g.attrs.bool("overlapping")?);
        Ok(vec![g.op("FractionalMaxPoolGrad", args, &[("overlapping", overlapping)])?.into()])
    }),
    kernels: cpu!(make prepare_max: T in f32, f64, i32, i64),
    cases: |r| {
        let mut case = |overlapping: bool, pseudo_random: bool| {
            let ratio = [1.0, 1.44, 1.73, 1.0].map(Attr::Float).to_vec();
            Case::new(vec![r.tensor(&[2, 5, 6, 2])])
                .attr("pooling_ratio", Attr::List(ratio))
                .attr("overlapping", overlapping)
                .attr("pseudo_random", pseudo_random)
                .attr("deterministic", true)
                .attr("seed", 5)
                .attr("seed2", 7)
        };
        vec![case(false, false), case(true, false), case(true, true)]
    },
    expensive: true,
    ..Op::PURE
};

pub static FRACTIONAL_AVG_POOL: Op = Op {
    name: "FractionalAvgPool",
    doc: "The average of each channel over cells of random sizes, pooling_ratio on average; and where the cells begin.",
    grad: Rule(|g| {
        let (x, dy) = (g.x[0], g.dy()?);
        let shape = g.op("Shape", [x.into()], &[("out_type", Attr::Type(DataType::Int64))])?;
        let args = [shape, dy, g.y[1], g.y[2]].map(Arg::from);
        let overlapping = Attr::Bool(g.attrs.bool("overlapping")?);
        Ok(vec![g.op("FractionalAvgPoolGrad", args, &[("overlapping", overlapping)])?.into()])
    }),
    kernels: cpu!(make prepare_avg: T in f32, f64, i32, i64),
    ..FRACTIONAL_MAX_POOL
};

pub static FRACTIONAL_MAX_POOL_GRAD: Op = Op {
    name: "FractionalMaxPoolGrad",
    doc: "The gradient of FractionalMaxPool: that of each cell goes to its largest element, the first of equal ones.",
    inputs: &[
        "orig_input: T",
        "orig_output: T",
        "out_backprop: T",
        "row_pooling_sequence: int64",
        "col_pooling_sequence: int64",
    ],
    outputs: &["output: T"],
    attrs: &["overlapping: bool = false", "T: {float, double, int32, int64}"],
    shape: |c| Ok(vec![c.rank(0, 4)?]),
    grad: Missing,
    kernels: cpu!(make prepare_max_grad: T in f32, f64, i32, i64),
    cases: |_| {
        let x: Vec<f32> = (0..20).map(|i| (i * 7 % 20) as f32).collect();
        let tensors = [
            Tensor::from_slice(Shape::new(&[1, 4, 5, 1]).unwrap_or_default(), &x),
            Tensor::from_slice(Shape::new(&[1, 2, 2, 1]).unwrap_or_default(), &[15f32, 16.0, 19.0, 18.0]),
            Tensor::from_slice(Shape::new(&[1, 2, 2, 1]).unwrap_or_default(), &[1f32, 2.0, 3.0, 4.0]),
            Tensor::vector(&[0i64, 2, 4]),
            Tensor::vector(&[0i64, 3, 5]),
        ];
        vec![Case::new(tensors.into_iter().flatten().collect())]
    },
    expensive: true,
    ..Op::PURE
};

pub static FRACTIONAL_AVG_POOL_GRAD: Op = Op {
    name: "FractionalAvgPoolGrad",
    doc: "The gradient of FractionalAvgPool: that of each cell is shared by its elements.",
    inputs: &[
        "orig_input_tensor_shape: int64",
        "out_backprop: T",
        "row_pooling_sequence: int64",
        "col_pooling_sequence: int64",
    ],
    shape: |c| Ok(vec![c.as_shape(0)?.merge(&PartialShape::unknown_of_rank(4))?]),
    kernels: cpu!(make prepare_avg_grad: T in f32, f64, i32, i64),
    cases: |r| {
        let mut case = |overlapping: bool| {
            let vectors = [&[2i64, 4, 5, 2][..], &[0, 2, 4], &[0, 3, 5]].map(Tensor::vector);
            let mut inputs: Vec<Tensor> = vectors.into_iter().flatten().collect();
            inputs.insert(1.min(inputs.len()), r.tensor(&[2, 2, 2, 2]));
            Case::new(inputs).attr("overlapping", overlapping)
        };
        vec![case(false), case(true)]
    },
    host_inputs: &["orig_input_tensor_shape"],
    ..FRACTIONAL_MAX_POOL_GRAD
};

/// The cells of a pooling: ranges of rows, and of columns.
struct Cells {
    rows: Vec<Range<usize>>,
    cols: Vec<Range<usize>>,
}

/// The attrs of the pooling itself.
struct Fractional {
    ratio: [f64; 4],
    pseudo_random: bool,
    overlapping: bool,
    deterministic: bool,
    seeds: (i64, i64),
    /// A deterministic node without seeds draws them once.
    drawn: OnceLock<(i64, i64)>,
}

impl Fractional {
    fn of(attrs: &Attrs) -> Result<Fractional> {
        let fractional = Fractional {
            ratio: ratio(attrs)?,
            pseudo_random: attrs.bool("pseudo_random")?,
            overlapping: attrs.bool("overlapping")?,
            deterministic: attrs.bool("deterministic")?,
            seeds: (attrs.int("seed")?, attrs.int("seed2")?),
            drawn: OnceLock::new(),
        };
        if !fractional.deterministic && fractional.seeds != (0, 0) {
            return Err(invalid!("Both seed and seed2 should be 0 if deterministic is false."));
        }
        Ok(fractional)
    }

    /// The pooling sequences of rows and columns.
    fn sequences(&self, c: &OpCall<'_>, input: &[usize; 4], output: &[usize; 4]) -> Result<[Vec<i64>; 2]> {
        let entropy = || (c.step.device.entropy)();
        let seeds = match self.deterministic {
            true if self.seeds == (0, 0) => {
                *self.drawn.get_or_init(|| (entropy() as i64 | 1, entropy() as i64))
            }
            _ => self.seeds,
        };
        let mut stream = PhiloxState::new(seeds.0, seeds.1, entropy);
        let mut along = |axis: usize| {
            let widths = match self.pseudo_random {
                true => pseudo_random_widths(input[axis], output[axis], &mut stream),
                false => random_widths(input[axis], output[axis], &mut stream),
            }?;
            let mut at = 0;
            reserve::collect(std::iter::once(0).chain(widths.into_iter().map(|width| {
                at += width;
                at
            })))
        };
        Ok([along(1)?, along(2)?])
    }
}

/// The pooling ratio: at least 1, and 1 for the batch and the channels.
fn ratio(attrs: &Attrs) -> Result<[f64; 4]> {
    let values = attrs.floats("pooling_ratio")?;
    let Ok(ratio) = <[f32; 4]>::try_from(values.as_slice()) else {
        return Err(invalid!("pooling_ratio field must specify 4 dimensions, got {}", values.len()));
    };
    if let Some(small) = ratio.iter().find(|r| r.is_nan() || **r < 1.0) {
        return Err(invalid!("pooling_ratio cannot be smaller than 1, got: {small}"));
    }
    if ratio[0] != 1.0 || ratio[3] != 1.0 {
        return Err(unimplemented("fractional pooling is not supported on the batch nor channel dimension"));
    }
    Ok(ratio.map(f64::from))
}

fn pooled(size: usize, ratio: f64) -> usize {
    // In single precision, as TensorFlow divides.
    (size as f32 / ratio as f32).floor() as usize
}

/// Cells that are as large as possible, or larger by one, in random order.
fn random_widths(input: usize, output: usize, stream: &mut PhiloxState) -> Result<Vec<i64>> {
    let (each, larger) = (input / output, input % output);
    let mut widths = reserve::collect((0..output).map(|i| (each + (i < larger) as usize) as i64))?;
    shuffle(stream.reserve_words(output as u64), &mut widths);
    Ok(widths)
}

/// Cells that end at ceil(alpha (i + u)) for one random u, bounded so that all are of the two sizes around alpha.
fn pseudo_random_widths(input: usize, output: usize, stream: &mut PhiloxState) -> Result<Vec<i64>> {
    let (alpha, each) = (input as f64 / output as f64, (input / output) as f64);
    let left = (each + 2.0) / alpha - 1.0;
    let right = (input as f64 + 1.0 - each) / alpha - (output as f64 - 1.0);
    let mut words = Words::new(stream.reserve_words(2));
    let u = words.next_f64() * left.min(right);
    let edge = |i: usize| match i {
        0 => 1,
        i if i == output => input as i64 + 1,
        i => (alpha * (i as f64 + u)).ceil() as i64,
    };
    reserve::collect((0..output).map(|i| edge(i + 1) - edge(i)))
}

/// The cells of a sequence over `size` positions: overlapping cells share the position at their border.
fn cells(sequence: &[i64], size: usize, overlapping: bool) -> Result<Vec<Range<usize>>> {
    let pairs = sequence.iter().zip(sequence.iter().skip(1));
    reserve::try_collect(pairs.map(|(start, end)| {
        let (Ok(start), Ok(end)) = (usize::try_from(*start), usize::try_from(*end)) else {
            return Err(invalid!("pooling sequence values must not be negative, got {start} and {end}"));
        };
        let end = end.saturating_add(overlapping as usize).min(size);
        Ok(start.min(end)..end)
    }))
}

fn four(shape: &Shape, what: &str) -> Result<[usize; 4]> {
    <[usize; 4]>::try_from(shape.dims())
        .map_err(|_| invalid!("{what} must be 4-dimensional, got shape {shape}"))
}

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let (x, ratio) = (c.rank(0, 4)?, ratio(c.attrs)?);
    let size = |axis: usize| match x.dim(axis) {
        -1 => -1,
        n => pooled(n as usize, ratio[axis]) as i64,
    };
    let (rows, cols) = (size(1), size(2));
    let sequence = |n: i64| PartialShape::vector(if n < 0 { -1 } else { n + 1 });
    Ok(vec![[x.dim(0), rows, cols, x.dim(3)].into_iter().collect(), sequence(rows), sequence(cols)])
}

/// Writes one output pixel, of all channels, given the input and the pixels of its cell.
type Pixel<T> = fn(&[T], &[usize], &mut [T]);

fn prepare_max<T: Real>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    kernel::<T>(node, |x, pixels, out| {
        out.fill(T::least_finite());
        for at in pixels {
            for (out, x) in out.iter_mut().zip(&x[*at..]) {
                *out = if *x > *out { *x } else { *out };
            }
        }
    })
}

fn prepare_avg<T: Real>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    kernel::<T>(node, |x, pixels, out| {
        out.fill(T::ZERO);
        for at in pixels {
            for (out, x) in out.iter_mut().zip(&x[*at..]) {
                *out = out.add(*x);
            }
        }
        let count = T::from_i64(pixels.len() as i64);
        out.iter_mut().for_each(|out| *out = out.div(count));
    })
}

fn kernel<T: Real>(node: &KernelNode, pixel: Pixel<T>) -> Result<Box<dyn Kernel>> {
    let fractional = Fractional::of(&node.attrs)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let input = four(c.shape(0)?, "value")?;
        let mut output = input;
        for (axis, (size, ratio)) in input.iter().zip(fractional.ratio).enumerate() {
            if (*size as f64) < ratio {
                return Err(invalid!(
                    "Pooling ratio is higher than input dimension size for dimension {axis}: {size} and {ratio}"
                ));
            }
            output[axis] = pooled(*size, ratio).max(1);
        }
        let [rows, cols] = fractional.sequences(c, &input, &output)?;
        let mut out = Tensor::uninit(T::DTYPE, Shape::new(&output)?)?;
        let cells = Cells {
            rows: cells(&rows, input[1], fractional.overlapping)?,
            cols: cells(&cols, input[2], fractional.overlapping)?,
        };
        cells.pool(c, input, pixel, out.as_mut_slice::<T>()?)?;
        c.set(0, out);
        c.set(1, Tensor::vector(&rows)?);
        c.set(2, Tensor::vector(&cols)?);
        Ok(())
    }))
}

impl Cells {
    fn pool<T: Real>(&self, c: &OpCall<'_>, dims: [usize; 4], pixel: Pixel<T>, out: &mut [T]) -> Result<()> {
        let (x, [_, height, width, depth]) = (c.slice::<T>(0)?, dims);
        let line = self.cols.len() * depth;
        for_chunks_of(c.par(), out, line, 4096usize.div_ceil(line.max(1)), &|lines, out| {
            let mut pixels = scratch::with_capacity(0);
            for (number, out) in lines.zip(out.chunks_exact_mut(line.max(1))) {
                let (image, row) = (number / self.rows.len(), &self.rows[number % self.rows.len()]);
                for (col, out) in self.cols.iter().zip(out.chunks_exact_mut(depth.max(1))) {
                    pixels.clear();
                    let area = row.len() * col.len();
                    if pixels.capacity() < area {
                        pixels = scratch::with_capacity(area);
                    }
                    let inside = row.clone().flat_map(|i| col.clone().map(move |j| (i, j)));
                    pixels.extend(inside.map(|(i, j)| ((image * height + i) * width + j) * depth));
                    pixel(x, &pixels, out);
                }
            }
        });
        Ok(())
    }

    /// From the sequences in inputs `first` and `first + 1`, for that many rows and columns of cells.
    fn of(
        c: &OpCall<'_>,
        first: usize,
        input: [usize; 4],
        output: [usize; 4],
        overlapping: bool,
    ) -> Result<Cells> {
        let along = |i: usize, size: usize, count: usize| {
            let sequence = c.int_vector(i)?;
            match sequence.get(..count + 1) {
                Some(sequence) => cells(sequence, size, overlapping),
                None => Err(invalid!(
                    "{} must have at least {} elements, but got {}",
                    c.input_name(i),
                    count + 1,
                    sequence.len()
                )),
            }
        };
        Ok(Cells { rows: along(first, input[1], output[1])?, cols: along(first + 1, input[2], output[2])? })
    }
}

fn prepare_max_grad<T: Real>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let overlapping = node.attrs.bool("overlapping")?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let (input, output) = (four(c.shape(0)?, "orig_input")?, four(c.shape(1)?, "orig_output")?);
        check_shape("out_backprop", c.shape(2)?, c.shape(1)?)?;
        if (input[0], input[3]) != (output[0], output[3]) {
            return Err(invalid!("orig_output does not belong to orig_input: {output:?} and {input:?}"));
        }
        let cells = Cells::of(c, 3, input, output, overlapping)?;
        let mut sums = Tensor::zeros(T::DTYPE, c.shape(0)?.clone())?;
        let (x, y, dy) = (c.slice::<T>(0)?, c.slice::<T>(1)?, c.slice::<T>(2)?);
        if x.is_empty() || y.is_empty() {
            c.set(0, sums);
            return Ok(());
        }
        let (image, per_image, depth) = (x.len() / input[0], y.len() / output[0], input[3]);
        let wrong = std::sync::atomic::AtomicBool::new(false);
        for_chunks_of(c.par(), sums.as_mut_slice::<T>()?, image, 1, &|numbers, sums| {
            for (number, sums) in numbers.zip(sums.chunks_exact_mut(image)) {
                let x = &x[number * image..][..image];
                let results: Range<usize> = number * per_image..(number + 1) * per_image;
                let places = cells.rows.iter().flat_map(|row| cells.cols.iter().map(move |col| (row, col)));
                let pixels = y[results.clone()].chunks_exact(depth).zip(dy[results].chunks_exact(depth));
                for ((row, col), (y, dy)) in places.zip(pixels) {
                    for channel in 0..depth {
                        let inside = row.clone().flat_map(|i| col.clone().map(move |j| (i, j)));
                        let at = inside.map(|(i, j)| (i * input[2] + j) * depth + channel);
                        let best = at.reduce(|best, at| if x[at] > x[best] { at } else { best });
                        match best {
                            Some(best) if x[best] == y[channel] => sums[best] = sums[best].add(dy[channel]),
                            _ => wrong.store(true, std::sync::atomic::Ordering::Relaxed),
                        }
                    }
                }
            }
        });
        if wrong.into_inner() {
            return Err(invalid!("orig_output is not the same as the pooled orig_input"));
        }
        c.set(0, sums);
        Ok(())
    }))
}

fn prepare_avg_grad<T: Real>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let overlapping = node.attrs.bool("overlapping")?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let sizes = c.int_vector(0)?;
        if sizes.len() != 4 {
            return Err(invalid!("orig_input_tensor_shape must have 4 elements, got {}", sizes.len()));
        }
        let shape = Shape::from_i64(&sizes)?;
        let (input, output) = (four(&shape, "orig_input")?, four(c.shape(1)?, "out_backprop")?);
        if (input[0], input[3]) != (output[0], output[3]) {
            return Err(invalid!("out_backprop does not belong to orig_input: {output:?} and {input:?}"));
        }
        let cells = Cells::of(c, 2, input, output, overlapping)?;
        let mut sums = Tensor::zeros(DataType::Double, shape)?;
        let dy = c.slice::<T>(1)?;
        if sums.elements() > 0 && !dy.is_empty() {
            let (image, per_image, depth) = (sums.elements() / input[0], dy.len() / output[0], input[3]);
            for_chunks_of(c.par(), sums.as_mut_slice::<f64>()?, image, 1, &|numbers, sums| {
                for (number, sums) in numbers.zip(sums.chunks_exact_mut(image)) {
                    let places =
                        cells.rows.iter().flat_map(|row| cells.cols.iter().map(move |col| (row, col)));
                    let pixels = dy[number * per_image..][..per_image].chunks_exact(depth);
                    for ((row, col), dy) in places.zip(pixels) {
                        let count = (row.len() * col.len()) as f64;
                        for (i, j) in row.clone().flat_map(|i| col.clone().map(move |j| (i, j))) {
                            let sums = &mut sums[(i * input[2] + j) * depth..][..depth];
                            sums.iter_mut().zip(dy).for_each(|(sum, dy)| *sum += dy.to_f64() / count);
                        }
                    }
                }
            });
        }
        let out = crate::convert::converted(&sums, T::DTYPE)?;
        c.set(0, out);
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::call;

    /// Recorded from TensorFlow.
    #[test]
    fn sequences_of_a_seed_are_tensorflows() {
        let x = Tensor::zeros(DataType::Float, Shape::new(&[1, 10, 12, 1]).unwrap()).unwrap();
        for (seeds, pseudo_random, rows) in [
            ((1, 1), false, [0, 2, 3, 4, 6, 8, 10]),
            ((1, 1), true, [0, 2, 3, 5, 7, 8, 10]),
            ((5, 7), false, [0, 1, 3, 4, 6, 8, 10]),
            ((5, 7), true, [0, 2, 4, 5, 7, 9, 10]),
        ] {
            let ratio = [1.0, 1.44, 1.73, 1.0].map(Attr::Float).to_vec();
            let attrs = [
                ("pooling_ratio", Attr::List(ratio)),
                ("pseudo_random", pseudo_random.into()),
                ("deterministic", true.into()),
                ("seed", seeds.0.into()),
                ("seed2", seeds.1.into()),
            ];
            let out = call("FractionalMaxPool", std::slice::from_ref(&x), &attrs).unwrap();
            assert_eq!(out[1].as_slice::<i64>().unwrap(), rows);
            assert_eq!(out[2].as_slice::<i64>().unwrap(), [0, 2, 4, 6, 8, 10, 12]);
        }
    }
}
