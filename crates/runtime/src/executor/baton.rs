//! `Baton`: state owned by one thread at a time, and a queue of messages from all others.
//!
//! The holder of the baton owns the state without further locking, and runs cheap kernels while it holds it. Another thread enqueues a
//! message and tries to take the baton; if it is held, the holder processes the message.

use crate::sync::{Mutex, lock};

pub struct Baton<S, M> {
    state: Mutex<S>,
    inbox: Mutex<Vec<M>>,
}

impl<S, M> Baton<S, M> {
    pub fn new(state: S) -> Self {
        Baton { state: Mutex::new(state), inbox: Mutex::new(Vec::new()) }
    }

    /// Enqueues a message. The caller must call `drive` afterwards.
    pub fn post(&self, message: M) {
        lock(&self.inbox).push(message);
    }

    /// Processes the messages, unless another thread holds the baton; that one then processes ours too. `work` is called with each batch
    /// of messages, first with an empty one if there are none.
    pub fn drive(&self, mut work: impl FnMut(&mut S, Vec<M>)) {
        loop {
            let Ok(mut state) = self.state.try_lock() else { return };
            loop {
                let messages = std::mem::take(&mut *lock(&self.inbox));
                work(&mut state, messages);
                if lock(&self.inbox).is_empty() {
                    break;
                }
            }
            drop(state);
            // Another thread may have posted, and failed to take the baton, between our last check and the release.
            if lock(&self.inbox).is_empty() {
                return;
            }
        }
    }
}

#[cfg(all(test, feature = "shuttle"))]
mod shuttle_tests {
    use super::*;
    use shuttle::sync::Arc;
    use shuttle::thread;

    /// Every message is processed exactly once, whatever the interleaving.
    #[test]
    fn no_message_is_lost() {
        shuttle::check_random(
            || {
                let baton: Arc<Baton<Vec<u32>, u32>> = Arc::new(Baton::new(Vec::new()));
                let threads: Vec<_> = (0..3)
                    .map(|t| {
                        let baton = baton.clone();
                        thread::spawn(move || {
                            for i in 0..3 {
                                baton.post(t * 10 + i);
                                baton.drive(|seen, messages| seen.extend(messages));
                            }
                        })
                    })
                    .collect();
                for t in threads {
                    t.join().unwrap();
                }
                let mut seen = lock(&baton.state).clone();
                seen.sort_unstable();
                assert_eq!(seen, [0, 1, 2, 10, 11, 12, 20, 21, 22]);
            },
            5000,
        );
    }

    /// A message posted from inside the work (an async kernel that completes at once) is processed before `drive` returns.
    #[test]
    fn posts_from_within_are_seen() {
        shuttle::check_random(
            || {
                let baton: Arc<Baton<u32, u32>> = Arc::new(Baton::new(0));
                let other = {
                    let baton = baton.clone();
                    thread::spawn(move || {
                        baton.post(100);
                        baton.drive(|sum, messages| *sum += messages.iter().sum::<u32>());
                    })
                };
                let mut left = 3;
                let mut work = |sum: &mut u32, messages: Vec<u32>| {
                    *sum += messages.iter().sum::<u32>();
                    if left > 0 {
                        left -= 1;
                        baton.post(1);
                    }
                };
                // The first call may find the baton held; the second cannot.
                baton.drive(&mut work);
                other.join().unwrap();
                baton.drive(&mut work);
                assert_eq!(*lock(&baton.state), 103);
            },
            5000,
        );
    }
}
