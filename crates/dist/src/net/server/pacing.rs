//! Pacing: a connection without answered calls gets a small share of its thread.
//!
//! Control frames, malformed frames and cancelled calls cost CPU time without a response. A connection has credit in CPU time:
//! its polls spend it, its answered calls earn it back, and it refills slowly. A connection
//! without credit is not polled until it has some again, so that TCP flow control slows its peer down. Honest clients earn more than they
//! spend and never wait.

use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::time::{Duration, Instant, Sleep, sleep};

/// Credit of a new connection, and the maximum: some hundred cancelled calls.
const BURST: Duration = Duration::from_millis(20);
/// The maximum that is kept of what answered calls earned: a step may open thousands of calls before the first is answered.
const MAX_MERIT: Duration = Duration::from_millis(500);
/// Earned by an answered call beside its run time: reading its frames and writing its response.
const CALL: Duration = Duration::from_micros(200);
/// Earned by a byte of request or response.
const BYTE: Duration = Duration::from_nanos(2);
/// The maximum cost of one poll. Polls end after a time slice; one that took longer was preempted, which is not its peer's fault.
pub const MAX_POLL: Duration = Duration::from_micros(300);
/// Credit refills at 1/REFILL of real time.
const REFILL: u32 = 20;
/// The minimum wait, so that a connection does some work when it is polled again.
const MIN_WAIT: Duration = Duration::from_millis(5);
/// The maximum wait after one poll.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// A connection is busy while its polls of late took longer than this..
const BUSY: Duration = Duration::from_micros(500);
/// .. of which 1/CALM of real time is forgotten: a connection that takes less of its thread is not busy for long.
const CALM: u32 = 4;

/// The cost of an async task that a call started or cancelled: the runtime polls or drops it after the connection's poll.
const TASK: Duration = Duration::from_micros(15);

/// What a connection's calls earned, and the tasks they left to the runtime, since the last poll.
#[derive(Default, Debug)]
pub struct Earned {
    pub calls: u32,
    pub bytes: usize,
    /// Run time of answered calls on the connection's thread.
    pub ran: Duration,
    pub tasks: u32,
}

impl Earned {
    pub fn answer(&mut self, bytes: usize) {
        self.calls = self.calls.saturating_add(1);
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// The cost of a poll that began then.
    fn cost(&self, began: Instant) -> Duration {
        let poll = began.elapsed().saturating_sub(self.ran).min(MAX_POLL);
        poll.saturating_add(TASK.saturating_mul(self.tasks))
    }

    fn worth(&self) -> Duration {
        let bytes = u32::try_from(self.bytes).unwrap_or(u32::MAX);
        CALL.saturating_mul(self.calls).saturating_add(BYTE.saturating_mul(bytes))
    }
}

pub struct Pacer {
    credit: Duration,
    debt: Duration,
    refilled: Instant,
    /// What it earned by answered calls, less what it spent.
    merit: Duration,
    /// The time that its polls took of late.
    recent: Duration,
    wait: Option<Pin<Box<Sleep>>>,
}

impl Pacer {
    pub fn new() -> Pacer {
        Pacer {
            credit: BURST,
            debt: Duration::ZERO,
            refilled: Instant::now(),
            merit: Duration::ZERO,
            recent: Duration::ZERO,
            wait: None,
        }
    }

    /// Pending while the connection has to wait for credit.
    pub fn poll_ready(&mut self, cx: &mut Context) -> Poll<()> {
        if let Some(wait) = &mut self.wait {
            std::task::ready!(wait.as_mut().poll(cx));
            self.wait = None;
        }
        Poll::Ready(())
    }

    /// Whether its calls are worth the time they cost: it need not wait for a turn.
    pub fn is_known(&self) -> bool {
        !self.merit.is_zero()
    }

    /// Whether it has kept its thread busy until then: others that need it for less go first.
    pub fn is_busy(&self, now: Instant) -> bool {
        self.recent_at(now) > BUSY
    }

    fn recent_at(&self, now: Instant) -> Duration {
        self.recent.saturating_sub(now.duration_since(self.refilled) / CALM)
    }

