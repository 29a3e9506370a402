//! Thread quota: permits for threads, queued requests.
//!
//! Shared like memory (`core::budget`), by what is free: an owner holds at most a quarter of that, and each of its parts at
//! most a quarter of what the owner could still get. Steps may never end, so a share is small: after twenty owners that
//! take all they can, the next still gets some. Everybody gets one thread while one is free.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use thalweg_core::error::{Result, internal};
use thalweg_core::sync::lock;
use tokio::sync::oneshot;

/// The owner of a quota.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Party {
    pub owner: Owner,
    pub part: Part,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Owner {
    /// By token or certificate.
    Known(Arc<str>),
    /// By peer address.
    Address(IpAddr),
}

/// Possibly another client of the same owner.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    Connection(SocketAddr),
    /// A master's session: a master has clients of its own.
    Session(String),
}

impl Party {
    /// The party of a master's session.
    pub fn session(&self, handle: &str) -> Party {
        Party { owner: self.owner.clone(), part: Part::Session(handle.into()) }
    }
}

/// Divisor of a share.
const SHARE: usize = 4;

pub struct ThreadQuota {
    all: usize,
    table: Mutex<QuotaTable>,
}

#[derive(Default)]
struct QuotaTable {
    held: usize,
    owners: HashMap<Owner, Parts>,
    /// Requests queued so far.
    waited: u64,
}

#[derive(Default)]
struct Parts {
    held: usize,
    parts: HashMap<Part, Count>,
}

#[derive(Default)]
struct Count {
    held: usize,
    /// In order of arrival.
    waiting: BTreeMap<u64, oneshot::Sender<ThreadPermit>>,
}

impl ThreadQuota {
    pub fn new(all: usize) -> Arc<ThreadQuota> {
        Arc::new(ThreadQuota { all, table: Mutex::default() })
    }

    /// A permit for this party; waits in its queue. Dropping the future leaves the queue.
    pub async fn take(self: &Arc<ThreadQuota>, party: &Party) -> Result<ThreadPermit> {
        let mut waiting = match self.ask(party) {
            Ok(permit) => return Ok(permit),
            Err(waiting) => waiting,
        };
        (&mut waiting.answer).await.map_err(|_| internal("the task has ended"))
    }

    fn ask(self: &Arc<ThreadQuota>, party: &Party) -> std::result::Result<ThreadPermit, QueuedRequest> {
        let mut table = lock(&self.table);
        let is_first = table.count(party).waiting.is_empty();
        if is_first && table.may_have(self.all, party) {
            table.add(party);
            return Ok(ThreadPermit { quota: self.clone(), party: party.clone() });
        }
        table.waited += 1;
        let (number, (sender, answer)) = (table.waited, oneshot::channel());
        table.count(party).waiting.insert(number, sender);
        Err(QueuedRequest { quota: self.clone(), party: party.clone(), number, answer })
    }

    /// Grants free permits to queued requests: to the part that holds least, then first come, first served.
    fn pass_on(
        self: &Arc<ThreadQuota>,
        table: &mut QuotaTable,
    ) -> Vec<(oneshot::Sender<ThreadPermit>, ThreadPermit)> {
        let mut given = Vec::new();
        while let Some((party, number)) = table.next(self.all) {
            let Some(sender) = table.count(&party).waiting.remove(&number) else { break };
            table.add(&party);
            given.push((sender, ThreadPermit { quota: self.clone(), party }));
        }
        given
    }
}

impl QuotaTable {
    fn count(&mut self, party: &Party) -> &mut Count {
        let parts = self.owners.entry(party.owner.clone()).or_default();
        parts.parts.entry(party.part.clone()).or_default()
    }

    fn may_have(&self, all: usize, party: &Party) -> bool {
        let parts = self.owners.get(&party.owner);
        let part = parts.and_then(|p| p.parts.get(&party.part));
        self.has_room(all, parts.map_or(0, |p| p.held), part.map_or(0, |p| p.held))
    }

    /// Whether an owner and a part that hold so many may have one more.
    fn has_room(&self, all: usize, owner: usize, part: usize) -> bool {
        let Some(free) = all.checked_sub(self.held + 1) else { return false };
        // Of what is then free; each permit of the owner reduces it.
        let left = free.checked_sub(SHARE * (owner + 1)).map(|left| left / (SHARE + 1));
        match left {
            None => owner == 0,
            Some(left) => part == 0 || SHARE * (part + 1) <= left,
        }
    }

    fn add(&mut self, party: &Party) {
        self.held += 1;
        let parts = self.owners.entry(party.owner.clone()).or_default();
        parts.held += 1;
        parts.parts.entry(party.part.clone()).or_default().held += 1;
    }

    fn remove(&mut self, party: &Party) {
        self.held = self.held.saturating_sub(1);
        if let Some(parts) = self.owners.get_mut(&party.owner) {
            parts.held = parts.held.saturating_sub(1);
            if let Some(part) = parts.parts.get_mut(&party.part) {
                part.held = part.held.saturating_sub(1);
            }
        }
        self.forget(party);
    }

    /// Removes parties without permits and requests.
    fn forget(&mut self, party: &Party) {
        let Some(parts) = self.owners.get_mut(&party.owner) else { return };
        let gone = |p: &Count| p.held == 0 && p.waiting.is_empty();
        if parts.parts.get(&party.part).is_some_and(gone) {
            parts.parts.remove(&party.part);
        }
        if parts.parts.is_empty() {
            self.owners.remove(&party.owner);
        }
    }

