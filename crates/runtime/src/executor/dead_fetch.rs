//! The error of a dead fetch: the branch that computes it was not taken.

use thalweg_core::error::{Code, Error};
use thalweg_core::invalid;

const BEFORE: &str = "Retval[";
const AFTER: &str = "] does not have value: the branch that computes it was not taken";

pub fn error(fetch: usize) -> Error {
    invalid!("{BEFORE}{fetch}{AFTER}")
}

/// The fetch of such an error; `None` for other errors.
pub fn of(e: &Error) -> Option<usize> {
    let fetch = e.message().strip_prefix(BEFORE)?.strip_suffix(AFTER)?;
    fetch.parse().ok().filter(|_| e.code() == Code::InvalidArgument && e.node().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_is_recognised() {
        assert_eq!(of(&error(3)), Some(3));
        assert_eq!(of(&error(3).at_node("x", "Neg")), None);
        assert_eq!(of(&invalid!("Retval[3] is bad")), None);
    }
}
