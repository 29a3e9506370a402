//! Connection slots: one address leaves some to others, and a new connection evicts the longest idle one if none is free.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};
use thalweg_core::budget::{Account, Charge, Pool};
use thalweg_core::sync::lock;
use tokio::sync::Notify;

pub struct ConnectionSlots {
    pool: Arc<Pool>,
    table: Mutex<SlotTable>,
}

#[derive(Default)]
struct SlotTable {
    next: u64,
    slots: HashMap<u64, OccupiedSlot>,
    addresses: HashMap<IpAddr, Weak<Account>>,
}

struct OccupiedSlot {
    address: IpAddr,
    /// Since when it has no calls.
    idle: Option<Instant>,
    leave: Arc<Notify>,
    _charge: Charge,
}

/// A connection idle for less is not evicted: a request may be in flight.
const IDLE: Duration = Duration::from_secs(1);

impl ConnectionSlots {
    /// `limit` for one address, an eighth more for others.
    pub fn new(limit: usize) -> Arc<ConnectionSlots> {
        Arc::new(ConnectionSlots {
            pool: Pool::new(limit.saturating_add(limit.div_ceil(8))),
            table: Mutex::default(),
        })
    }

    /// A slot for a connection from this address; `None` if all slots are busy.
    pub fn take(self: &Arc<ConnectionSlots>, address: IpAddr) -> Option<ConnectionSlot> {
        self.take_at(address, Instant::now())
    }

    fn take_at(self: &Arc<ConnectionSlots>, address: IpAddr, now: Instant) -> Option<ConnectionSlot> {
        let mut table = lock(&self.table);
        let account = table.account(&self.pool, address);
        let charge = match account.charge(1) {
            Ok(charge) => charge,
            Err(_) => {
                // Evicts of the same address, if it has any.
                let own = account.held() > 0;
                table.dismiss_idle(own.then_some(address), now);
                account.charge(1).ok()?
            }
        };
        table.next += 1;
        let (number, leave) = (table.next, Arc::<Notify>::default());
        table
            .slots
            .insert(number, OccupiedSlot { address, idle: Some(now), leave: leave.clone(), _charge: charge });
        Some(ConnectionSlot { slots: self.clone(), number, leave, was_idle: AtomicBool::new(true) })
    }

    #[cfg(test)]
    fn held(&self) -> usize {
        self.pool.held()
    }
}

impl SlotTable {
    fn account(&mut self, pool: &Arc<Pool>, address: IpAddr) -> Arc<Account> {
        if let Some(known) = self.addresses.get(&address).and_then(Weak::upgrade) {
            return known;
        }
        // Addresses without connections are removed now and then.
        if self.addresses.len() > 2 * self.slots.len() + 16 {
            self.addresses.retain(|_, account| account.strong_count() > 0);
        }
        let account = pool.account();
        self.addresses.insert(address, Arc::downgrade(&account));
        account
    }

    /// Evicts the longest idle connection; its slot is free at once.
    fn dismiss_idle(&mut self, of: Option<IpAddr>, now: Instant) {
        let among = self.slots.iter().filter(|(_, slot)| of.is_none_or(|a| a == slot.address));
        let idle = among.filter_map(|(number, slot)| Some((slot.idle?, *number)));
        if let Some((since, number)) = idle.min()
            && now.saturating_duration_since(since) >= IDLE
            && let Some(slot) = self.slots.remove(&number)
        {
            slot.leave.notify_one();
        }
    }
}

/// The slot that a connection occupies.
pub struct ConnectionSlot {
    slots: Arc<ConnectionSlots>,
    number: u64,
    leave: Arc<Notify>,
    /// The last state: only changes take the lock.
    was_idle: AtomicBool,
}

impl ConnectionSlot {
    /// Sets whether the connection has no calls in flight.
    pub fn note(&self, idle: bool) {
        // A connection with consecutive calls counts as busy in between.
        if self.was_idle.swap(idle, Ordering::Relaxed) == idle {
            return;
        }
        if let Some(slot) = lock(&self.slots.table).slots.get_mut(&self.number) {
            slot.idle = idle.then(Instant::now);
        }
    }

