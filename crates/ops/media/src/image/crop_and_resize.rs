//! `CropAndResize`: parts of images, resized; and its gradients by images and by boxes.

use super::resize_axis::four;
use crate::elementwise::for_chunks_of;
use crate::prelude::*;

pub static OPS: &[&Op] = &[&CROP_AND_RESIZE, &CROP_AND_RESIZE_GRAD_IMAGE, &CROP_AND_RESIZE_GRAD_BOXES];

static CROP_AND_RESIZE: Op = Op {
    name: "CropAndResize",
    doc: "Boxes ([y1, x1, y2, x2], 0 to 1) cut out of images and resized to one size.",
    inputs: &["image: T", "boxes: float", "box_ind: int32", "crop_size: int32"],
    outputs: &["crops: float"],
    attrs: &[
        "T: {uint8, uint16, int8, int16, int32, int64, half, float, double}",
        "method: {'bilinear', 'nearest'} = 'bilinear'",
        "extrapolation_value: float = 0",
    ],
    shape: |c| {
        let image = c.rank(0, 4)?;
        let boxes = box_count(c, 1)?;
        let size = c.as_shape(3)?.merge(&PartialShape::unknown_of_rank(2))?;
        Ok(vec![[boxes, size.dim(0), size.dim(1), image.dim(3)].into_iter().collect()])
    },
    grad: Rule(|g| {
        let (image, boxes, at, dy) = (g.x[0], g.x[1], g.x[2], g.dy()?);
        let dtype = g.graph.dtype(image);
        let of_image = if dtype.is_float() {
            let size = g.shape_of(image)?;
            let method = g.attrs.get("method").cloned().unwrap_or(Attr::str("bilinear"));
            let attrs = [("T", Attr::Type(dtype)), ("method", method)];
            g.op("CropAndResizeGradImage", [dy.into(), boxes.into(), at.into(), size.into()], &attrs)?.into()
        } else {
            Grad::None
        };
        // Of the nearest pixel too: the slope of the bilinear surface stands in.
        let of_boxes =
            g.op("CropAndResizeGradBoxes", [dy.into(), image.into(), boxes.into(), at.into()], &[])?;
        Ok(vec![of_image, of_boxes.into(), Grad::None, Grad::None])
    }),
    kernels: cpu!(make prepare: T in u8, u16, i8, i16, i32, i64, f16, f32, f64),
    cases: |r| {
        let mut case = |size: [i32; 2]| {
            Case::new(vec![r.tensor(&[2, 5, 4, 2]), boxes(), int_vector(&[0, 1, 0]), int_vector(&size)])
        };
        vec![
            case([3, 2]).without_difference(&[1]),
            case([1, 4]).attr("extrapolation_value", 0.5f32).without_difference(&[1]),
            case([3, 4]).attr("method", "nearest").without_difference(&[1]),
        ]
    },
    expensive: true,
    host_inputs: &["crop_size"],
    ..Op::PURE
};

static CROP_AND_RESIZE_GRAD_IMAGE: Op = Op {
    name: "CropAndResizeGradImage",
    doc: "The gradient of CropAndResize by images of this size.",
    inputs: &["grads: float", "boxes: float", "box_ind: int32", "image_size: int32"],
    outputs: &["output: T"],
    attrs: &["T: {float, half, double}", "method: {'bilinear', 'nearest'} = 'bilinear'"],
    shape: |c| {
        c.rank(0, 4)?;
        box_count(c, 1)?;
        Ok(vec![c.as_shape(3)?.merge(&PartialShape::unknown_of_rank(4))?])
    },
    grad: Missing,
    kernels: cpu!(make prepare_grad_image: T in f32, f16, f64),
    cases: |r| {
        let mut case = |method: &str| {
            Case::new(vec![
                r.tensor(&[3, 3, 2, 2]),
                boxes(),
                int_vector(&[0, 1, 0]),
                int_vector(&[2, 5, 4, 2]),
            ])
            .attr("T", DataType::Float)
            .attr("method", method)
        };
        vec![case("bilinear"), case("nearest")]
    },
    host_inputs: &["image_size"],
    ..CROP_AND_RESIZE
};

