//! The audit log: a line for each rejected call, with a rate limit for each peer.

use super::Origin;
use crate::log::Log;
use crate::wire::Status;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use thalweg_core::sync::lock;

pub struct Refusals {
    log: Log,
    peers: Mutex<HashMap<IpAddr, Recent>>,
}

/// Recent rejections of a peer.
struct Recent {
    since: Instant,
    lines: u32,
    /// Unlogged rejections.
    untold: u64,
}

/// Lines of one peer in a window; further ones are counted.
const LINES: u32 = 10;
const WINDOW: Duration = Duration::from_secs(60);
/// Peers tracked; further ones share one entry.
const PEERS: usize = 1024;
const OTHERS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED);

impl Refusals {
    pub fn new(log: Log) -> Refusals {
        Refusals { log, peers: Mutex::default() }
    }

    pub fn note(&self, origin: &Origin, identity: &str, call: &[u8], why: &Status) {
        let Some(untold) = self.line_for(origin.address.ip(), Instant::now()) else { return };
        let (call, code) = (call.get(..MAX_CALL).unwrap_or(call).escape_ascii(), format!("{:?}", why.code()));
        self.log.warn(
            "refused",
            &[
                ("peer", &origin.address),
                ("identity", &identity),
                ("call", &call),
                ("code", &code),
                ("why", &why.message()),
                ("untold", &untold),
            ],
        );
    }

    /// `Some` if this rejection is logged, with the number of unlogged ones before it.
    fn line_for(&self, peer: IpAddr, now: Instant) -> Option<u64> {
        let mut peers = lock(&self.peers);
        let fresh = |r: &Recent| now.saturating_duration_since(r.since) < WINDOW;
        if peers.len() >= PEERS && !peers.contains_key(&peer) {
            peers.retain(|_, recent| fresh(recent));
        }
        let known = peers.len() < PEERS || peers.contains_key(&peer);
        let recent = peers.entry(if known { peer } else { OTHERS }).or_insert(Recent {
            since: now,
            lines: 0,
            untold: 0,
        });
        if !fresh(recent) {
            (recent.since, recent.lines) = (now, 0);
        }
        if recent.lines == LINES {
            recent.untold = recent.untold.saturating_add(1);
            return None;
        }
        recent.lines += 1;
        Some(std::mem::take(&mut recent.untold))
    }
}

/// Method names are shorter.
const MAX_CALL: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(n: u32) -> IpAddr {
        IpAddr::V4(std::net::Ipv4Addr::from_bits(n))
    }

    #[test]
    fn a_peer_that_is_refused_all_the_time_does_not_fill_the_log() {
        let (refusals, now) = (Refusals::new(Log::default()), Instant::now());
        let told = |peer, now| (0..1000).filter(|_| refusals.line_for(ip(peer), now).is_some()).count();
        assert_eq!(told(1, now), LINES as usize);
        assert_eq!(told(2, now), LINES as usize);
        // The next window's first line has their number.
        assert_eq!(refusals.line_for(ip(1), now + WINDOW), Some(1000 - u64::from(LINES)));
    }

    #[test]
    fn peers_from_everywhere_fill_neither_the_log_nor_the_memory() {
        let (refusals, now) = (Refusals::new(Log::default()), Instant::now());
        let told = (1..100_000).filter(|n| refusals.line_for(ip(*n), now).is_some()).count();
        assert!(told <= PEERS + LINES as usize, "{told}");
        assert!(lock(&refusals.peers).len() <= PEERS + 1);
        assert_eq!(refusals.line_for(ip(7_000_000), now + WINDOW), Some(0));
    }

    impl Refusals {
        /// Peers tracked.
        pub fn peers(&self) -> usize {
            lock(&self.peers).len()
        }
    }

    #[test]
    fn what_was_not_told_of_a_peer_is_told_with_its_next_line_whoever_comes_between() {
        let (refusals, now) = (Refusals::new(Log::default()), Instant::now());
        let fill =
            |refusals: &Refusals, n| (0..15).filter(|_| refusals.line_for(ip(n), now).is_some()).count();
        assert_eq!(fill(&refusals, 1), 10);
        assert_eq!(refusals.line_for(ip(2), now + WINDOW), Some(0));
        assert_eq!(refusals.line_for(ip(1), now + WINDOW), Some(5));
        // The same when the table is full.
        let refusals = Refusals::new(Log::default());
        assert!((1..=PEERS as u32).all(|n| fill(&refusals, n) == 10));
        assert_eq!(refusals.line_for(ip(1), now + WINDOW), Some(5));
    }
}
