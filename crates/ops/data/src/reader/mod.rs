//! Readers of the queue age: resources that turn a queue of file names into records, one at a time.

mod forms;
mod record_input;
mod resource;
mod source;
#[cfg(test)]
mod tests;
mod use_reader;

use crate::prelude::*;

pub static OPS: &[&Op] = join![forms::OPS, use_reader::OPS, record_input::OPS];
