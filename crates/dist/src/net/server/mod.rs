//! The server's end of connections, with limits for each peer.

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
pub mod turns;
pub mod unread_responses;
