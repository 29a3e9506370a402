//! `DrawBoundingBoxes`, `DrawBoundingBoxesV2`: images with the outlines of boxes drawn on them.

use super::resize_axis::four;
use crate::elementwise::for_chunks_of;
use crate::prelude::*;

pub static OPS: &[&Op] = &[&DRAW_BOUNDING_BOXES, &DRAW_BOUNDING_BOXES_V2];

static DRAW_BOUNDING_BOXES: Op = Op {
    name: "DrawBoundingBoxes",
    doc: "Images with boxes outlined: [min y, min x, max y, max x], in parts of the height and width.",
    inputs: &["images: T", "boxes: float"],
    outputs: &["output: T"],
    attrs: &["T: {float, half} = DT_FLOAT"],
    shape: |c| {
        let boxes = c.rank(1, 3)?;
        merge_dim(boxes.dim(2), 4)?;
        Ok(vec![c.rank(0, 4)?])
    },
    grad: Stops,
    kernels: cpu!(run: T in f32, f16),
    cases: |r| {
        let mut case = |depth: usize| Case::new(vec![r.range(&[2, 6, 5, depth], 0.0, 1.0), boxes(r)]);
        vec![case(1), case(3), case(4)]
    },
    expensive: true,
    ..Op::PURE
};

static DRAW_BOUNDING_BOXES_V2: Op = Op {
    name: "DrawBoundingBoxesV2",
    doc: "Images with boxes outlined, in the colours given, one after another.",
    inputs: &["images: T", "boxes: float", "colors: float"],
    grad: Missing,
    cases: |r| {
        let mut case = |colors: usize| {
            Case::new(vec![r.range(&[2, 6, 5, 3], 0.0, 1.0), boxes(r), r.range(&[colors, 4], 0.0, 1.0)])
        };
        vec![case(2), case(0)]
    },
    ..DRAW_BOUNDING_BOXES
};

/// Three boxes for each of two images: inside, partly and fully outside.
fn boxes(_: &mut CaseGen) -> Tensor {
    let values: [f32; 24] = [
        0.1, 0.2, 0.7, 0.8, -0.3, 0.1, 0.4, 1.4, 1.2, 0.0, 1.5, 0.5, //
        0.0, 0.0, 1.0, 1.0, 0.6, 0.1, 0.2, 0.9, 0.3, 0.3, 0.3, 0.3,
    ];
    Shape::new(&[2, 3, 4])
        .and_then(|s| Tensor::from_slice(s, &values))
        .unwrap_or_else(|_| Tensor::scalar(0f32))
}

/// Yellow, blue, red, lime, purple, olive, maroon, navy, aqua, fuchsia.
const COLORS: [[f32; 4]; 10] = [
    [1.0, 1.0, 0.0, 1.0],
    [0.0, 0.0, 1.0, 1.0],
    [1.0, 0.0, 0.0, 1.0],
    [0.0, 1.0, 0.0, 1.0],
    [0.5, 0.0, 0.5, 1.0],
    [0.5, 0.5, 0.0, 1.0],
    [0.5, 0.0, 0.0, 1.0],
    [0.0, 0.0, 0.5, 1.0],
    [0.0, 1.0, 1.0, 1.0],
    [1.0, 0.0, 1.0, 1.0],
];

/// Colour of box number `i`, channel by channel.
enum Palette<'a> {
    Usual { grey: bool },
    Given { colors: &'a [f32], channels: usize },
}

impl Palette<'_> {
    fn of(&self, i: usize, channel: usize) -> f32 {
        match self {
            // A box on a grey image is white.
            Palette::Usual { grey: true } => 1.0,
            Palette::Usual { grey: false } => COLORS[i % COLORS.len()][channel],
            Palette::Given { colors, channels } => colors[i % (colors.len() / channels) * channels + channel],
        }
    }
}

fn run<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    let [batch, height, width, depth] = four(c, 0)?;
    if !matches!(depth, 1 | 3 | 4) {
        return Err(invalid!("Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA), got {depth}"));
    }
    let count = match c.shape(1)?.dims() {
        [b, n, 4] if *b == batch => *n,
        _ => {
            return Err(invalid!(
                "boxes must be 3-D of shape [batch, boxes, 4] for {batch} images, got {}",
                c.shape(1)?
            ));
        }
    };
    let palette = match c.inputs.len() {
        3 => match c.shape(2)?.dims() {
            [_, channels] if *channels < depth => {
                return Err(invalid!(
                    "colors must have equal or more channels than the image provided: {channels} vs {depth}"
                ));
            }
            [0, _] => Palette::Usual { grey: depth == 1 },
            [_, channels] => Palette::Given { colors: c.slice::<f32>(2)?, channels: *channels },
            _ => return Err(invalid!("colors must be a 2-D matrix, got {}", c.shape(2)?)),
        },
        _ => Palette::Usual { grey: depth == 1 },
    };
    let mut out = Tensor::from_slice(c.shape(0)?.clone(), c.slice::<T>(0)?)?;
    let (boxes, area) = (c.slice::<f32>(1)?, height * width * depth);
    for_chunks_of(c.par(), out.as_mut_slice::<T>()?, area, 1, &|images, out| {
        for (image, out) in images.zip(out.chunks_exact_mut(area.max(1))) {
            for i in 0..count {
                let [top, left, bottom, right] = std::array::from_fn(|k| {
                    let size = if k % 2 == 0 { height } else { width };
                    (boxes[(image * count + i) * 4 + k] * (size - 1) as f32) as i64
                });
                let mut paint = |y: i64, x: i64| {
                    let at = (y as usize * width + x as usize) * depth;
                    let colors = (0..depth).map(|channel| palette.of(i, channel));
                    out[at..at + depth].iter_mut().zip(colors).for_each(|(o, v)| *o = T::from_f64(v.into()));
                };
                outline([top, left, bottom, right], height as i64, width as i64, &mut paint);
            }
        }
    });
    c.set(0, out);
    Ok(())
}

/// Calls `paint` for the pixels of the lines that lie in the image.
fn outline([top, left, bottom, right]: [i64; 4], height: i64, width: i64, paint: &mut dyn FnMut(i64, i64)) {
    let outside = top >= height || bottom < 0 || left >= width || right < 0;
    if top > bottom || left > right || outside {
        return;
    }
    for y in [top, bottom].into_iter().filter(|y| (0..height).contains(y)) {
        (left.max(0)..=right.min(width - 1)).for_each(|x| paint(y, x));
    }
    for x in [left, right].into_iter().filter(|x| (0..width).contains(x)) {
        (top.max(0)..=bottom.min(height - 1)).for_each(|y| paint(y, x));
    }
}
