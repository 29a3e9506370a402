//! The master's service, called as a client calls it.

mod common;
mod frames;
mod hostile;
mod raw;
mod sessions;
mod steps;
