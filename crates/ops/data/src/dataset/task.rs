//! `Task`: a future that is polled on the device's thread pool when woken, even after the session that started it has ended: other
//! sessions may use its results.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use thalweg_core::memory::Holder;
use thalweg_core::step::DeviceContext;
use thalweg_core::sync::lock;
use thalweg_math::pool::Pool;

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

pub struct Task {
    /// `None` once it has ended.
    work: Mutex<Option<Work>>,
    state: AtomicU8,
    pool: Arc<Pool>,
    memory: Arc<Holder>,
}

const IDLE: u8 = 0;
/// Scheduled on the pool.
const QUEUED: u8 = 1;
const RUNNING: u8 = 2;
/// Running, and woken meanwhile.
const WOKEN: u8 = 3;

impl Task {
    /// Polls it on the calling thread until it first has to wait.
    pub fn start(device: &Arc<DeviceContext>, work: impl Future<Output = ()> + Send + 'static) {
        Task::new(device, work).run();
    }

    /// Runs on the pool.
    pub fn spawn(device: &Arc<DeviceContext>, work: impl Future<Output = ()> + Send + 'static) {
        let task = Task::new(device, work);
        device.pool.spawn(Box::new(move || task.run()));
    }

    fn new(device: &Arc<DeviceContext>, work: impl Future<Output = ()> + Send + 'static) -> Arc<Task> {
        Arc::new(Task {
            work: Mutex::new(Some(Box::pin(work))),
            state: AtomicU8::new(QUEUED),
            pool: device.pool.clone(),
            memory: device.memory.clone(),
        })
    }

    fn run(self: Arc<Self>) {
        let _charged = self.memory.enter();
        let waker = Waker::from(self.clone());
        loop {
            self.state.store(RUNNING, Ordering::Release);
            let mut work = lock(&self.work);
            let Some(future) = work.as_mut() else { return };
            if future.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
                let ended = work.take();
                drop(work);
                drop(ended);
                return;
            }
            drop(work);
            // Idle, unless woken meanwhile.
            if self.state.compare_exchange(RUNNING, IDLE, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                return;
            }
        }
    }
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        let woken = self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, |state| match state {
            IDLE => Some(QUEUED),
            RUNNING => Some(WOKEN),
            _ => None,
        });
        if woken == Ok(IDLE) {
            let pool = self.pool.clone();
            pool.spawn(Box::new(move || self.run()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::task::Poll;

    #[test]
    fn a_task_goes_on_each_time_it_is_woken() {
        let step = crate::testing::step(1);
        let (wakers, woken) = mpsc::channel();
        let (done, ended) = mpsc::channel();
        let mut rounds = 0;
        let work = std::future::poll_fn(move |cx: &mut Context<'_>| {
            rounds += 1;
            wakers.send(cx.waker().clone()).unwrap();
            if rounds == 3 { Poll::Ready(()) } else { Poll::Pending }
        });
        Task::start(&step.device, async move {
            work.await;
            done.send(()).unwrap();
        });
        for _ in 0..2 {
            woken.recv().unwrap().wake();
        }
        ended.recv().unwrap();
    }
}