    /// Charges a poll that began at `began`, with so many calls pending. Returns its cost.
    pub fn polled(&mut self, began: Instant, earned: Earned, waiting: usize, cx: &mut Context) -> Duration {
        let now = Instant::now();
        let cost = earned.cost(began);
        let worth = earned.worth();
        self.merit = self.merit.saturating_add(worth).saturating_sub(cost).min(MAX_MERIT);
        self.earn(worth + now.duration_since(self.refilled) / REFILL);
        let took = now.duration_since(began).min(MAX_POLL);
        self.recent = self.recent_at(now).saturating_add(took).min(2 * BUSY);
        self.refilled = now;
        self.spend(cost);
        // Pending calls will be answered: they are lent credit.
        let lent = CALL.saturating_mul(u32::try_from(waiting).unwrap_or(u32::MAX));
        if self.debt > lent {
            let wait = ((self.debt - lent) * REFILL).clamp(MIN_WAIT, MAX_WAIT);
            let mut wait = Box::pin(sleep(wait));
            // Registers the waker; a fresh timer is not ready.
            let _ = wait.as_mut().poll(cx);
            self.wait = Some(wait);
        }
        cost
    }

    fn earn(&mut self, worth: Duration) {
        let repaid = worth.min(self.debt);
        self.debt -= repaid;
        self.credit = self.credit.saturating_add(worth - repaid).min(BURST);
    }

    fn spend(&mut self, time: Duration) {
        let paid = time.min(self.credit);
        self.credit -= paid;
        self.debt = self.debt.saturating_add(time - paid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::Waker;

    fn poll(pace: &mut Pacer, took: Duration, earned: Earned, waiting: usize) -> bool {
        let mut cx = Context::from_waker(Waker::noop());
        pace.polled(Instant::now() - took, earned, waiting, &mut cx);
        pace.poll_ready(&mut cx).is_ready()
    }

    /// Polls of a time slice each until the connection has to wait.
    fn polls_until_paced(pace: &mut Pacer, earned: fn() -> Earned) -> usize {
        (0..10_000).take_while(|_| poll(pace, MAX_POLL, earned(), 0)).count()
    }

    #[tokio::test(start_paused = true)]
    async fn work_that_answers_nothing_is_paced_and_goes_on_later() {
        let mut pace = Pacer::new();
        let burst = polls_until_paced(&mut pace, Earned::default);
        assert_eq!(burst as u128, BURST.as_micros() / MAX_POLL.as_micros());
        let waited = Instant::now();
        std::future::poll_fn(|cx| pace.poll_ready(cx)).await;
        assert!(waited.elapsed() >= MIN_WAIT);
        assert!(polls_until_paced(&mut pace, Earned::default) < 2, "it refills slowly");
        // After a rest it has its burst again, no more.
        std::future::poll_fn(|cx| pace.poll_ready(cx)).await;
        tokio::time::advance(10 * REFILL * BURST).await;
        assert!(poll(&mut pace, Duration::ZERO, Earned::default(), 0));
        assert_eq!(polls_until_paced(&mut pace, Earned::default), burst);
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_answered_never_waits() {
        let mut pace = Pacer::new();
        assert_eq!(polls_until_paced(&mut pace, || Earned { calls: 2, ..Default::default() }), 10_000);
        let large = || Earned { bytes: 300_000, ..Default::default() };
        assert_eq!(polls_until_paced(&mut pace, large), 10_000);
        // Ten seconds of a step on the connection's own thread, or of another process on its core.
        assert!(poll(&mut pace, Duration::from_secs(10), Earned::default(), 0));
    }

    #[tokio::test(start_paused = true)]
    async fn who_takes_the_thread_for_long_is_busy_until_it_rests() {
        let mut pace = Pacer::new();
        let answer = || Earned { calls: 1, ..Default::default() };
        // A call of 50 us in each millisecond.
        for _ in 0..1000 {
            tokio::time::advance(Duration::from_millis(1)).await;
            assert!(poll(&mut pace, Duration::from_micros(50), answer(), 0));
            assert!(!pace.is_busy(Instant::now()));
        }
        // Polls without a rest: busy whatever they earn, and for a bounded time.
        for _ in 0..100 {
            assert!(poll(&mut pace, MAX_POLL, answer(), 0));
        }
        assert!(pace.is_busy(Instant::now()));
        tokio::time::advance(2 * CALM * BUSY).await;
        assert!(!pace.is_busy(Instant::now()));
    }

    /// A step that moves thousands of tensors starts as many calls before the first response.
    #[tokio::test(start_paused = true)]
    async fn calls_that_wait_are_lent_their_time() {
        let mut pace = Pacer::new();
        let opened =
            (1..10_000).take_while(|n| poll(&mut pace, Duration::from_micros(100), Earned::default(), *n));
        assert_eq!(opened.count(), 9_999);
        // All are cancelled: the loan is owed.
        assert!(!poll(&mut pace, Duration::ZERO, Earned::default(), 0));
    }
}
