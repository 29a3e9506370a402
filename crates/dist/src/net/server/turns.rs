//! Turns: connections that must not make others wait stand in a line of their io thread.
//!
//! An async runtime polls ready tasks in order, so a request would wait for every connection that is ready before it. Two kinds of
//! connections wait in a line instead: strangers, which have earned nothing (`pacing`), and busy ones, which have kept the thread busy
//! of late. One of each line is polled between two polls of the sockets. Strangers together get a share of the thread's time; busy
//! ones get what is left. Addresses take turns in a line, whatever their number of connections. All others are polled at once.

use super::pacing::MAX_POLL;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker, ready};
use thalweg_core::sync::lock;
use tokio::time::{Duration, Instant};

/// Strangers get 1/SHARE of the thread.
const SHARE: u32 = 10;
/// Their credit after a rest: connections that open together.
const BURST: Duration = Duration::from_millis(20);
/// The minimum pause.
const MIN_PAUSE: Duration = Duration::from_millis(1);

/// Addresses of earlier rounds are forgotten when there are at least so many.
const MAX_ADDRESSES: usize = 1024;

/// A round, in which each address has one turn, and the number of the ticket.
type Ticket = (u64, u64);

/// A line of one io thread.
pub struct Turns {
    /// Whether those in it share a part of the time.
    limited: bool,
    line: Mutex<Line>,
}

/// The lines of one io thread.
#[derive(Clone)]
pub struct Lines {
    strangers: Arc<Turns>,
    busy: Arc<Turns>,
}

/// The places of a connection in them.
pub struct Places {
    pub stranger: Turn,
    pub busy: Turn,
}

impl Lines {
    pub fn new() -> Lines {
        Lines { strangers: Turns::new(true), busy: Turns::new(false) }
    }

    /// For a connection from this address.
    pub fn places(&self, address: IpAddr) -> Places {
        Places { stranger: self.strangers.turn(address), busy: self.busy.turn(address) }
    }
}

#[derive(Default)]
struct Line {
    /// Tickets given so far.
    given: u64,
    /// The round that is served.
    round: u64,
    /// The round of each address's last ticket.
    rounds: HashMap<IpAddr, u64>,
    /// The number of addresses from which on it is looked for some to forget.
    full: usize,
    /// Whose turn it is.
    turn: Option<Ticket>,
    waiting: BTreeMap<Ticket, Waker>,
    /// Between two turns: until the sockets have been polled, or longer if the share is used up.
    pausing: bool,
    used: Duration,
    counted: Option<Instant>,
}

/// A place in the line.
pub struct Turn {
    turns: Arc<Turns>,
    address: IpAddr,
    ticket: Option<Ticket>,
}

impl Turns {
    fn new(limited: bool) -> Arc<Turns> {
        Arc::new(Turns { limited, line: Mutex::default() })
    }

    fn turn(self: &Arc<Turns>, address: IpAddr) -> Turn {
        Turn { turns: self.clone(), address, ticket: None }
    }

    fn resume_after(self: &Arc<Turns>, pause: Duration) {
        if pause.is_zero() {
            // The runtime wakes those who yield when it has polled its sockets.
            let resume = Waker::from(self.clone());
            let _ = pin!(tokio::task::yield_now()).poll(&mut Context::from_waker(&resume));
            return;
        }
        let turns = self.clone();
        drop(tokio::spawn(async move {
            tokio::time::sleep(pause).await;
            turns.wake();
        }));
    }
}

/// The next turn.
impl Wake for Turns {
    fn wake(self: Arc<Turns>) {
        let mut line = lock(&self.line);
        line.pausing = false;
        let next = line.waiting.pop_first();
        if let Some((ticket, waker)) = next {
            line.give(ticket);
            drop(line);
            waker.wake();
        }
    }
}

impl Turn {
    /// Ready when it is this one's turn, which lasts until `end`.
    pub fn poll(&mut self, cx: &mut Context) -> Poll<()> {
        let mut line = lock(&self.turns.line);
        let ticket = *self.ticket.get_or_insert_with(|| line.ticket(self.address));
        if line.turn.is_none() && line.waiting.is_empty() && !line.pausing {
            line.give(ticket);
        }
        if line.turn == Some(ticket) {
            return Poll::Ready(());
        }
        line.waiting.insert(ticket, cx.waker().clone());
        Poll::Pending
    }

    /// Each poll of this work takes a turn.
    pub async fn each_poll_of<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        std::future::poll_fn(|cx| {
            ready!(self.poll(cx));
            let began = Instant::now();
            let worked = work.as_mut().poll(cx);
            self.end(began.elapsed().min(MAX_POLL));
            worked
        })
        .await
    }

    /// Ends the turn, which cost this much.
    pub fn end(&mut self, cost: Duration) {
        let pause = match self.turns.limited {
            true => lock(&self.turns.line).use_up(cost),
            false => Duration::ZERO,
        };
        self.leave(pause);
    }

    /// Leaves the line, if it stands in it.
    pub fn give_up(&mut self) {
        self.leave(Duration::ZERO);
    }

    fn leave(&mut self, pause: Duration) {
        let Some(ticket) = self.ticket.take() else { return };
        let mut line = lock(&self.turns.line);
        line.waiting.remove(&ticket);
        if line.turn == Some(ticket) {
            line.turn = None;
            line.pausing = true;
            drop(line);
            self.turns.resume_after(pause);
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.give_up();
    }
}

