//! Authentication, authorisation, and access of graphs.

mod audit;
mod certificates;
mod clusters;
mod common;
mod files;
mod proxy;
mod tls;
mod tokens;
