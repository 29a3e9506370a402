//! `Outputs`: the outputs of one node, or the results of a loop or branch.

use crate::output::Output;
use crate::scope::Scope;
use std::fmt;
use std::ops::{Deref, Index, RangeFrom};
use std::panic::Location;
use thalweg_core::invalid;

/// Several outputs: a slice whose indexing does not panic. An index out of range is an error that the scope records (the first of them), and
/// returns a placeholder output.
#[derive(Clone)]
pub struct Outputs {
    all: Vec<Output>,
    missing: Output,
}

impl Outputs {
    pub(crate) fn new(scope: &Scope, all: Vec<Output>) -> Outputs {
        Outputs { all, missing: Output::new(scope, None) }
    }

    /// All of them, in order.
    pub fn as_slice(&self) -> &[Output] {
        &self.all
    }

    #[track_caller]
    fn has_no(&self, i: usize) {
        let e = invalid!("there is no output {i}: there are {}", self.all.len());
        self.missing.scope.fail(e, Location::caller());
    }
}

impl Deref for Outputs {
    type Target = [Output];
    fn deref(&self) -> &[Output] {
        &self.all
    }
}

impl Index<usize> for Outputs {
    type Output = Output;
    #[track_caller]
    fn index(&self, i: usize) -> &Output {
        match self.all.get(i) {
            Some(output) => output,
            None => {
                self.has_no(i);
                &self.missing
            }
        }
    }
}

impl Index<RangeFrom<usize>> for Outputs {
    type Output = [Output];
    #[track_caller]
    fn index(&self, from: RangeFrom<usize>) -> &[Output] {
        match self.all.get(from.clone()) {
            Some(outputs) => outputs,
            None => {
                self.has_no(from.start);
                &[]
            }
        }
    }
}

impl From<Outputs> for Vec<Output> {
    fn from(outputs: Outputs) -> Vec<Output> {
        outputs.all
    }
}

impl IntoIterator for Outputs {
    type Item = Output;
    type IntoIter = std::vec::IntoIter<Output>;
    fn into_iter(self) -> Self::IntoIter {
        self.all.into_iter()
    }
}

impl<'a> IntoIterator for &'a Outputs {
    type Item = &'a Output;
    type IntoIter = std::slice::Iter<'a, Output>;
    fn into_iter(self) -> Self::IntoIter {
        self.all.iter()
    }
}

impl fmt::Debug for Outputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.all, f)
    }
}
