//! The master's service, called as a client calls it.

mod common;
mod sessions;
mod steps;
