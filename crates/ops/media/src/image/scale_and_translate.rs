//! `ScaleAndTranslate`: images resampled with a kernel, at any scale and offset; and its gradient.

use super::resize_axis::{four, not_empty, resized_shape, size_input};
use super::weighted::{Taps, resize, spread};
use crate::prelude::*;
use std::f32::consts::PI;

pub static OPS: &[&Op] = &[&SCALE_AND_TRANSLATE, &SCALE_AND_TRANSLATE_GRAD];

static SCALE_AND_TRANSLATE: Op = Op {
    name: "ScaleAndTranslate",
    doc: "Images scaled and moved, resampled with a kernel.",
    inputs: &["images: T", "size: int32", "scale: float", "translation: float"],
    outputs: &["resized_images: float"],
    attrs: &[
        "T: {int8, uint8, int16, uint16, int32, int64, bfloat16, half, float, double}",
        "kernel_type: string = 'lanczos3'",
        "antialias: bool = true",
    ],
    shape: |c| {
        for i in [2, 3] {
            PartialShape::vector(2).merge(&c.input(i))?;
        }
        resized_shape(c)
    },
    grad: Rule(|g| {
        let (x, dy) = (g.x[0], g.dy()?);
        let mut grads = vec![Grad::None; 4];
        if g.graph.dtype(x) == DataType::Float {
            let attrs: Vec<_> = ["kernel_type", "antialias"]
                .iter()
                .filter_map(|n| Some((*n, g.attrs.get(n)?.clone())))
                .collect();
            let inputs = [dy.into(), x.into(), g.x[2].into(), g.x[3].into()];
            grads[0] = g.op("ScaleAndTranslateGrad", inputs, &attrs)?.into();
        }
        Ok(grads)
    }),
    kernels: cpu!(make prepare: T in f32, f64, f16, bf16, i8, u8, i16, u16, i32, i64),
    cases: |r| {
        let mut case = |kernel: &str, antialias: bool, scale: [f32; 2]| {
            let translation = pair([0.4, -0.7]);
            let inputs = vec![r.tensor(&[2, 5, 4, 2]), int_vector(&[4, 6]), pair(scale), translation];
            Case::new(inputs)
                .attr("kernel_type", kernel)
                .attr("antialias", antialias)
                .without_difference(&[2, 3])
        };
        let kernels =
            ["lanczos1", "lanczos3", "lanczos5", "gaussian", "triangle", "keyscubic", "mitchellcubic"];
        let mut cases: Vec<Case> = kernels.iter().map(|k| case(k, true, [0.6, 1.7])).collect();
        cases.push(case("box", true, [0.61, 1.73]));
        cases.push(case("lanczos3", false, [0.6, 0.8]));
        cases
    },
    expensive: true,
    host_inputs: &["size", "scale", "translation"],
    ..Op::PURE
};

static SCALE_AND_TRANSLATE_GRAD: Op = Op {
    name: "ScaleAndTranslateGrad",
    doc: "The gradient of ScaleAndTranslate by images that are shaped as original_image.",
    inputs: &["grads: T", "original_image: T", "scale: float", "translation: float"],
    outputs: &["output: T"],
    attrs: &["T: {float}", "kernel_type: string = 'lanczos3'", "antialias: bool = true"],
    shape: |c| {
        // Batch and channels are those of grads: TensorFlow does not ask whether the image's are the same.
        let (dy, x) = (c.rank(0, 4)?, c.rank(1, 4)?);
        Ok(vec![[dy.dim(0), x.dim(1), x.dim(2), dy.dim(3)].into_iter().collect()])
    },
    grad: Missing,
    kernels: cpu!(make prepare_grad),
    cases: |r| {
        let inputs =
            vec![r.tensor(&[2, 4, 6, 2]), r.tensor(&[2, 5, 4, 2]), pair([0.6, 1.7]), pair([0.4, -0.7])];
        vec![Case::new(inputs)]
    },
    host_inputs: &["scale", "translation"],
    ..SCALE_AND_TRANSLATE
};

fn pair(values: [f32; 2]) -> Tensor {
    Tensor::vector(&values).unwrap_or_else(|_| Tensor::scalar(0f32))
}

#[derive(Clone, Copy)]
enum Sampling {
    Lanczos(f32),
    Gaussian,
    Box,
    Triangle,
    KeysCubic,
    MitchellCubic,
}

impl Sampling {
    fn of(attrs: &Attrs) -> Result<Sampling> {
        let name = attrs.str("kernel_type")?;
        Ok(match () {
            () if name.eq_ignore_ascii_case("lanczos1") => Sampling::Lanczos(1.0),
            () if name.eq_ignore_ascii_case("lanczos3") => Sampling::Lanczos(3.0),
            () if name.eq_ignore_ascii_case("lanczos5") => Sampling::Lanczos(5.0),
            () if name.eq_ignore_ascii_case("gaussian") => Sampling::Gaussian,
            () if name.eq_ignore_ascii_case("box") => Sampling::Box,
            () if name.eq_ignore_ascii_case("triangle") => Sampling::Triangle,
            () if name.eq_ignore_ascii_case("keyscubic") => Sampling::KeysCubic,
            () if name.eq_ignore_ascii_case("mitchellcubic") => Sampling::MitchellCubic,
            () => return Err(invalid!("Unrecognized kernel type: {name}")),
        })
    }

