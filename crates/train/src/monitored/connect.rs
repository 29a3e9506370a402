//! Opening a session on a server that may not have started yet.

use std::time::{Duration, Instant};
use thalweg_client::{Code, Credentials, Result, Scope, Session};
use thalweg_proto::ConfigProto;

/// Opens a session; retries while the server cannot be reached, until the timeout.
pub(super) fn connect(
    target: &str,
    g: &Scope,
    config: &ConfigProto,
    credentials: &Option<Credentials>,
    timeout: Duration,
) -> Result<Session> {
    let credentials = credentials.clone().unwrap_or_else(Credentials::from_env);
    let mut backoff = Backoff::new(timeout);
    loop {
        match Session::connect_as(&credentials, target, g, config.clone()) {
            Err(e) if e.code() == Code::Unavailable => {
                if !backoff.wait() {
                    let waited = backoff.began.elapsed();
                    return Err(e.context(format_args!("no session on {target} for {waited:.0?}")));
                }
            }
            other => return other,
        }
    }
}

/// Exponential backoff with a deadline.
pub(super) struct Backoff {
    pub began: Instant,
    pause: Duration,
    timeout: Duration,
}

const FIRST: Duration = Duration::from_millis(20);
const LONGEST: Duration = Duration::from_secs(1);

impl Backoff {
    pub fn new(timeout: Duration) -> Backoff {
        Backoff { began: Instant::now(), pause: FIRST, timeout }
    }

    /// Sleeps; returns false at once if that would exceed the timeout.
    pub fn wait(&mut self) -> bool {
        if self.began.elapsed() + self.pause > self.timeout {
            return false;
        }
        std::thread::sleep(self.pause);
        self.pause = (self.pause * 2).min(LONGEST);
        true
    }
}
