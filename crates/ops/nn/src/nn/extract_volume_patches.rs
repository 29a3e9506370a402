//! `ExtractVolumePatches`: the patches under a sliding window over volumes, flattened to channels.

use crate::gradients;
use crate::prelude::*;
use crate::windows::{Layout, Sliding};
use thalweg_math::window::Patches;

pub static EXTRACT_VOLUME_PATCHES: Op = Op {
    name: "ExtractVolumePatches",
    doc: "The patch under each sliding window position in volumes, flattened to channels.",
    inputs: &["input: T"],
    outputs: &["patches: T"],
    attrs: &[
        "ksizes: list(int) >= 5",
        "strides: list(int) >= 5",
        "T: realnumbertype",
        "padding: {'SAME', 'VALID'}",
    ],
    shape: |c| {
        let x = c.rank(0, 5)?;
        let (sliding, size) = window(c.attrs)?;
        let taps = size.iter().fold(1i64, |n, k| n.saturating_mul(*k as i64));
        let depth = if x.dim(4) < 0 { -1 } else { x.dim(4).saturating_mul(taps) };
        Ok(vec![sliding.shape(&x, size.map(|k| k as i64), depth)?])
    },
    grad: Rule(|g| gradients::of_patches(g, "ExtractVolumePatches", &["ksizes", "strides", "padding"])),
    kernels: cpu!(make prepare: T in f32, f64, f16, bf16, i32, i64, i8, i16, u8, u16, u32, u64),
    cases: |r| {
        let mut case = |x: &[usize], [d, h, w]: [i64; 3], stride: i64, padding: &str| {
            Case::new(vec![r.tensor(x)])
                .attr("ksizes", Attr::ints(&[1, d, h, w, 1]))
                .attr("strides", Attr::ints(&[1, 1, stride, 1, 1]))
                .attr("padding", padding)
        };
        vec![case(&[2, 3, 4, 3, 2], [2, 3, 1], 1, "VALID"), case(&[1, 3, 4, 2, 1], [2, 2, 3], 2, "SAME")]
    },
    expensive: true,
    ..Op::PURE
};

/// How the window slides, and its size.
fn window(attrs: &Attrs) -> Result<(Sliding, [usize; 3])> {
    let (sizes, strides) = (attrs.ints("ksizes")?, attrs.ints("strides")?);
    for (what, values) in [("ksizes", &sizes), ("strides", &strides)] {
        match values.as_slice() {
            [_, space @ .., _]
                if values.len() == 5 && space.iter().any(|k| !(1..=i32::MAX as i64).contains(k)) =>
            {
                return Err(out_of_range(format_args!("{what} is out of range: {values:?}")));
            }
            [1, .., 1] if values.len() == 5 => {}
            [..] if values.len() == 5 => {
                return Err(unimplemented(format_args!(
                    "{what} are supported across space only: {values:?}"
                )));
            }
            _ => return Err(invalid!("{what} must specify 5 dimensions, got {values:?}")),
        }
    }
    let sliding = Sliding::over(Layout::NDHWC, attrs, &strides)?;
    Ok((sliding, [1, 2, 3].map(|axis| sizes[axis] as usize)))
}

fn prepare<T: Element>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let (sliding, size) = window(&node.attrs)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let x = c.input(0)?;
        let grid = sliding.grid(x.shape().dims(), size)?;
        let depth = x.shape().dim(4)?;
        let taps = size.iter().try_fold(depth, |n, k| n.checked_mul(*k));
        let length = taps.ok_or_else(|| invalid!("the patches are too large"))?;
        let dims = [grid.batch, grid.planes.output, grid.rows.output, grid.cols.output, length];
        let mut out = Tensor::uninit(T::DTYPE, Shape::new(&dims)?)?;
        if out.elements() > 0 {
            let what = Patches { grid, depth, first_channel: 0, channels: depth };
            let rows = 0..grid.output_rows();
            what.im2col(c.par(), x.as_slice::<T>()?, rows, out.as_mut_slice::<T>()?);
        }
        c.set(0, out);
        Ok(())
    }))
}
