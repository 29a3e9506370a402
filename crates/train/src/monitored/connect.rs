//! A session on a server that may not be there yet.

use std::time::{Duration, Instant};
use thalweg_client::{Code, Credentials, Result, Scope, Session};
use thalweg_proto::ConfigProto;

/// Opens a session; a server that cannot be reached is tried again until the patience is at its end.
pub(super) fn connect(
    target: &str,
    g: &Scope,
    config: &ConfigProto,
    credentials: &Option<Credentials>,
    patience: Duration,
) -> Result<Session> {
    let credentials = credentials.clone().unwrap_or_else(Credentials::from_env);
    let mut waits = Waits::new(patience);
    loop {
        match Session::connect_as(&credentials, target, g, config.clone()) {
            Err(e) if e.code() == Code::Unavailable => {
                if !waits.wait() {
                    let waited = waits.began.elapsed();
                    return Err(e.context(format_args!("no session on {target} for {waited:.0?}")));
                }
            }
            other => return other,
        }
    }
}

/// Pauses that grow, up to a limit on them all.
pub(super) struct Waits {
    pub began: Instant,
    pause: Duration,
    limit: Duration,
}

const FIRST: Duration = Duration::from_millis(20);
const LONGEST: Duration = Duration::from_secs(1);

impl Waits {
    pub fn new(limit: Duration) -> Waits {
        Waits { began: Instant::now(), pause: FIRST, limit }
    }

    /// Waits; false, at once, if that would be for longer than the limit.
    pub fn wait(&mut self) -> bool {
        if self.began.elapsed() + self.pause > self.limit {
            return false;
        }
        std::thread::sleep(self.pause);
        self.pause = (self.pause * 2).min(LONGEST);
        true
    }
}
