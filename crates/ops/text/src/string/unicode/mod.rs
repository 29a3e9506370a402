//! Text in any encoding: decoded to code points, encoded from them, transcoded; the scripts of code points.

mod charset;
mod decode;
mod encode;
mod errors;
mod script;
#[cfg(test)]
mod tests;

use crate::prelude::*;

pub static OPS: &[&Op] = join![decode::OPS, encode::OPS, script::OPS];
