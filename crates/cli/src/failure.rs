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
    /// A signal ended it. As shells say it: 143 for SIGTERM, 130 for Ctrl-C. Schedulers take 128 and above for "not its own fault: start it
    /// again".
    pub fn signalled(signal: i32) -> Failure {
        Failure::Code(u8::try_from(signal.saturating_add(128)).unwrap_or(LOST))
    }

    /// What the process ends with.
    pub fn code(&self) -> u8 {
        match self {
            Failure::Run(_) => 1,
            Failure::Usage(_) => 2,
            Failure::Lost(_) => LOST,
            Failure::Code(code) => *code,
            Failure::Unread => 0,
        }
    }

    pub fn report(self) -> ExitCode {
        let code = self.code();
        if let Failure::Run(e) | Failure::Usage(e) | Failure::Lost(e) = self {
            eprintln!("error: {e}");
        }
        ExitCode::from(code)
    }
}
