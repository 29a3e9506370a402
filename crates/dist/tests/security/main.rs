//! Servers that ask who calls, and what their graphs may touch.

mod audit;
mod certificates;
mod clusters;
mod common;
mod files;
mod proxy;
mod tls;
mod tokens;
