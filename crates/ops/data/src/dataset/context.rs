//! `Context`: what an iterator call may use: functions, the thread pool, cancellation.

use super::sequence::MAX_DEPTH;
use crate::prelude::*;
use smallvec::SmallVec;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, Weak};
use std::task::{self, Poll, Waker};
use std::time::Instant;
use thalweg_core::cancel::Cancellation;
use thalweg_core::kernel::caught;
use thalweg_core::step::{DeviceContext, FunctionRunner, OnResults, StepContext};
use thalweg_core::sync::lock;

#[derive(Clone)]
pub struct Context {
    environment: Arc<Environment>,
    /// Any of these cancels the call.
    stops: SmallVec<[Arc<Cancellation>; 2]>,
    deadline: Option<Instant>,
    /// Depth of nested iterator calls, see [`MAX_DEPTH`].
    depth: usize,
}

/// The device of an iterator, which outlives a step.
struct Environment {
    device: Device,
    functions: Option<Arc<dyn FunctionRunner>>,
    calls: AtomicU64,
}

enum Device {
    /// The device owns the iterator: a weak reference avoids a cycle.
    Weak(Weak<DeviceContext>),
    /// The iterator is owned elsewhere, and outlives the session whose device this is.
    Strong(Arc<DeviceContext>),
}

impl Context {
    /// For iterators made in this step.
    pub fn of(step: &StepContext) -> Context {
        Context::at(Device::Weak(Arc::downgrade(&step.device)), step)
    }

    /// As `of`, for iterators that outlive the step's session.
    pub fn lasting(step: &StepContext) -> Context {
        Context::at(Device::Strong(step.device.clone()), step)
    }

    fn at(device: Device, step: &StepContext) -> Context {
        let environment = Environment { device, functions: step.functions.clone(), calls: AtomicU64::new(0) };
        Context { environment: Arc::new(environment), stops: SmallVec::new(), deadline: None, depth: 0 }
    }

    /// Also cancelled by `stop`.
    pub fn until(&self, stop: &Arc<Cancellation>) -> Context {
        let mut context = self.clone();
        context.stops.push(stop.clone());
        context
    }

    /// Also cancelled with a step, or by its deadline.
    pub fn within(&self, step: &StepContext) -> Context {
        Context { deadline: step.deadline, ..self.until(&step.cancel) }
    }

    /// Without cancellation, for work that continues between calls.
    pub fn without_cancellation(&self) -> Context {
        Context { stops: SmallVec::new(), deadline: None, ..self.clone() }
    }

    /// For an iterator that another one calls.
    pub fn deeper(&self) -> Result<Context> {
        if self.depth >= MAX_DEPTH {
            return Err(invalid!("datasets that make datasets, more than {MAX_DEPTH} one inside another"));
        }
        Ok(Context { depth: self.depth + 1, ..self.clone() })
    }

    /// An error once the call is cancelled. Long loops check this.
    pub fn check(&self) -> Result<()> {
        if let Some(reason) = self.stops.iter().find_map(|s| s.reason()) {
            return Err(reason);
        }
        match self.deadline {
            Some(d) if Instant::now() >= d => {
                Err(deadline_exceeded("the step did not end within its time limit"))
            }
            _ => Ok(()),
        }
    }

    pub fn device(&self) -> Result<Arc<DeviceContext>> {
        match &self.environment.device {
            Device::Strong(device) => Ok(device.clone()),
            Device::Weak(device) => {
                device.upgrade().ok_or_else(|| cancelled("the session that made this iterator has ended"))
            }
        }
    }

    /// Starts a call of a function, of a library other than the iterator's if one is given. `elsewhere`: on another thread, for concurrent calls.
    pub fn call(
        &self,
        library: Option<&Arc<dyn FunctionRunner>>,
        f: &Func,
        args: Vec<Tensor>,
        elsewhere: bool,
    ) -> Call {
        let slot = Arc::new(Mutex::new(Slot::default()));
        let cancel = Arc::new(Cancellation::default());
        let call = Call { slot: slot.clone(), cancel: cancel.clone(), ended: false };
        let result = ResultOf(Some(slot));
        let done: OnResults = Box::new(move |r| result.give(r));
        let device = match self.device() {
            Ok(device) => device,
            Err(e) => {
                done(Err(e));
                return call;
            }
        };
        // A step of its own: the function's per-step resources are freed when the call ends.
        let id = self.environment.calls.fetch_add(1, Ordering::Relaxed);
        let mut step = StepContext::new(id, device);
        step.cancel = cancel;
        step.deadline = self.deadline;
        step.functions = library.or(self.environment.functions.as_ref()).cloned();
        let step = Arc::new(step);
        if elsewhere {
            step.call(f, args, done)
        } else {
            step.call_here(f, args, done)
        }
        call
    }
}

/// A running call. Dropping it cancels it.
pub struct Call {
    slot: Arc<Mutex<Slot>>,
    cancel: Arc<Cancellation>,
    ended: bool,
}

/// Completes once, at the latest when dropped, so that no caller waits for ever.
struct ResultOf(Option<Arc<Mutex<Slot>>>);

impl ResultOf {
    fn give(mut self, result: Result<Vec<Tensor>>) {
        self.fill(result);
    }

    fn fill(&mut self, result: Result<Vec<Tensor>>) {
        let Some(slot) = self.0.take() else { return };
        let waker = {
            let mut slot = lock(&slot);
            slot.result = Some(result);
            slot.waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }
}

impl Drop for ResultOf {
    fn drop(&mut self) {
        self.fill(Err(cancelled("the call was given up")));
    }
}

#[derive(Default)]
struct Slot {
    result: Option<Result<Vec<Tensor>>>,
    waker: Option<Waker>,
}

impl Future for Call {
    type Output = Result<Vec<Tensor>>;
    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        let result = {
            let mut slot = lock(&self.slot);
            if slot.result.is_none() {
                slot.waker = Some(cx.waker().clone());
            }
            slot.result.take()
        };
        self.ended = result.is_some();
        result.map_or(Poll::Pending, Poll::Ready)
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if !self.ended {
            self.cancel.cancel(cancelled("the element was no longer wanted"));
        }
    }
}

/// An element, or other work, unless the context is cancelled first. A panic becomes an error.
pub struct OrStopped<'a, F> {
    work: F,
    context: &'a Context,
    /// Cancellation callbacks that wake the task.
    heard: SmallVec<[(Arc<Cancellation>, u64); 2]>,
}

pub fn or_stopped<F>(work: F, context: &Context) -> OrStopped<'_, F> {
    OrStopped { work, context, heard: SmallVec::new() }
}

impl<T, F: Future<Output = Result<T>> + Unpin> Future for OrStopped<'_, F> {
    type Output = Result<T>;
    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Result<T>> {
        if let Err(e) = self.context.check() {
            return Poll::Ready(Err(e));
        }
        let work = Pin::new(&mut self.work);
        let polled = catch_unwind(AssertUnwindSafe(|| work.poll(cx)))
            .unwrap_or_else(|panic| Poll::Ready(Err(caught(&*panic).context("a dataset's iterator"))));
        if polled.is_pending() && self.heard.is_empty() {
            for stop in &self.context.stops {
                let waker = cx.waker().clone();
                let token = stop.on_cancel(move |_| waker.wake());
                self.heard.push((stop.clone(), token));
            }
        }
        polled
    }
}

impl<F> Drop for OrStopped<'_, F> {
    fn drop(&mut self) {
        for (stop, token) in self.heard.drain(..) {
            stop.forget(token);
        }
    }
}