    /// Completes when the connection is evicted.
    pub fn unwanted(&self) -> impl Future<Output = ()> + 'static {
        let leave = self.leave.clone();
        async move { leave.notified().await }
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let slot = lock(&self.slots.table).slots.remove(&self.number);
        drop(slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(n: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, n])
    }

    /// Regression: idle connections that answered PINGs locked all out.
    #[test]
    fn idle_connections_make_room_for_new_ones_the_longest_idle_first() {
        let slots = ConnectionSlots::new(8);
        let begin = Instant::now();
        let mut held: Vec<ConnectionSlot> = (0..8).filter_map(|_| slots.take_at(address(1), begin)).collect();
        assert_eq!(held.len(), 8);
        // None has been idle for long enough.
        assert!(slots.take_at(address(1), begin).is_none());
        held[0].note(false);
        let later = begin + 2 * IDLE;
        held.extend(slots.take_at(address(1), later));
        assert_eq!((held.len(), slots.held()), (9, 8));
        let asked: Vec<bool> =
            held.iter().map(|p| !lock(&slots.table).slots.contains_key(&p.number)).collect();
        assert_eq!(asked, [false, true, false, false, false, false, false, false, false]);
        drop(held);
        assert_eq!(slots.held(), 0);
    }

    #[test]
    fn connections_of_one_address_leave_places_to_others() {
        let slots = ConnectionSlots::new(80);
        let now = Instant::now();
        let hog: Vec<ConnectionSlot> = (0..200).filter_map(|_| slots.take_at(address(1), now)).collect();
        hog.iter().for_each(|p| p.note(false));
        assert_eq!(hog.len(), 80);
        assert!(slots.take_at(address(1), now + 2 * IDLE).is_none());
        let other: Vec<ConnectionSlot> = (0..5).filter_map(|_| slots.take_at(address(2), now)).collect();
        assert_eq!(other.len(), 5);
    }

    #[test]
    fn addresses_without_connections_are_forgotten() {
        let slots = ConnectionSlots::new(100);
        for n in 0..=255 {
            assert!(slots.take(address(n)).is_some());
        }
        assert!(lock(&slots.table).addresses.len() < 20);
    }

    #[tokio::test]
    async fn who_is_asked_to_leave_hears_of_it() {
        let slots = ConnectionSlots::new(1);
        let begin = Instant::now();
        let first = slots.take_at(address(1), begin).unwrap();
        let second = slots.take_at(address(1), begin + 2 * IDLE);
        assert!(second.is_some());
        first.unwanted().await;
    }

    impl ConnectionSlot {
        /// As if it were evicted.
        pub fn dismiss(&self) {
            self.leave.notify_one();
        }
    }

    #[test]
    fn who_has_no_connection_gets_the_place_of_an_idle_one_of_others() {
        let slots = ConnectionSlots::new(8);
        let begin = Instant::now();
        let hog: Vec<ConnectionSlot> = (0..8).filter_map(|_| slots.take_at(address(1), begin)).collect();
        assert_eq!(hog.len(), 8);
        assert!(slots.take_at(address(2), begin).is_none());
        let new = slots.take_at(address(2), begin + IDLE);
        assert!(new.is_some());
        assert_eq!(slots.held(), 8);
    }

    #[test]
    fn who_has_too_many_gives_up_one_of_its_own() {
        let slots = ConnectionSlots::new(8);
        let begin = Instant::now();
        let other = slots.take_at(address(2), begin).unwrap();
        let later = begin + IDLE;
        let mut hog: Vec<ConnectionSlot> = (0..9).filter_map(|_| slots.take_at(address(1), later)).collect();
        assert_eq!(hog.len(), 7);
        hog.extend(slots.take_at(address(1), later + IDLE));
        assert_eq!(hog.len(), 8);
        // Idle for longer, but of another address.
        assert!(lock(&slots.table).slots.contains_key(&other.number));
    }

    #[test]
    fn who_has_connections_is_not_forgotten_with_those_that_have_none() {
        let slots = ConnectionSlots::new(16);
        let now = Instant::now();
        let hog: Vec<ConnectionSlot> = (0..20).filter_map(|_| slots.take_at(address(1), now)).collect();
        assert_eq!(hog.len(), 16);
        for n in 2..=255 {
            assert!(slots.take_at(address(n), now).is_some());
        }
        assert!(slots.take_at(address(1), now).is_none());
    }
}
