//! Where the channels of an image are.

use crate::prelude::*;

/// The dimension of the channels: the last, or the second if the attr `data_format` says so.
pub fn channel_axis(attrs: &Attrs, rank: usize) -> usize {
    match attrs.str("data_format") {
        Ok("NCHW") => 1,
        _ => rank.saturating_sub(1),
    }
}
