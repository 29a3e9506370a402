//! `ExtractImagePatches`: the patches under a sliding window, flattened to channels.

use crate::gradients;
use crate::moving::Block;
use crate::prelude::*;
use crate::strides::steps_inside;
use crate::windows::{Padding, Window};

pub static EXTRACT_IMAGE_PATCHES: Op = Op {
    name: "ExtractImagePatches",
    doc: "The patch under each sliding window position, flattened to channels.",
    inputs: &["images: T"],
    outputs: &["patches: T"],
    attrs: &[
        "ksizes: list(int) >= 4",
        "strides: list(int) >= 4",
        "rates: list(int) >= 4",
        "T: {bfloat16, half, float, double, int8, int16, int32, int64, uint8, uint16, uint32, uint64, complex64, complex128, bool}",
        "padding: {'SAME', 'VALID'}",
    ],
    shape: |c| {
        let x = c.rank(0, 4)?;
        let windows = windows(c.attrs)?;
        let (rows, cols) = (windows[0].known_places(x.dim(1))?, windows[1].known_places(x.dim(2))?);
        let area = windows[0].size as i64 * windows[1].size as i64;
        let depth = if x.dim(3) < 0 { -1 } else { x.dim(3).saturating_mul(area) };
        Ok(vec![[x.dim(0), rows, cols, depth].into_iter().collect()])
    },
    grad: Rule(|g| {
        gradients::of_patches(g, "ExtractImagePatches", &["ksizes", "strides", "rates", "padding"])
    }),
    kernels: cpu!(make prepare),
    cases: |r| {
        let case = |x: Tensor, k: i64, s: i64, rate: i64, padding: &str| {
            let square = |v| Attr::ints(&[1, v, v, 1]);
            Case::new(vec![x])
                .attr("ksizes", square(k))
                .attr("strides", square(s))
                .attr("rates", square(rate))
                .attr("padding", padding)
        };
        vec![
            case(r.tensor(&[2, 4, 5, 2]), 2, 1, 1, "VALID"),
            case(r.tensor(&[1, 4, 5, 2]), 3, 2, 1, "SAME"),
            case(r.tensor(&[1, 6, 5, 1]), 2, 1, 2, "SAME"),
        ]
    },
    expensive: true,
    ..Op::PURE
};

/// The window along rows and along columns.
fn windows(attrs: &Attrs) -> Result<[Window; 2]> {
    let pair = |name: &str| {
        let v = attrs.ints(name)?;
        match v.as_slice() {
            [1, a, b, 1] if *a > 0 && *b > 0 && *a <= i32::MAX as i64 && *b <= i32::MAX as i64 => {
                Ok([*a as usize, *b as usize])
            }
            _ => Err(invalid!("{name} must be [1, rows, cols, 1] with positive numbers, got {v:?}")),
        }
    };
    let (size, stride, rate) = (pair("ksizes")?, pair("strides")?, pair("rates")?);
    let padding = if attrs.str("padding")? == "SAME" { Padding::Same } else { Padding::Valid };
    Ok([0, 1].map(|i| Window { size: size[i], stride: stride[i], dilation: rate[i], padding }))
}

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let windows = windows(&node.attrs)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let x = c.input(0)?;
        let [batch, height, width, depth] = *x.shape().dims() else {
            return Err(invalid!("input must be 4-dimensional, got shape {}", x.shape()));
        };
        let (h, w) = (windows[0].over(height)?, windows[1].over(width)?);
        let (rows, cols) = (h.output, w.output);
        let channels =
            (h.size * w.size).checked_mul(depth).ok_or_else(|| invalid!("the patches are too large"))?;
        let mut out = Tensor::zeros(x.dtype(), Shape::new(&[batch, rows, cols, channels])?)?;
        if out.elements() == 0 {
            c.set(0, out);
            return Ok(());
        }
        let to = out.shape().strides();
        for i in 0..h.size {
            let top = (i * h.dilation) as isize - h.before as isize;
            let (first_row, row_count) = steps_inside(rows, top, h.stride, height);
            for j in 0..w.size {
                let left = (j * w.dilation) as isize - w.before as isize;
                let (first_col, col_count) = steps_inside(cols, left, w.stride, width);
                if row_count == 0 || col_count == 0 {
                    continue;
                }
                let y = (top + (first_row * h.stride) as isize) as usize;
                let x0 = (left + (first_col * w.stride) as isize) as usize;
                let from = (y * width + x0) * depth;
                let at = first_row * to[1] + first_col * to[2] + (i * w.size + j) * depth;
                Block::at(from, at)
                    .dim(batch, (height * width * depth) as isize, to[0] as isize)
                    .dim(row_count, (h.stride * width * depth) as isize, to[1] as isize)
                    .dim(col_count, (w.stride * depth) as isize, to[2] as isize)
                    .dim(depth, 1, 1)
                    .copy(c.par(), x, &mut out)?;
            }
        }
        c.set(0, out);
        Ok(())
    }))
}
