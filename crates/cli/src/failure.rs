//! How a command fails: the error, and the exit code.

use thalweg_core::error::Error;

pub type Outcome<T = ()> = Result<T, Failure>;

pub enum Failure {
    /// The command failed.
    Run(Error),
    /// The command line is wrong.
    Usage(Error),
    /// Other tasks of the cluster were lost: a retry may succeed.
    Lost(Error),
    /// The exit code, without a message.
    Code(u8),
    /// Standard output was closed by its reader: not an error.
    Unread,
}

/// For schedulers that restart a task if its code is 128 or above.
pub const LOST: u8 = 138;

impl From<Error> for Failure {
    fn from(e: Error) -> Self {
        Failure::Run(e)
    }
}

impl Failure {
    /// Ended by a signal, as shells report it: 143 for SIGTERM, 130 for Ctrl-C. Schedulers restart tasks with codes of 128 and above.
    pub fn signalled(signal: i32) -> Failure {
        Failure::Code(u8::try_from(signal.saturating_add(128)).unwrap_or(LOST))
    }

    /// The exit code of the process.
    pub fn code(&self) -> u8 {
        match self {
            Failure::Run(_) => 1,
            Failure::Usage(_) => 2,
            Failure::Lost(_) => LOST,
            Failure::Code(code) => *code,
            Failure::Unread => 0,
        }
    }

    /// Says what failed; returns the exit code.
    pub fn report(self) -> u8 {
        let code = self.code();
        if let Failure::Run(e) | Failure::Usage(e) | Failure::Lost(e) = self {
            // The user does not know our source lines.
            eprintln!("error: {}", e.without_location());
        }
        code
    }
}