impl Line {
    fn ticket(&mut self, address: IpAddr) -> Ticket {
        if self.rounds.len() >= self.full.max(MAX_ADDRESSES) {
            self.rounds.retain(|_, round| *round >= self.round);
            self.full = 2 * self.rounds.len();
        }
        let round = self.rounds.get(&address).map_or(self.round, |last| self.round.max(last + 1));
        self.rounds.insert(address, round);
        self.given += 1;
        (round, self.given)
    }

    fn give(&mut self, ticket: Ticket) {
        self.round = ticket.0;
        self.turn = Some(ticket);
    }

    /// The pause after a turn of this length.
    fn use_up(&mut self, took: Duration) -> Duration {
        let now = Instant::now();
        let since = self.counted.replace(now).map_or(Duration::MAX, |at| now.duration_since(at));
        self.used = self.used.saturating_sub(since / SHARE).saturating_add(took);
        match self.used.checked_sub(BURST) {
            Some(over) if !over.is_zero() => (over * SHARE).max(MIN_PAUSE),
            _ => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn address(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    fn is_ready(turn: &mut Turn) -> bool {
        turn.poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    /// Ends a turn, and lets the runtime poll its sockets.
    async fn end(turn: &mut Turn) {
        turn.end(Duration::ZERO);
        tokio::task::yield_now().await;
    }

    #[tokio::test(start_paused = true)]
    async fn one_after_another_in_order() {
        let turns = Turns::new(true);
        let [mut a, mut b, mut c] = [0; 3].map(|_| turns.turn(address(1)));
        assert!(is_ready(&mut a) && !is_ready(&mut b) && !is_ready(&mut c));
        // Whoever has the turn keeps it until its end.
        assert!(is_ready(&mut a));
        end(&mut a).await;
        assert!(!is_ready(&mut c) && is_ready(&mut b));
        // It is last in the line now.
        assert!(!is_ready(&mut a));
        end(&mut b).await;
        assert!(!is_ready(&mut a) && is_ready(&mut c));
    }

    #[tokio::test(start_paused = true)]
    async fn sockets_are_polled_between_two_turns() {
        let turns = Turns::new(true);
        let [mut a, mut b] = [0; 2].map(|_| turns.turn(address(1)));
        assert!(is_ready(&mut a));
        a.end(Duration::ZERO);
        assert!(!is_ready(&mut b), "in the same round of polls");
        assert!(!is_ready(&mut a));
        tokio::task::yield_now().await;
        assert!(is_ready(&mut b) && !is_ready(&mut a));
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_with_many_connections_has_every_other_turn() {
        let turns = Turns::new(true);
        let mut many: Vec<Turn> = (0..100).map(|_| turns.turn(address(1))).collect();
        assert!(is_ready(&mut many[0]) && many[1..].iter_mut().all(|turn| !is_ready(turn)));
        let mut one = turns.turn(address(2));
        for _ in 0..10 {
            assert!(!is_ready(&mut one));
            let at = many.iter_mut().position(is_ready).unwrap();
            end(&mut many.remove(at)).await;
            assert!(is_ready(&mut one));
            end(&mut one).await;
        }
        assert_eq!(many.len(), 90);
    }

    #[tokio::test(start_paused = true)]
    async fn addresses_are_forgotten() {
        let turns = Turns::new(true);
        for i in 0..3 * MAX_ADDRESSES as u32 {
            let mut turn = turns.turn(IpAddr::from(i.to_be_bytes()));
            assert!(is_ready(&mut turn));
            end(&mut turn).await;
            lock(&turns.line).round += 1;
        }
        assert!(lock(&turns.line).rounds.len() <= MAX_ADDRESSES);
    }

    #[tokio::test(start_paused = true)]
    async fn who_goes_leaves_the_turn_to_others() {
        let turns = Turns::new(true);
        let [mut a, mut b, mut c] = [0; 3].map(|_| turns.turn(address(1)));
        assert!(is_ready(&mut a) && !is_ready(&mut b) && !is_ready(&mut c));
        drop(b);
        drop(a);
        tokio::task::yield_now().await;
        assert!(is_ready(&mut c));
        end(&mut c).await;
        let line = lock(&turns.line);
        assert!(line.waiting.is_empty() && line.turn.is_none() && !line.pausing);
    }

    #[tokio::test(start_paused = true)]
    async fn busy_connections_take_turns_and_get_all_the_time_there_is() {
        let turns = Turns::new(false);
        let [mut a, mut b] = [0; 2].map(|_| turns.turn(address(1)));
        for _ in 0..1000 {
            assert!(is_ready(&mut a) && !is_ready(&mut b));
            a.end(Duration::from_secs(1));
            assert!(!is_ready(&mut b), "in the same round of polls");
            tokio::task::yield_now().await;
            assert!(is_ready(&mut b));
            end(&mut b).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn together_strangers_get_a_share_of_the_time() {
        let turns = Turns::new(true);
        let (slice, all) = (Duration::from_micros(250), Duration::from_secs(1));
        let (began, worked) = (Instant::now(), AtomicUsize::new(0));
        let stranger = async |mut turn: Turn| {
            while began.elapsed() < all {
                std::future::poll_fn(|cx| turn.poll(cx)).await;
                turn.end(slice);
                worked.fetch_add(1, Ordering::Relaxed);
            }
        };
        let turn = || turns.turn(address(1));
        tokio::join!(stranger(turn()), stranger(turn()), stranger(turn()));
        let used = slice * worked.load(Ordering::Relaxed) as u32;
        assert!(used <= all / SHARE + 2 * BURST && used >= all / SHARE - BURST, "{used:?} of {all:?}");
    }
}
