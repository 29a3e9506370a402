//! Layouts of images and volumes: NHWC, NCHW, NDHWC, NCDHW.

use crate::prelude::*;

/// The dimensions of planes (of volumes), rows, columns and channels; the batch is the first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    pub planes: Option<usize>,
    pub height: usize,
    pub width: usize,
    pub channels: usize,
}

impl Layout {
    pub const NHWC: Layout = Layout { planes: None, height: 1, width: 2, channels: 3 };
    pub const NCHW: Layout = Layout { planes: None, channels: 1, height: 2, width: 3 };
    pub const NDHWC: Layout = Layout { planes: Some(1), height: 2, width: 3, channels: 4 };
    pub const NCDHW: Layout = Layout { channels: 1, planes: Some(2), height: 3, width: 4 };

    /// From attr `data_format`.
    pub fn of(attrs: &Attrs) -> Result<Layout> {
        match attrs.str("data_format") {
            Ok("NHWC") => Ok(Layout::NHWC),
            Ok("NCHW") => Ok(Layout::NCHW),
            Ok("NDHWC") => Ok(Layout::NDHWC),
            Ok("NCDHW") => Ok(Layout::NCDHW),
            Ok(other) => Err(unimplemented(format_args!("data_format {other} is not supported on the CPU"))),
            // Ops without the attr are NHWC.
            Err(_) => Ok(Layout::NHWC),
        }
    }

    pub fn rank(&self) -> usize {
        if self.planes.is_some() { 5 } else { 4 }
    }

    /// The dimensions of rows and columns.
    pub fn image(&self) -> [usize; 2] {
        [self.height, self.width]
    }

    /// The dimensions of planes, rows and columns. Images have no planes.
    pub fn space(&self) -> [Option<usize>; 3] {
        [self.planes, Some(self.height), Some(self.width)]
    }

    /// A tensor's sizes of planes, rows and columns.
    pub fn sizes(&self, dims: &[usize]) -> Result<[usize; 3]> {
        if dims.len() != self.rank() {
            return Err(invalid!("input must be {}-dimensional, got shape {dims:?}", self.rank()));
        }
        Ok(self.space().map(|axis| axis.map_or(1, |axis| dims[axis])))
    }

    pub fn channels_last(&self) -> bool {
        self.channels + 1 == self.rank()
    }
}
