//! Image layouts: NHWC, NCHW.

use crate::prelude::*;

/// The dimensions of rows, columns and channels; the batch is the first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    pub height: usize,
    pub width: usize,
    pub channels: usize,
}

impl Layout {
    pub const NHWC: Layout = Layout { height: 1, width: 2, channels: 3 };
    pub const NCHW: Layout = Layout { channels: 1, height: 2, width: 3 };

    /// From attr `data_format`.
    pub fn of(attrs: &Attrs) -> Result<Layout> {
        match attrs.str("data_format") {
            Ok("NHWC") => Ok(Layout::NHWC),
            Ok("NCHW") => Ok(Layout::NCHW),
            Ok(other) => Err(unimplemented(format_args!("data_format {other} is not supported on the CPU"))),
            // Ops without the attr are NHWC.
            Err(_) => Ok(Layout::NHWC),
        }
    }

    pub fn image(&self) -> [usize; 2] {
        [self.height, self.width]
    }
}
