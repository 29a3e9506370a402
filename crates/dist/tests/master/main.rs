//! `MasterService`, called by a client.

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
