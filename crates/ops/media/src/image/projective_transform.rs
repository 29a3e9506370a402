//! `ImageProjectiveTransformV2`, `V3`: images seen through a projective map of the plane.

use super::resize_axis::{four, size_of};
use crate::elementwise::for_chunks_of;
use crate::prelude::*;

pub static OPS: &[&Op] = &[&IMAGE_PROJECTIVE_TRANSFORM_V2, &IMAGE_PROJECTIVE_TRANSFORM_V3];

static IMAGE_PROJECTIVE_TRANSFORM_V2: Op = Op {
    name: "ImageProjectiveTransformV2",
    doc: "Images whose pixel (x, y) is the input's at ((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k), k = c0 x + c1 y + 1.",
    inputs: &["images: dtype", "transforms: float", "output_shape: int32"],
    outputs: &["transformed_images: dtype"],
    attrs: &[
        "dtype: {uint8, int32, int64, half, bfloat16, float, double}",
        "interpolation: string",
        "fill_mode: string = 'CONSTANT'",
    ],
    shape: |c| {
        let (x, _) = (c.rank(0, 4)?, c.rank(1, 2)?);
        let size = c.as_shape(2)?.merge(&PartialShape::unknown_of_rank(2))?;
        Ok(vec![[x.dim(0), size.dim(0), size.dim(1), x.dim(3)].into_iter().collect()])
    },
    grad: Rule(grad),
    kernels: cpu!(make prepare: dtype in u8, i32, i64, f16, bf16, f32, f64),
    cases: |r| {
        let mut case = |interpolation: &str, mode: &str, transforms: usize| {
            let inputs = vec![r.tensor(&[2, 5, 4, 2]), maps(transforms), int_vector(&[4, 6])];
            // The gradient is TensorFlow's, the inverse map's: not the derivative.
            Case::new(inputs)
                .attr("interpolation", interpolation)
                .attr("fill_mode", mode)
                .without_difference(&[0, 1])
        };
        vec![
            case("BILINEAR", "CONSTANT", 2),
            case("NEAREST", "REFLECT", 1),
            case("BILINEAR", "WRAP", 1),
            case("BILINEAR", "NEAREST", 2),
        ]
    },
    host_inputs: &["output_shape"],
    expensive: true,
    ..Op::PURE
};

static IMAGE_PROJECTIVE_TRANSFORM_V3: Op = Op {
    name: "ImageProjectiveTransformV3",
    inputs: &["images: dtype", "transforms: float", "output_shape: int32", "fill_value: float"],
    shape: |c| {
        c.scalar(3)?;
        (IMAGE_PROJECTIVE_TRANSFORM_V2.shape)(c)
    },
    cases: |r| {
        let with_fill = |mut case: Case| {
            case.inputs.push(Tensor::scalar(0.5f32));
            case.without_difference(&[0, 1, 3])
        };
        (IMAGE_PROJECTIVE_TRANSFORM_V2.cases)(r).into_iter().map(with_fill).collect()
    },
    ..IMAGE_PROJECTIVE_TRANSFORM_V2
};

fn maps(count: usize) -> Tensor {
    let values =
        [[0.9f32, 0.2, -0.6, -0.15, 1.1, 0.35, 0.01, -0.02], [-1.2, 0.1, 5.3, 0.05, 0.7, -2.4, 0.0, 0.03]];
    Shape::new(&[count, 8])
        .and_then(|s| Tensor::from_slice(s, &values.as_flattened()[..8 * count]))
        .unwrap_or_else(|_| Tensor::scalar(0f32))
}

/// The gradient is mapped back through the inverse.
fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (images, dy) = (g.x[0], g.dy()?);
    let inverse = inverse(g, g.x[1])?;
    let size = size_of(g, images)?;
    let names = ["interpolation", "fill_mode"];
    let attrs: Vec<_> = names.iter().filter_map(|n| Some((*n, g.attrs.get(n)?.clone()))).collect();
    let mut grads = vec![Grad::None; g.x.len()];
    grads[0] = if g.x.len() > 3 {
        let none = g.constant(Tensor::scalar(0f32))?;
        g.op(g.op, [dy.into(), inverse.into(), size.into(), none.into()], &attrs)?
    } else {
        g.op(g.op, [dy.into(), inverse.into(), size.into()], &attrs)?
    }
    .into();
    Ok(grads)
}

/// The inverse maps: cofactors of the matrices [[a0, a1, a2], [b0, b1, b2], [c0, c1, 1]], over the last of them.
fn inverse(g: &mut GradCall<'_>, maps: Output) -> Result<Output> {
    let parts = g.ops("Unpack", [maps.into()], &[("num", Attr::Int(8)), ("axis", Attr::Int(1))])?;
    let one = g.unary("OnesLike", parts[0])?;
    let m = |row: usize, col: usize| parts.get(3 * row + col).copied().unwrap_or(one);
    let mut cofactor = |row: usize, col: usize| {
        let (r, c) = ([(row + 1) % 3, (row + 2) % 3], [(col + 1) % 3, (col + 2) % 3]);
        let left = g.binary("Mul", m(r[0], c[0]), m(r[1], c[1]))?;
        let right = g.binary("Mul", m(r[0], c[1]), m(r[1], c[0]))?;
        g.binary("Sub", left, right)
    };
    // Of the transposed matrix.
    let mut entries = Vec::new();
    for i in 0..9 {
        entries.push(cofactor(i % 3, i / 3)?);
    }
    let Some(last) = entries.pop() else { return Ok(maps) };
    for entry in &mut entries {
        *entry = g.binary("RealDiv", *entry, last)?;
    }
    let attrs = [("axis", Attr::Int(1)), ("N", Attr::Int(8))];
    g.op("Pack", [Arg::List(entries)], &attrs)
}

