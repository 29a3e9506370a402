//! The channel dimension of images.

use crate::prelude::*;

/// The channel dimension: the last, or the second if attr `data_format` says so.
pub fn channel_axis(attrs: &Attrs, rank: usize) -> usize {
    match attrs.str("data_format") {
        Ok("NCHW") => 1,
        _ => rank.saturating_sub(1),
    }
}
