//! `Rendezvous`: matches sent tensors with receivers, by key.

use crate::error::{Error, Result, internal};
use crate::sync::lock;
use crate::tensor::Tensor;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

/// A tensor in transit; a dead one if the sender's branch was not taken.
#[derive(Clone)]
pub struct Parcel {
    pub value: Option<Tensor>,
}

impl Parcel {
    pub fn live(value: Tensor) -> Parcel {
        Parcel { value: Some(value) }
    }

    pub fn dead() -> Parcel {
        Parcel { value: None }
    }
}

pub type OnParcel = Box<dyn FnOnce(Result<Parcel>) + Send>;

pub trait Rendezvous: Send + Sync {
    fn send(&self, key: &str, parcel: Parcel) -> Result<()>;
    /// Calls back once: immediately if the parcel was sent, else from the sender's thread.
    fn recv(&self, key: &str, done: OnParcel);
    /// All waiting and all later receivers get this error.
    fn abort(&self, reason: Error);
}

/// Sender and receiver in one process.
#[derive(Default)]
pub struct LocalRendezvous(Mutex<State>);

#[derive(Default)]
struct State {
    slots: HashMap<Arc<str>, Slot>,
    /// Receivers so far.
    next: u64,
    aborted: Option<Error>,
}

enum Slot {
    Sent(VecDeque<Parcel>),
    Awaited(VecDeque<(u64, OnParcel)>),
}

impl LocalRendezvous {
    /// As `recv`. The number is for `withdraw`; 0 if already sent.
    pub fn want(&self, key: &str, done: OnParcel) -> u64 {
        let mut state = lock(&self.0);
        if let Some(e) = state.aborted.clone() {
            drop(state);
            done(Err(e.derived()));
            return 0;
        }
        if let Some(Slot::Sent(parcels)) = state.slots.get_mut(key) {
            let first = parcels.pop_front().ok_or_else(|| internal("an empty slot"));
            if parcels.is_empty() {
                state.slots.remove(key);
            }
            drop(state);
            done(first);
            return 0;
        }
        state.next += 1;
        let number = state.next;
        if let Slot::Awaited(waiting) =
            state.slots.entry(key.into()).or_insert_with(|| Slot::Awaited(VecDeque::new()))
        {
            waiting.push_back((number, done));
        }
        number
    }

    /// Removes a receiver, and the key if it was the last.
    pub fn withdraw(&self, key: &str, number: u64) {
        let mut state = lock(&self.0);
        let Some(Slot::Awaited(waiting)) = state.slots.get_mut(key) else { return };
        let withdrawn = waiting.iter().position(|w| w.0 == number).and_then(|at| waiting.remove(at));
        if waiting.is_empty() {
            state.slots.remove(key);
        }
        drop(state);
        drop(withdrawn);
    }

    /// Keys with a parcel or a receiver.
    pub fn len(&self) -> usize {
        lock(&self.0).slots.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Rendezvous for LocalRendezvous {
    fn send(&self, key: &str, parcel: Parcel) -> Result<()> {
        let receiver = {
            let mut state = lock(&self.0);
            if let Some(e) = &state.aborted {
                return Err(e.clone().derived());
            }
            match state.slots.get_mut(key) {
                None => {
                    state.slots.insert(key.into(), Slot::Sent([parcel].into()));
                    return Ok(());
                }
                Some(Slot::Sent(parcels)) => {
                    parcels.push_back(parcel);
                    return Ok(());
                }
                Some(Slot::Awaited(waiting)) => {
                    let first = waiting.pop_front();
                    if waiting.is_empty() {
                        state.slots.remove(key);
                    }
                    first
                }
            }
        };
        if let Some((_, receiver)) = receiver {
            receiver(Ok(parcel));
        }
        Ok(())
    }

    fn recv(&self, key: &str, done: OnParcel) {
        self.want(key, done);
    }

    fn abort(&self, reason: Error) {
        let slots = {
            let mut state = lock(&self.0);
            if state.aborted.is_some() {
                return;
            }
            state.aborted = Some(reason.clone());
            std::mem::take(&mut state.slots)
        };
        for (_, slot) in slots {
            if let Slot::Awaited(waiting) = slot {
                waiting.into_iter().for_each(|(_, done)| done(Err(reason.clone().derived())));
            }
        }
    }
}

/// The key of a tensor between two devices: `send device;incarnation;receive device;tensor name;frame:iteration`.
pub fn rendezvous_key(
    send: &str,
    incarnation: u64,
    recv: &str,
    tensor: &str,
    frame: u64,
    iteration: u64,
) -> String {
    format!("{send};{incarnation:016x};{recv};{tensor};{frame}:{iteration}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn order_of_arrival_does_not_matter() {
        let r = LocalRendezvous::default();
        let (tx, rx) = mpsc::channel();
        r.send("a", Parcel::live(Tensor::scalar(1i32))).unwrap();
        let t = tx.clone();
        r.recv("a", Box::new(move |p| t.send(p).unwrap()));
        let t = tx.clone();
        r.recv("b", Box::new(move |p| t.send(p).unwrap()));
        r.send("b", Parcel::dead()).unwrap();
        assert_eq!(rx.recv().unwrap().unwrap().value.unwrap().to_scalar::<i32>().unwrap(), 1);
        assert!(rx.recv().unwrap().unwrap().value.is_none());
        r.recv("c", Box::new(move |p| tx.send(p).unwrap()));
        r.abort(crate::error::aborted("gone"));
        assert!(rx.recv().unwrap().err().unwrap().is_derived());
        assert!(r.send("d", Parcel::dead()).is_err());
    }

    #[test]
    fn a_wish_that_is_withdrawn_leaves_nothing_behind_and_takes_nothing() {
        let r = LocalRendezvous::default();
        let (tx, rx) = mpsc::channel();
        let want = |name: &'static str| {
            let tx = tx.clone();
            r.want("a", Box::new(move |p| tx.send((name, p.is_ok())).unwrap()))
        };
        let (first, second) = (want("first"), want("second"));
        r.withdraw("a", first);
        r.withdraw("b", first);
        r.send("a", Parcel::dead()).unwrap();
        assert_eq!(rx.recv().unwrap(), ("second", true));
        r.withdraw("a", second);
        assert!(r.is_empty());
        let third = want("third");
        r.withdraw("a", third);
        assert!(r.is_empty());
        r.send("a", Parcel::dead()).unwrap();
        assert_eq!(want("fourth"), 0);
        assert_eq!(rx.recv().unwrap(), ("fourth", true));
    }
}
