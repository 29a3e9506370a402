//! Event files: what TensorBoard shows. TFRecords of `Event` messages, the first of which says the version.

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
