//! Sliding windows over images, from attrs: output size and padding of convolutions, pooling and patches,
//! and shared validation.

mod layout;
mod sliding;

pub use layout::Layout;
pub use sliding::{Padding, Sliding, Window};
