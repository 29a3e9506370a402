//! The server's end of connections, with limits on what a peer may cost.

pub mod calls;
pub mod connection;
pub mod open_files;
pub mod pacing;
pub mod peer;
mod recent_streams;
pub mod slots;
pub mod unread_responses;