static CROP_AND_RESIZE_GRAD_BOXES: Op = Op {
    name: "CropAndResizeGradBoxes",
    doc: "The gradient of CropAndResize by the boxes.",
    inputs: &["grads: float", "image: T", "boxes: float", "box_ind: int32"],
    outputs: &["output: float"],
    attrs: &[
        "T: {uint8, uint16, int8, int16, int32, int64, half, float, double}",
        "method: {'bilinear'} = 'bilinear'",
    ],
    shape: |c| {
        c.rank(0, 4)?;
        c.rank(1, 4)?;
        Ok(vec![[box_count(c, 2)?, 4].into_iter().collect()])
    },
    grad: Missing,
    kernels: cpu!(grad_boxes: T in u8, u16, i8, i16, i32, i64, f16, f32, f64),
    cases: |r| {
        vec![Case::new(vec![
            r.tensor(&[3, 3, 2, 2]),
            r.tensor(&[2, 5, 4, 2]),
            boxes(),
            int_vector(&[0, 1, 0]),
        ])]
    },
    host_inputs: &[],
    ..CROP_AND_RESIZE
};

/// One inside, one that leaves the image, one that is flipped.
fn boxes() -> Tensor {
    let values = [[0.07f32, 0.13, 0.83, 0.71], [-0.2, 0.3, 0.6, 1.3], [0.9, 0.8, 0.1, 0.05]];
    Shape::new(&[3, 4])
        .and_then(|s| Tensor::from_slice(s, values.as_flattened()))
        .unwrap_or_else(|_| Tensor::scalar(0f32))
}

/// The number of boxes, from the shapes of inputs `i` and `i + 1`.
fn box_count(c: &ShapeCall<'_>, i: usize) -> Result<i64> {
    let (boxes, at) = (c.rank(i, 2)?, c.rank(i + 1, 1)?);
    merge_dim(boxes.dim(1), 4)?;
    merge_dim(boxes.dim(0), at.dim(0))
}

/// Boxes and the images that they belong to: inputs `i` and `i + 1`.
struct Boxes<'a> {
    corners: &'a [f32],
    images: &'a [i32],
}

impl<'a> Boxes<'a> {
    fn of(c: &'a OpCall<'_>, i: usize, batch: usize) -> Result<Boxes<'a>> {
        let count = match c.shape(i)?.dims() {
            [n, 4] => *n,
            // No boxes, of whatever width: TensorFlow does not look at it.
            [_, _] if c.shape(i)?.elements() == 0 && c.shape(i + 1)?.elements() == 0 => 0,
            [_, _] => return Err(invalid!("boxes must have 4 columns, got shape {}", c.shape(i)?)),
            _ => return Err(invalid!("boxes must be 2-D, got shape {}", c.shape(i)?)),
        };
        match c.shape(i + 1)?.dims() {
            [n] if *n == count => {}
            [n] => return Err(invalid!("box_index has incompatible shape: {n} indices of {count} boxes")),
            _ => return Err(invalid!("box_index must be 1-D, got shape {}", c.shape(i + 1)?)),
        }
        let images = c.slice::<i32>(i + 1)?;
        if let Some(odd) = images.iter().find(|at| usize::try_from(**at).map_or(true, |at| at >= batch)) {
            return Err(out_of_range(format_args!("box_index has values outside [0, {batch}): {odd}")));
        }
        Ok(Boxes { corners: c.slice::<f32>(i)?, images })
    }

    fn len(&self) -> usize {
        self.images.len()
    }

    /// How rows (0) or columns (1) of crop `i` are sampled.
    fn axis(&self, i: usize, axis: usize, image: usize, crop: usize) -> Axis {
        let (low, high) = (self.corners[4 * i + axis], self.corners[4 * i + axis + 2]);
        let last = (image - 1) as f32;
        let ratio = if crop > 1 { last / (crop - 1) as f32 } else { 0.0 };
        let scale = if crop > 1 { (high - low) * last / (crop - 1) as f32 } else { 0.0 };
        let start = if crop > 1 { low * last } else { 0.5 * (low + high) * last };
        Axis { start, scale, ratio, last, single: crop == 1 }
    }
}

struct Axis {
    start: f32,
    scale: f32,
    ratio: f32,
    last: f32,
    single: bool,
}

/// A position between two pixels.
struct Between {
    low: usize,
    high: usize,
    nearest: usize,
    /// How far it is from the first to the second.
    part: f32,
}

