//! Windows that slide over images, as attrs describe them: convolutions, poolings and patches all ask here how many places
//! there are, how much padding, and whether the numbers make sense.

mod layout;
mod sliding;

pub use layout::Layout;
pub use sliding::{Padding, Sliding, Window};
