//! Event files, for TensorBoard: TFRecords of `Event` messages, the first of which has the file version.

mod histogram;
mod reader;
#[cfg(test)]
mod tests;
mod writer;

pub use histogram::{Histogram, bucket_limits};
pub use reader::EventReader;
pub use writer::EventWriter;

/// The version that the first event states.
pub const VERSION: &str = "brain.Event:2";