impl Axis {
    /// Where position `i` of the crop lies in the image; none if it is outside.
    fn at(&self, i: usize) -> Option<Between> {
        let x = self.start + i as f32 * self.scale;
        // Not a comparison the other way: NaN is outside.
        let inside = x >= 0.0 && x <= self.last;
        inside.then(|| {
            let (low, high) = (x.floor(), x.ceil());
            Between { low: low as usize, high: high as usize, nearest: x.round() as usize, part: x - low }
        })
    }

    /// How a position moves with the start and the end of its box.
    fn slopes(&self, i: usize) -> [f32; 2] {
        match self.single {
            true => [0.5 * self.last; 2],
            false => [self.last - i as f32 * self.ratio, i as f32 * self.ratio],
        }
    }
}

fn nearest(attrs: &Attrs) -> Result<bool> {
    Ok(attrs.str("method")? == "nearest")
}

fn check_image(c: &OpCall<'_>, i: usize) -> Result<[usize; 4]> {
    let dims = four(c, i)?;
    if dims[1] == 0 || dims[2] == 0 {
        return Err(invalid!("image dimensions must be positive, got {dims:?}"));
    }
    Ok(dims)
}

fn prepare<T: Real>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let (nearest, outside) = (nearest(&node.attrs)?, node.attrs.float("extrapolation_value")?);
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let [batch, height, width, depth] = check_image(c, 0)?;
        let size = c.int_vector(3)?;
        let [rows, cols] = match size[..] {
            [rows, cols] if rows > 0 && cols > 0 => [rows as usize, cols as usize],
            [_, _] => return Err(invalid!("crop dimensions must be positive, got {size:?}")),
            _ => return Err(invalid!("crop_size must have two elements, got {}", size.len())),
        };
        let boxes = Boxes::of(c, 1, batch)?;
        let mut out = Tensor::uninit(DataType::Float, Shape::new(&[boxes.len(), rows, cols, depth])?)?;
        let x = c.slice::<T>(0)?;
        for_chunks_of(c.par(), out.as_mut_slice::<f32>()?, cols * depth, 4, &|range, out| {
            for (line, out) in range.zip(out.chunks_exact_mut((cols * depth).max(1))) {
                let (i, row) = (line / rows, line % rows);
                let (down, across) = (boxes.axis(i, 0, height, rows), boxes.axis(i, 1, width, cols));
                let Some(y) = down.at(row) else {
                    out.fill(outside);
                    continue;
                };
                let image = &x[boxes.images[i] as usize * height * width * depth..][..height * width * depth];
                for (col, out) in out.chunks_exact_mut(depth.max(1)).enumerate() {
                    let Some(x) = across.at(col) else {
                        out.fill(outside);
                        continue;
                    };
                    for (d, out) in out.iter_mut().enumerate() {
                        let get = |y: usize, x: usize| image[(y * width + x) * depth + d].to_f64() as f32;
                        *out = if nearest {
                            get(y.nearest, x.nearest)
                        } else {
                            let line = |y: usize| get(y, x.low) + (get(y, x.high) - get(y, x.low)) * x.part;
                            let (top, bottom) = (line(y.low), line(y.high));
                            top + (bottom - top) * y.part
                        };
                    }
                }
            }
        });
        c.set(0, out);
        Ok(())
    }))
}

/// Grads must have one crop for each box.
fn check_grads(c: &OpCall<'_>, boxes: &Boxes<'_>, depth: usize) -> Result<[usize; 2]> {
    let [count, rows, cols, channels] = four(c, 0)?;
    if rows == 0 || cols == 0 {
        return Err(invalid!("grads dimensions must be positive, got {}", c.shape(0)?));
    }
    if count != boxes.len() {
        return Err(invalid!("boxes and grads have incompatible shape: {} and {}", boxes.len(), c.shape(0)?));
    }
    if channels != depth {
        return Err(invalid!("image_size and grads are incompatible: depth {depth} and {channels}"));
    }
    Ok([rows, cols])
}

