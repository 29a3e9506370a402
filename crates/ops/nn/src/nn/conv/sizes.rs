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
    /// Whether there is a dimension of planes.
    pub volumes: bool,
}

impl Sizes {
    pub fn new(sliding: &Sliding, images: &[usize], filter: &[usize]) -> Result<Sizes> {
        let rank = sliding.layout.rank();
        if filter.len() != rank || images.len() != rank {
            return Err(invalid!(
                "input and filter must be {rank}-dimensional, got shapes {images:?} and {filter:?}"
            ));
        }
        let (window, [group_depth, outputs]) = match *filter {
            [planes, rows, cols, depth, outputs] => ([planes, rows, cols], [depth, outputs]),
            [rows, cols, depth, outputs] => ([1, rows, cols], [depth, outputs]),
            _ => return Err(internal("a window of two or three dimensions")),
        };
        let depth = images[sliding.layout.channels];
        groups(depth as i64, group_depth as i64, outputs as i64)?;
        // Convolutions of volumes have no groups in TensorFlow.
        if rank == 5 && depth != group_depth {
            return Err(invalid!("input and filter must have the same depth: {depth} vs {group_depth}"));
        }
        Ok(Sizes { grid: sliding.grid(images, window)?, depth, group_depth, outputs, volumes: rank == 5 })
    }

    pub fn groups(&self) -> usize {
        self.depth.checked_div(self.group_depth).unwrap_or(0)
    }

    pub fn output_shape(&self) -> Result<Shape> {
        let Grid { batch, planes, rows, cols } = &self.grid;
        match self.volumes {
            true => Shape::new(&[*batch, planes.output, rows.output, cols.output, self.outputs]),
            false => Shape::new(&[*batch, rows.output, cols.output, self.outputs]),
        }
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
    let rank = sliding.layout.rank();
    let [depth, outputs] = [rank - 2, rank - 1].map(|axis| filter.dim(axis));
    groups(images.dim(sliding.layout.channels), depth, outputs)?;
    if rank == 5 {
        merge_dim(images.dim(sliding.layout.channels), depth)?;
    }
    if (0..rank).any(|i| filter.dim(i) == 0) {
        return Err(empty_filter());
    }
    let planes = if rank == 5 { filter.dim(0) } else { 1 };
    sliding.shape(images, [planes, filter.dim(rank - 4), filter.dim(rank - 3)], outputs)
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
