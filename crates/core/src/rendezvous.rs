//! `Rendezvous`: where a sender's tensor and a receiver's wish for it meet, by key.

use crate::error::{Error, Result};
use crate::resource::lock;
use crate::tensor::Tensor;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// A tensor under way. Dead ones tell the receiver that the branch was not taken.
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
    /// Calls back once, at once if the parcel is there, else from the sender's thread.
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
    aborted: Option<Error>,
}

enum Slot {
    Sent(Vec<Parcel>),
    Wanted(Vec<OnParcel>),
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
                    state.slots.insert(key.into(), Slot::Sent(vec![parcel]));
                    return Ok(());
                }
                Some(Slot::Sent(parcels)) => {
                    parcels.push(parcel);
                    return Ok(());
                }
                Some(Slot::Wanted(waiting)) => {
                    let first = waiting.remove(0);
                    if waiting.is_empty() {
                        state.slots.remove(key);
                    }
                    first
                }
            }
        };
        receiver(Ok(parcel));
        Ok(())
    }

    fn recv(&self, key: &str, done: OnParcel) {
        let parcel = {
            let mut state = lock(&self.0);
            if let Some(e) = state.aborted.clone() {
                drop(state);
                return done(Err(e.derived()));
            }
            match state.slots.get_mut(key) {
                None => {
                    state.slots.insert(key.into(), Slot::Wanted(vec![done]));
                    return;
                }
                Some(Slot::Wanted(waiting)) => {
                    waiting.push(done);
                    return;
                }
                Some(Slot::Sent(parcels)) => {
                    let first = parcels.remove(0);
                    if parcels.is_empty() {
                        state.slots.remove(key);
                    }
                    first
                }
            }
        };
        done(Ok(parcel));
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
            if let Slot::Wanted(waiting) = slot {
                waiting.into_iter().for_each(|done| done(Err(reason.clone().derived())));
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
}
