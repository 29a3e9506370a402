//! The error of a placeholder that was not fed: a session finds it when it compiles, the kernel when a branch reaches it.

use crate::attr::Attrs;
use crate::error::Error;
use crate::invalid;

pub fn not_fed(name: &str, attrs: &Attrs) -> Error {
    let dtype = attrs.dtype("dtype").map_or_else(|_| String::from("unknown"), |t| t.to_string());
    match attrs.shape("shape") {
        Ok(shape) if shape.rank().is_some() => invalid!(
            "You must feed a value for placeholder tensor '{name}' with dtype {dtype} and shape {shape}"
        ),
        _ => invalid!("You must feed a value for placeholder tensor '{name}' with dtype {dtype}"),
    }
}
