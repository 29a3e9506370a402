//! `QueueRunner`: threads that keep a queue filled.

use crate::Coordinator;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use thalweg_client::{Code, Operation, Output, Result, Scope, Session};

/// A queue, and the operations that fill it, each run repeatedly by its own thread.
#[derive(Clone, Debug)]
pub struct QueueRunner {
    name: String,
    enqueue: Vec<Operation>,
    /// Closes the queue: elements in it can still be dequeued.
    close: Operation,
    /// Closes the queue and cancels pending enqueues.
    cancel: Operation,
}

impl QueueRunner {
    /// The queue is given by its handle.
    #[track_caller]
    pub fn new(g: &Scope, queue: &Output, enqueue: Vec<Operation>) -> QueueRunner {
        let (name, root) = (queue.op().name(), g.root());
        let node = format!("{name}_Close");
        let close = |cancel: bool| {
            let close = root.op("QueueCloseV2").name(&node).input(queue);
            close.attr("cancel_pending_enqueues", cancel).build()
        };
        let (close, cancel) = (close(false), close(true));
        QueueRunner { name, enqueue, close, cancel }
    }

    /// The name of the queue's node.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Starts the threads. They run until the coordinator stops or their input is exhausted; the last one closes the queue.
    /// An error stops all.
    pub fn start(&self, session: &Arc<Session>, coordinator: &Coordinator) -> Result<()> {
        let left = Arc::new(AtomicUsize::new(self.enqueue.len()));
        for (i, enqueue) in self.enqueue.iter().enumerate() {
            let run = Run {
                session: session.clone(),
                enqueue: enqueue.clone(),
                close: self.close.clone(),
                left: left.clone(),
            };
            coordinator.spawn(&format!("{}-{i}", self.name), move |all| run.keep_on(all))?;
        }
        let (session, cancel) = (session.clone(), self.cancel.clone());
        coordinator.spawn(&format!("{}-close", self.name), move |all| {
            all.wait_for_stop();
            // The queue may be lost with its task, or closed already.
            let _ = session.run(&cancel, &[]);
            Ok(())
        })
    }
}

/// One of the threads.
struct Run {
    session: Arc<Session>,
    enqueue: Operation,
    close: Operation,
    /// How many threads still run.
    left: Arc<AtomicUsize>,
}

impl Run {
    fn keep_on(&self, all: &Coordinator) -> Result<()> {
        let callable = self.session.callable(&[], &self.enqueue)?;
        let options = all.run_options();
        let ended = loop {
            if all.should_stop() {
                break Ok(());
            }
            match callable.run_with(Vec::new(), &options) {
                Ok(_) => {}
                Err(_) if all.should_stop() => break Ok(()),
                Err(e) if e.code() == Code::OutOfRange => break Ok(()),
                Err(e) => break Err(e),
            }
        };
        let last = self.left.fetch_sub(1, Ordering::AcqRel) == 1;
        if last && ended.is_ok() && !all.should_stop() {
            self.session.run(&self.close, &[])?;
        }
        ended
    }
}