fn prepare_grad_image<T: Float>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let nearest = nearest(&node.attrs)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let size = c.int_vector(3)?;
        let shape = match size[..] {
            [_, h, w, d] if h > 0 && w > 0 && d > 0 => Shape::from_i64(&size)?,
            [_, _, _, _] => return Err(invalid!("image dimensions must be positive, got {size:?}")),
            _ => return Err(invalid!("image_size must have 4 elements, got {}", size.len())),
        };
        let &[batch, height, width, depth] = shape.dims() else {
            return Err(invalid!("image_size must have 4 elements"));
        };
        let boxes = Boxes::of(c, 1, batch)?;
        let [rows, cols] = check_grads(c, &boxes, depth)?;
        let mut out = Tensor::zeros(T::DTYPE, shape.clone())?;
        let dy = c.slice::<f32>(0)?;
        // An image at a time, so that the order of summation does not depend on the number of threads.
        for_chunks_of(c.par(), out.as_mut_slice::<T>()?, height * width * depth, 1, &|images, out| {
            for (image, out) in images.zip(out.chunks_exact_mut((height * width * depth).max(1))) {
                for i in (0..boxes.len()).filter(|i| boxes.images[*i] as usize == image) {
                    let (down, across) = (boxes.axis(i, 0, height, rows), boxes.axis(i, 1, width, cols));
                    for (row, y) in (0..rows).filter_map(|row| Some((row, down.at(row)?))) {
                        for (col, x) in (0..cols).filter_map(|col| Some((col, across.at(col)?))) {
                            let dy = &dy[((i * rows + row) * cols + col) * depth..][..depth];
                            let mut add = |y: usize, x: usize, weights: [f32; 2]| {
                                let to = &mut out[(y * width + x) * depth..][..depth];
                                to.iter_mut().zip(dy).for_each(|(to, dy)| {
                                    *to = to.add(T::from_f64((weights[0] * (weights[1] * dy)).into()))
                                });
                            };
                            if nearest {
                                add(y.nearest, x.nearest, [1.0; 2]);
                                continue;
                            }
                            for (at_y, wy) in [(y.low, 1.0 - y.part), (y.high, y.part)] {
                                add(at_y, x.low, [1.0 - x.part, wy]);
                                add(at_y, x.high, [x.part, wy]);
                            }
                        }
                    }
                }
            }
        });
        c.set(0, out);
        Ok(())
    }))
}

fn grad_boxes<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    let [batch, height, width, depth] = check_image(c, 1)?;
    let boxes = Boxes::of(c, 2, batch)?;
    let [rows, cols] = check_grads(c, &boxes, depth)?;
    let mut out = Tensor::zeros(DataType::Float, Shape::new(&[boxes.len(), 4])?)?;
    let (dy, x) = (c.slice::<f32>(0)?, c.slice::<T>(1)?);
    for_chunks_of(c.par(), out.as_mut_slice::<f32>()?, 4, 1, &|range, out| {
        for (i, out) in range.zip(out.chunks_exact_mut(4)) {
            let image = &x[boxes.images[i] as usize * height * width * depth..][..height * width * depth];
            let (down, across) = (boxes.axis(i, 0, height, rows), boxes.axis(i, 1, width, cols));
            for (row, y) in (0..rows).filter_map(|row| Some((row, down.at(row)?))) {
                for (col, x) in (0..cols).filter_map(|col| Some((col, across.at(col)?))) {
                    let (mut by_y, mut by_x) = (0.0, 0.0);
                    for d in 0..depth {
                        let get = |y: usize, x: usize| image[(y * width + x) * depth + d].to_f64() as f32;
                        let corners = [
                            [get(y.low, x.low), get(y.low, x.high)],
                            [get(y.high, x.low), get(y.high, x.high)],
                        ];
                        let dy = dy[((i * rows + row) * cols + col) * depth + d];
                        let [[top_left, top_right], [bottom_left, bottom_right]] = corners;
                        by_y += dy
                            * ((1.0 - x.part) * (bottom_left - top_left)
                                + x.part * (bottom_right - top_right));
                        by_x += dy
                            * ((1.0 - y.part) * (top_right - top_left)
                                + y.part * (bottom_right - bottom_left));
                    }
                    let ([y1, y2], [x1, x2]) = (down.slopes(row), across.slopes(col));
                    for (out, slope) in out.iter_mut().zip([by_y * y1, by_x * x1, by_y * y2, by_x * x2]) {
                        *out += slope;
                    }
                }
            }
        }
    });
    c.set(0, out);
    Ok(())
}
