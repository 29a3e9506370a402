//! The master's service, called as a client calls it.

mod client;
mod common;
mod crowds;
mod frames;
mod hostile;
mod http2;
mod methods;
mod raw;
mod sessions;
mod steps;
