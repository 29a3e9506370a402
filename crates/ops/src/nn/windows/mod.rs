//! Sliding windows over images, from attrs: the number of output positions and the padding, for convolutions, pooling and patches,
//! with the checks they share.

mod layout;
mod sliding;

pub use layout::Layout;
pub use sliding::{Padding, Sliding, Window};
