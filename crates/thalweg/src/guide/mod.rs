//! The guide: one page for each subject, whose code is tested.

#[doc = include_str!("graphs_and_sessions.md")]
pub mod graphs_and_sessions {}

#[doc = include_str!("variables.md")]
#[cfg(feature = "train")]
pub mod variables {}

#[doc = include_str!("training.md")]
#[cfg(feature = "train")]
pub mod training {}

#[doc = include_str!("models.md")]
#[cfg(feature = "train")]
pub mod models {}

#[doc = include_str!("data.md")]
#[cfg(feature = "train")]
pub mod data {}

#[doc = include_str!("distributed.md")]
#[cfg(feature = "train")]
pub mod distributed {}

#[doc = include_str!("own_ops.md")]
pub mod own_ops {}

#[doc = include_str!("devices.md")]
pub mod devices {}

#[doc = include_str!("command_line.md")]
pub mod command_line {}
