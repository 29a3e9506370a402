//! Whether the peer of a connection is still there: one that says nothing is asked.

use super::Sending;
use super::frame::{NO_ERROR, put_ping};
use super::{Fault, Handled};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::time::Sleep;

pub struct Alive {
    /// Silence before it is asked, and after.
    every: Duration,
    within: Duration,
    heard: Instant,
    asked: Option<Instant>,
    timer: Pin<Box<Sleep>>,
}

/// Whoever wants to wait for longer does not want to ask; and times that far ahead can be told.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

impl Alive {
    pub fn new(every: Duration, within: Duration) -> Alive {
        let (every, within) = (every.min(LONGEST), within.min(LONGEST));
        Alive {
            every,
            within,
            heard: Instant::now(),
            asked: None,
            timer: Box::pin(tokio::time::sleep(every)),
        }
    }

    /// The peer has said something.
    pub fn heard(&mut self) {
        self.heard = Instant::now();
        self.asked = None;
    }

    /// Asks, when it is time and something is waited for; an error when the peer has not answered.
    pub fn poll(&mut self, cx: &mut Context, waits: bool, sending: &mut Sending) -> Handled {
        while let Poll::Ready(()) = self.timer.as_mut().poll(cx) {
            let now = Instant::now();
            let next = match self.asked {
                Some(asked) if now >= asked + self.within => {
                    let silent = (now - self.heard).as_secs_f32();
                    let why = format!("nothing has been heard for {silent:.1} s: keep-alive timed out");
                    return Err(Fault { code: NO_ERROR, why });
                }
                Some(asked) => asked + self.within,
                None if !waits => now + self.every,
                None if now < self.heard + self.every => self.heard + self.every,
                None => {
                    put_ping(&mut sending.out.small, 0, b"thalweg?");
                    self.asked = Some(now);
                    now + self.within
                }
            };
            self.timer.as_mut().reset(next.into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_patience_without_end_is_no_overflow() {
        let mut alive = Alive::new(Duration::MAX, Duration::MAX);
        alive.timer.as_mut().reset(tokio::time::Instant::now());
        alive.heard();
        let mut sending = Sending::default();
        let polled = std::future::poll_fn(|cx| Poll::Ready(alive.poll(cx, true, &mut sending)));
        assert!(polled.await.is_ok());
        assert!(alive.heard + alive.every + alive.within > Instant::now());
    }
}