#[derive(Clone, Copy)]
enum Fill {
    Constant,
    Reflect,
    Wrap,
    Nearest,
}

impl Fill {
    fn of(mode: &str) -> Result<Fill> {
        match mode {
            "CONSTANT" => Ok(Fill::Constant),
            "REFLECT" => Ok(Fill::Reflect),
            "WRAP" => Ok(Fill::Wrap),
            "NEAREST" => Ok(Fill::Nearest),
            other => Err(invalid!("Invalid mode {other}. Supported types: REFLECT, WRAP, CONSTANT, NEAREST")),
        }
    }

    /// A coordinate, folded into the image.
    fn map(self, x: f32, len: usize) -> f32 {
        let (last, size) = (len as f32 - 1.0, len as f32);
        let inside = |x: f32| if x.is_nan() { 0.0 } else { x.clamp(0.0, last.max(0.0)) };
        let folded = match self {
            Fill::Constant => return x,
            Fill::Nearest => x,
            _ if len <= 1 => 0.0,
            Fill::Reflect if x < 0.0 => {
                let both = 2.0 * size;
                let x = both * (-x / both).trunc() + x;
                if x < -size { x + both } else { -x - 1.0 }
            }
            Fill::Reflect if x > last => {
                let both = 2.0 * size;
                let x = x - both * (x / both).trunc();
                if x >= size { both - x - 1.0 } else { x }
            }
            Fill::Wrap if x < 0.0 => x + size * ((-x / last).trunc() + 1.0),
            Fill::Wrap if x > last => x - size * (x / last).trunc(),
            _ => x,
        };
        inside(folded)
    }
}

fn prepare<T: Real>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let bilinear = match node.attrs.str("interpolation")? {
        "BILINEAR" => true,
        "NEAREST" => false,
        other => return Err(invalid!("Invalid interpolation {other}. Supported types: NEAREST, BILINEAR")),
    };
    let mode = Fill::of(node.attrs.str("fill_mode")?)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let [batch, height, width, depth] = four(c, 0)?;
        let maps = c.slice::<f32>(1)?;
        let shared = match c.shape(1)?.dims() {
            [n, 8] if *n == batch => false,
            [1, 8] => true,
            _ => {
                return Err(invalid!(
                    "Input transform should be num_images x 8 or 1 x 8, got {}",
                    c.shape(1)?
                ));
            }
        };
        let size = c.int_vector(2)?;
        let [rows, cols] = match size[..] {
            [rows, cols] if rows > 0 && cols > 0 => [rows as usize, cols as usize],
            [_, _] => return Err(invalid!("new dimensions must be positive, got {size:?}")),
            _ => return Err(invalid!("output shape must have two elements, got {}", size.len())),
        };
        let fill = if c.inputs.len() > 3 { c.scalar::<f32>(3)? } else { 0.0 };
        let fill = T::from_f64(fill.into());
        let mut out = Tensor::uninit(T::DTYPE, Shape::new(&[batch, rows, cols, depth])?)?;
        let x = c.slice::<T>(0)?;
        for_chunks_of(c.par(), out.as_mut_slice::<T>()?, cols * depth, 4, &|range, out| {
            for (line, out) in range.zip(out.chunks_exact_mut((cols * depth).max(1))) {
                let (image, row) = (line / rows, line % rows);
                let map = &maps[if shared { 0 } else { 8 * image }..][..8];
                let pixels = &x[image * height * width * depth..][..height * width * depth];
                let source = Source { pixels, height, width, depth, fill };
                for (col, out) in out.chunks_exact_mut(depth.max(1)).enumerate() {
                    let (x, y) = (col as f32, row as f32);
                    let k = map[6] * x + map[7] * y + 1.0;
                    if k == 0.0 {
                        out.fill(fill);
                        continue;
                    }
                    let at_x = mode.map((map[0] * x + map[1] * y + map[2]) / k, width);
                    let at_y = mode.map((map[3] * x + map[4] * y + map[5]) / k, height);
                    for (channel, out) in out.iter_mut().enumerate() {
                        *out = match bilinear {
                            true => source.between(at_y, at_x, channel),
                            false => source.at(at_y.round(), at_x.round(), channel),
                        };
                    }
                }
            }
        });
        c.set(0, out);
        Ok(())
    }))
}

/// One image.
struct Source<'a, T> {
    pixels: &'a [T],
    height: usize,
    width: usize,
    depth: usize,
    fill: T,
}

impl<T: Real> Source<'_, T> {
    fn at(&self, y: f32, x: f32, channel: usize) -> T {
        let inside = y >= 0.0 && x >= 0.0 && y < self.height as f32 && x < self.width as f32;
        if inside {
            self.pixels[(y as usize * self.width + x as usize) * self.depth + channel]
        } else {
            self.fill
        }
    }

    fn between(&self, y: f32, x: f32, channel: usize) -> T {
        let (top, left) = (y.floor(), x.floor());
        let (bottom, right) = (top + 1.0, left + 1.0);
        let get = |y: f32, x: f32| self.at(y, x, channel).to_f64() as f32;
        let line = |y: f32| (right - x) * get(y, left) + (x - left) * get(y, right);
        T::from_f64(((bottom - y) * line(top) + (y - top) * line(bottom)).into())
    }
}