    fn radius(self) -> f32 {
        match self {
            Sampling::Lanczos(radius) => radius,
            Sampling::Gaussian => 1.5,
            Sampling::Box | Sampling::Triangle => 1.0,
            Sampling::KeysCubic | Sampling::MitchellCubic => 2.0,
        }
    }

    /// The weight at a distance of `x` from the centre.
    fn weight(self, x: f32) -> f32 {
        match self {
            Sampling::Lanczos(radius) if x > radius => 0.0,
            Sampling::Lanczos(_) if x <= 1e-3 => 1.0,
            Sampling::Lanczos(radius) => {
                radius * (PI * x).sin() * (PI * x / radius).sin() / (PI * PI * x * x)
            }
            Sampling::Gaussian if x >= 1.5 => 0.0,
            Sampling::Gaussian => (-x * x / (2.0 * 0.5 * 0.5)).exp(),
            Sampling::Box if x < 0.5 => 1.0,
            Sampling::Box if x == 0.5 => 0.5,
            Sampling::Box => 0.0,
            Sampling::Triangle => (1.0 - x).max(0.0),
            Sampling::KeysCubic | Sampling::MitchellCubic if x >= 2.0 => 0.0,
            Sampling::KeysCubic if x >= 1.0 => ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0,
            Sampling::KeysCubic => ((1.5 * x - 2.5) * x) * x + 1.0,
            Sampling::MitchellCubic if x >= 1.0 => {
                (((-7.0 / 18.0) * x + 2.0) * x - 10.0 / 3.0) * x + 16.0 / 9.0
            }
            Sampling::MitchellCubic => (((7.0 / 6.0) * x - 2.0) * x) * x + 8.0 / 9.0,
        }
    }

    fn taps(self, old: usize, new: usize, scale: f32, translation: f32, antialias: bool) -> Result<Taps> {
        let inverse = 1.0 / scale;
        let offset = -inverse * translation;
        // A smaller image needs a wider kernel, which takes out what it cannot show.
        let widened = if antialias { inverse.max(1.0) } else { 1.0 };
        let reach = self.radius() * widened;
        let span = (2.0 * reach.ceil() + 1.0).min(old as f32) as usize;
        let mut taps = Taps::new(new, span)?;
        let mut weights = reserve::filled(span, 0f32)?;
        for i in 0..new {
            let centre = (i as f32 + 0.5) * inverse + offset;
            weights.fill(0.0);
            let mut first = 0;
            if centre >= 0.0 && centre <= old as f32 {
                let inside = |x: f32| (x.max(0.0) as usize).min(old - 1);
                let start = inside((centre - reach - 0.5).ceil());
                let end = inside((centre + reach - 0.5).floor()) + 1;
                first = start.min(old - span);
                for place in start..end.min(first + span) {
                    weights[place - first] =
                        self.weight(((place as f32 + 0.5 - centre) * (1.0 / widened)).abs());
                }
                let sum = weights.iter().sum::<f32>();
                let factor = if sum.abs() >= 1000.0 * f32::MIN_POSITIVE { 1.0 / sum } else { 0.0 };
                weights.iter_mut().for_each(|w| *w *= factor);
            }
            for (k, weight) in weights.iter().enumerate() {
                taps.push(first + k, *weight)?;
            }
        }
        Ok(taps)
    }
}

/// The pairs of scales and translations, inputs 2 and 3.
fn transform(c: &OpCall<'_>) -> Result<[(f32, f32); 2]> {
    for (i, name) in [(2, "scale"), (3, "translation")] {
        if c.shape(i)?.dims() != [2] {
            return Err(invalid!("{name} must be a vector of 2 elements, got shape {}", c.shape(i)?));
        }
    }
    let (scale, translation) = (c.slice::<f32>(2)?, c.slice::<f32>(3)?);
    if !(scale[0] > 0.0 && scale[1] > 0.0) {
        return Err(invalid!("Scale must be greater than zero, got {scale:?}"));
    }
    Ok([(scale[0], translation[0]), (scale[1], translation[1])])
}

fn prepare<T: Real>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let (kernel, antialias) = (Sampling::of(&node.attrs)?, node.attrs.bool("antialias")?);
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let (dims, size, [y, x]) = (four(c, 0)?, size_input(c, 1)?, transform(c)?);
        not_empty(&dims)?;
        Shape::new(&[dims[0], size[0], size[1], dims[3]])?;
        let down = kernel.taps(dims[1], size[0], y.0, y.1, antialias)?;
        let across = kernel.taps(dims[2], size[1], x.0, x.1, antialias)?;
        let out = resize(c, c.slice::<T>(0)?, dims, size, [&down, &across])?;
        c.set(0, out);
        Ok(())
    }))
}

fn prepare_grad(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let (kernel, antialias) = (Sampling::of(&node.attrs)?, node.attrs.bool("antialias")?);
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let ([batch, rows, cols, depth], dims, [y, x]) = (four(c, 0)?, four(c, 1)?, transform(c)?);
        not_empty(&dims)?;
        let dims = [batch, dims[1], dims[2], depth];
        let down = kernel.taps(dims[1], rows, y.0, y.1, antialias)?;
        let across = kernel.taps(dims[2], cols, x.0, x.1, antialias)?;
        let out = spread::<f32>(c, c.slice::<f32>(0)?, dims, [rows, cols], [&down, &across])?;
        c.set(0, out);
        Ok(())
    }))
}
