//! How a command fails: an error, and whose fault it is.

use std::process::ExitCode;
use thalweg_core::error::Error;

pub type Outcome<T = ()> = Result<T, Failure>;

pub enum Failure {
    /// What was asked for did not work out.
    Run(Error),
    /// The command line makes no sense.
    Usage(Error),
    /// Whoever read our output has stopped reading: nothing is wrong, and nobody to tell.
    Unread,
}

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
            Failure::Unread => return ExitCode::SUCCESS,
        };
        eprintln!("error: {error}");
        ExitCode::from(exit)
    }
}
