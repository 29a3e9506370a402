//! How a command fails: an error, and whose fault it is.

use std::process::ExitCode;
use thalweg_core::error::Error;

pub type Outcome<T = ()> = Result<T, Failure>;

pub enum Failure {
    /// What was asked for did not work out.
    Run(Error),
    /// The command line makes no sense.
    Usage(Error),
    /// Other tasks of the cluster are gone for now: the same may work later.
    Lost(Error),
    /// Nothing to say but the exit code.
    Code(u8),
    /// Whoever read our output has stopped reading: nothing is wrong, and nobody to tell.
    Unread,
}

/// For schedulers that start a task again if its code is 128 or above.
pub const LOST: u8 = 138;

impl From<Error> for Failure {
    fn from(e: Error) -> Self {
        Failure::Run(e)
    }
}

impl Failure {
    pub fn report(self) -> ExitCode {
        let (error, exit) = match self {
            Failure::Run(e) => (e, 1),
            Failure::Usage(e) => (e, 2),
            Failure::Lost(e) => (e, LOST),
            Failure::Code(code) => return ExitCode::from(code),
            Failure::Unread => return ExitCode::SUCCESS,
        };
        eprintln!("error: {error}");
        ExitCode::from(exit)
    }
}
