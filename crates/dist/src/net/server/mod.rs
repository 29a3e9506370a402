//! The server's end of connections, with limits on what a peer may cost.

pub mod calls;
mod connection;
pub mod limits;
pub mod listener;
pub mod open_files;
mod pacing;
pub mod peer;
pub mod phase;
mod recent_streams;
pub mod service;
pub mod slots;
pub mod unread_responses;
