//! The validated sizes of a convolution.

use crate::prelude::*;
use crate::windows::{Layout, Sliding};
use thalweg_math::window::{Grid, Patches};

/// A convolution of images with a filter, from attrs. In a grouped convolution each channel group has its own filters; usually
/// there is one group.
#[derive(Clone, Copy)]
pub struct Sizes {
    pub grid: Grid,
    /// Channels of the images.
    pub depth: usize,
    /// Channels of a group.
    pub group_depth: usize,
    /// Channels of the result.
    pub outputs: usize,
}

impl Sizes {
    pub fn new(sliding: &Sliding, images: &[usize], filter: &[usize]) -> Result<Sizes> {
        let images = four(images, "input")?;
        let [rows, cols, group_depth, outputs] = four(filter, "filter")?;
        let depth = images[sliding.layout.channels];
        groups(depth as i64, group_depth as i64, outputs as i64)?;
        Ok(Sizes { grid: sliding.grid(&images, [rows, cols])?, depth, group_depth, outputs })
    }

    pub fn groups(&self) -> usize {
        self.depth.checked_div(self.group_depth).unwrap_or(0)
    }

    pub fn output_shape(&self) -> Result<Shape> {
        Shape::new(&[self.grid.batch, self.grid.rows.output, self.grid.cols.output, self.outputs])
    }

    /// Checks that the gradient has the shape of the result.
    pub fn check_gradient(&self, gradient: &Shape) -> Result<()> {
        let want = self.output_shape()?;
        if *gradient == want {
            return Ok(());
        }
        Err(invalid!("out_backprop must have the shape of the convolution's result, {want}, got {gradient}"))
    }

    /// The patches of one group.
    pub fn patches(&self, group: usize) -> Patches {
        let (first_channel, channels) = (group * self.group_depth, self.group_depth);
        Patches { grid: self.grid, depth: self.depth, first_channel, channels }
    }
}

fn four(dims: &[usize], what: &str) -> Result<[usize; 4]> {
    dims.try_into().map_err(|_| invalid!("{what} must be 4-dimensional, got {dims:?}"))
}

/// Validates grouped depths; -1 is unknown.
fn groups(depth: i64, group_depth: i64, outputs: i64) -> Result<()> {
    if group_depth == 0 {
        return Err(invalid!("filter depth must be strictly greater than 0"));
    }
    if depth < 0 || group_depth < 0 {
        return Ok(());
    }
    if depth % group_depth != 0 {
        return Err(invalid!(
            "input depth must be evenly divisible by filter depth: {depth} vs {group_depth}"
        ));
    }
    let groups = depth / group_depth;
    if depth > 0 && outputs >= 0 && outputs % groups != 0 {
        return Err(invalid!(
            "output depth must be evenly divisible by number of groups: {outputs} vs {groups}"
        ));
    }
    Ok(())
}

/// The shape of a convolution.
pub fn output_shape(sliding: &Sliding, images: &PartialShape, filter: &PartialShape) -> Result<PartialShape> {
    groups(images.dim(sliding.layout.channels), filter.dim(2), filter.dim(3))?;
    if (0..4).any(|i| filter.dim(i) == 0) {
        return Err(empty_filter());
    }
    sliding.shape(images, [filter.dim(0), filter.dim(1)], filter.dim(3))
}

pub fn empty_filter() -> Error {
    invalid!("filter must not have zero elements (i.e. all dimensions must be non-zero)")
}

/// Rejects layouts other than NHWC.
pub fn channels_last(sliding: Sliding) -> Result<Sliding> {
    match sliding.layout {
        Layout::NHWC => Ok(sliding),
        _ => Err(unimplemented("convolutions on the CPU need data_format NHWC")),
    }
}

/// The shape in input `i`, with no negative size.
pub fn sizes_input(c: &OpCall<'_>, i: usize) -> Result<Shape> {
    let sizes = c.int_vector(i)?;
    match sizes.len() {
        2 | 4 => Shape::from_i64(&sizes),
        n => Err(invalid!("{} must have 4 elements (or 2, for rows and columns), got {n}", c.input_name(i))),
    }
}