    /// The next request to grant: its party and number.
    fn next(&self, all: usize) -> Option<(Party, u64)> {
        let mut best: Option<(usize, usize, u64, &Owner, &Part)> = None;
        for (owner, parts) in &self.owners {
            for (part, count) in &parts.parts {
                let Some(number) = count.waiting.keys().next() else { continue };
                let rank = (parts.held, count.held, *number);
                let is_better = best.is_none_or(|b| rank < (b.0, b.1, b.2));
                if is_better && self.has_room(all, parts.held, count.held) {
                    best = Some((rank.0, rank.1, rank.2, owner, part));
                }
            }
        }
        best.map(|(_, _, number, owner, part)| (Party { owner: owner.clone(), part: part.clone() }, number))
    }
}

/// Permits a thread while it lives.
pub struct ThreadPermit {
    quota: Arc<ThreadQuota>,
    party: Party,
}

impl Drop for ThreadPermit {
    fn drop(&mut self) {
        let given = {
            let mut table = lock(&self.quota.table);
            table.remove(&self.party);
            self.quota.pass_on(&mut table)
        };
        // If the receiver is gone, dropping the permit grants it again.
        given.into_iter().for_each(|(to, permit)| drop(to.send(permit)));
    }
}

/// A request in the queue.
struct QueuedRequest {
    quota: Arc<ThreadQuota>,
    party: Party,
    number: u64,
    answer: oneshot::Receiver<ThreadPermit>,
}

impl Drop for QueuedRequest {
    fn drop(&mut self) {
        let mut table = lock(&self.quota.table);
        drop(table.count(&self.party).waiting.remove(&self.number));
        table.forget(&self.party);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::{Context, Poll, Waker};

    fn party(address: u8, port: u16) -> Party {
        let ip = IpAddr::from([10, 0, 0, address]);
        Party { owner: Owner::Address(ip), part: Part::Connection(SocketAddr::new(ip, port)) }
    }

    /// All that can be had at once.
    fn all_of(quota: &Arc<ThreadQuota>, party: &Party) -> Vec<ThreadPermit> {
        std::iter::from_fn(|| quota.ask(party).ok()).collect()
    }

    #[test]
    fn one_connection_leaves_turns_to_others_of_its_address_and_these_to_other_addresses() {
        let quota = ThreadQuota::new(512);
        let hog = all_of(&quota, &party(1, 1));
        assert_eq!(hog.len(), 20);
        assert_eq!(all_of(&quota, &party(1, 2)).len(), 16);
        let many: Vec<ThreadPermit> = (2..2_000).flat_map(|port| all_of(&quota, &party(1, port))).collect();
        assert_eq!(hog.len() + many.len(), 102);
        let hogs: Vec<ThreadPermit> = (2..20)
            .flat_map(|a| (0..50).flat_map(move |port| [(a, port)]))
            .flat_map(|(a, port)| all_of(&quota, &party(a, port)))
            .collect();
        let new: Vec<usize> = (20..24).map(|a| all_of(&quota, &party(a, 1)).len()).collect();
        assert!(
            new.iter().all(|n| *n > 0),
            "{} hold, {} hold, and new ones get {new:?}",
            many.len(),
            hogs.len()
        );
        drop((hog, many, hogs));
        let table = lock(&quota.table);
        assert_eq!((table.held, table.owners.len()), (0, 0));
    }

    #[test]
    fn a_turn_given_back_goes_to_who_holds_least() {
        let quota = ThreadQuota::new(512);
        let mut hog = all_of(&quota, &party(1, 1));
        let mut second = all_of(&quota, &party(1, 2));
        let mut cx = Context::from_waker(Waker::noop());
        let (more, less) = (party(1, 1), party(1, 3));
        let mut rest: Vec<ThreadPermit> = (4..100).flat_map(|port| all_of(&quota, &party(1, port))).collect();
        let (mut first, mut later) = (Box::pin(quota.take(&more)), Box::pin(quota.take(&less)));
        assert!(first.as_mut().poll(&mut cx).is_pending() && later.as_mut().poll(&mut cx).is_pending());
        drop(hog.pop());
        assert!(first.as_mut().poll(&mut cx).is_pending());
        let Poll::Ready(Ok(permit)) = later.as_mut().poll(&mut cx) else { panic!("it is this one's turn") };
        rest.push(permit);
        second.clear();
        rest.clear();
        assert!(first.as_mut().poll(&mut cx).is_ready());
    }

    /// Cancelled requests must not stay in the queue.
    #[test]
    fn who_goes_leaves_its_place_in_the_line() {
        let quota = ThreadQuota::new(4);
        let hog = all_of(&quota, &party(1, 1));
        let mut cx = Context::from_waker(Waker::noop());
        for _ in 0..10 {
            let own = party(1, 1);
            let mut given_up = Box::pin(quota.take(&own));
            assert!(given_up.as_mut().poll(&mut cx).is_pending());
        }
        assert!(lock(&quota.table).count(&party(1, 1)).waiting.is_empty());
        let own = party(1, 1);
        let mut waits = Box::pin(quota.take(&own));
        assert!(waits.as_mut().poll(&mut cx).is_pending());
        // Cancelled as the permit is granted.
        drop(hog);
        drop(waits);
        let table = lock(&quota.table);
        assert_eq!((table.held, table.owners.len()), (0, 0));
    }
}
