//! Keep-alive: a PING after silence, and a timeout for its ACK.

use super::FrameWriter;
use super::frame::{NO_ERROR, put_ping};
use super::{ConnectionError, Handled};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep};

pub struct KeepAlive {
    /// Silence before a PING, and the timeout after it.
    every: Duration,
    within: Duration,
    heard: Instant,
    asked: bool,
    timer: Pin<Box<Sleep>>,
}

/// Longer intervals mean no keep-alive; `Instant` can add this much without overflow.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

impl KeepAlive {
    pub fn new(every: Duration, within: Duration) -> KeepAlive {
        let (every, within) = (every.min(LONGEST), within.min(LONGEST));
        KeepAlive {
            every,
            within,
            heard: Instant::now(),
            asked: false,
            timer: Box::pin(tokio::time::sleep(every)),
        }
    }

    /// Bytes have been received.
    pub fn heard(&mut self) {
        self.heard = Instant::now();
        self.asked = false;
    }

    /// Sends a PING when it is due and a call is pending (`waits`); an error when the last one timed out.
    pub fn poll(&mut self, cx: &mut Context, waits: bool, writer: &mut FrameWriter) -> Handled {
        while let Poll::Ready(()) = self.timer.as_mut().poll(cx) {
            let now = Instant::now();
            let next = match self.asked {
                // The timer was set to the timeout of the PING.
                true => {
                    let silent = (now - self.heard).as_secs_f32();
                    let why = format!("nothing has been heard for {silent:.1} s: keep-alive timed out");
                    return Err(ConnectionError { code: NO_ERROR, why });
                }
                false if !waits => now + self.every,
                false if now < self.heard + self.every => self.heard + self.every,
                false => {
                    put_ping(&mut writer.out.small, 0, b"thalweg?");
                    self.asked = true;
                    now + self.within
                }
            };
            self.timer.as_mut().reset(next);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::Waker;
    use tokio::time::advance;

    const EVERY: Duration = Duration::from_secs(10);
    const WITHIN: Duration = Duration::from_secs(4);
    const MOMENT: Duration = Duration::from_millis(1);

    /// Polls once: the number of PINGs sent, or why the connection ends.
    fn look(alive: &mut KeepAlive, waits: bool) -> Result<usize, String> {
        let mut writer = FrameWriter::default();
        let polled = alive.poll(&mut Context::from_waker(Waker::noop()), waits, &mut writer);
        // The next wake-up is in the future.
        assert!(polled.is_err() || alive.timer.deadline() > Instant::now());
        polled.map(|()| writer.out.drained().len() / 17).map_err(|fault| fault.why)
    }

    #[tokio::test(start_paused = true)]
    async fn silence_is_asked_about_once_and_then_ends_the_connection() {
        let mut alive = KeepAlive::new(EVERY, WITHIN);
        assert_eq!(look(&mut alive, true), Ok(0));
        advance(EVERY - MOMENT).await;
        assert_eq!(look(&mut alive, true), Ok(0));
        advance(MOMENT).await;
        assert_eq!(look(&mut alive, true), Ok(1));
        advance(WITHIN - MOMENT).await;
        assert_eq!(look(&mut alive, true), Ok(0));
        advance(MOMENT).await;
        let why = look(&mut alive, true).unwrap_err();
        assert!(why.contains("nothing has been heard for 14.0 s"), "{why}");
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_says_something_is_asked_only_after_a_new_silence() {
        let mut alive = KeepAlive::new(EVERY, WITHIN);
        assert_eq!(look(&mut alive, true), Ok(0));
        advance(EVERY / 2).await;
        alive.heard();
        advance(EVERY - MOMENT).await;
        assert_eq!(look(&mut alive, true), Ok(0));
        advance(MOMENT).await;
        assert_eq!(look(&mut alive, true), Ok(1));
        // The ACK arrives; any other bytes would do as well.
        advance(WITHIN / 2).await;
        alive.heard();
        advance(EVERY - MOMENT).await;
        assert_eq!(look(&mut alive, true), Ok(0));
        advance(MOMENT).await;
        assert_eq!(look(&mut alive, true), Ok(1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_of_whom_nothing_is_expected_may_be_silent() {
        let mut alive = KeepAlive::new(EVERY, WITHIN);
        for _ in 0..3 {
            advance(EVERY + WITHIN).await;
            assert_eq!(look(&mut alive, false), Ok(0));
        }
        // The timer was rearmed for a whole interval.
        assert_eq!(look(&mut alive, true), Ok(0));
        advance(EVERY).await;
        assert_eq!(look(&mut alive, true), Ok(1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_patience_of_a_year_is_a_year_and_one_without_end_is_no_overflow() {
        let year = Duration::from_secs(365 * 24 * 3600);
        assert_eq!((KeepAlive::new(year, year).every, KeepAlive::new(year, year).within), (year, year));
        let mut alive = KeepAlive::new(Duration::MAX, Duration::MAX);
        alive.timer.as_mut().reset(Instant::now());
        alive.heard();
        assert_eq!(look(&mut alive, true), Ok(0));
        assert!(alive.heard + alive.every + alive.within > Instant::now());
    }

    #[tokio::test]
    async fn the_question_is_a_ping() {
        let mut alive = KeepAlive::new(Duration::ZERO, EVERY);
        let mut writer = FrameWriter::default();
        std::future::poll_fn(|cx| {
            let polled = alive.poll(cx, true, &mut writer);
            assert!(polled.is_ok());
            if writer.out.len() == 0 { Poll::Pending } else { Poll::Ready(()) }
        })
        .await;
        assert_eq!(writer.out.drained(), b"\0\0\x08\x06\0\0\0\0\0thalweg?");
    }
}
