//! `Reader`: the work in progress, and the requests that wait for records.
//!
//! Requests are served in order. One that needs the next file name asks the queue for it and holds no thread meanwhile; those
//! behind it wait for it.

use super::source::{Record, Source, Work};
use crate::parsing::wire::{Field, Fields};
use crate::prelude::*;
use bytes::Bytes;
use std::any::Any;
use std::collections::VecDeque;
use std::sync::Mutex;
use thalweg_core::resource::Resource;
use thalweg_core::step::StepContext;
use thalweg_core::sync::lock;
use thalweg_io::varint;
use thalweg_ops_state::queue::Queue;

pub struct Reader {
    name: String,
    pub source: Source,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    work: Option<Work>,
    /// The name of the work in progress, or of the last.
    work_name: Bytes,
    started: i64,
    finished: i64,
    produced: i64,
    waiting: VecDeque<Request>,
    /// Someone serves the requests, or will when the queue answers.
    is_served: bool,
}

/// A request for up to `most` records, all of one file.
pub struct Request {
    pub most: usize,
    pub queue: Arc<Queue>,
    pub step: Arc<StepContext>,
    pub done: Box<dyn FnOnce(Result<Vec<Record>>) + Send>,
}

/// The queue's answer: it may come while we still ask, or later.
enum Asked {
    Asking,
    Answered(Result<Bytes>),
    WaitingFor(Request),
}

impl Reader {
    pub fn new(name: &str, source: Source) -> Result<Reader> {
        Ok(Reader { name: reserve::text(format_args!("{name}"))?, source, state: Mutex::default() })
    }

    pub fn produced(&self) -> i64 {
        lock(&self.state).produced
    }

    pub fn finished(&self) -> i64 {
        lock(&self.state).finished
    }

    /// As if it were new. Requests that wait go on waiting.
    pub fn reset(&self) {
        let mut state = lock(&self.state);
        (state.started, state.finished, state.produced) = (0, 0, 0);
        state.work_name = Bytes::new();
        state.work = None;
    }

    pub fn read(self: &Arc<Self>, request: Request) {
        {
            let mut state = lock(&self.state);
            if let Err(e) = reserve::room(&mut state.waiting, 1) {
                drop(state);
                return (request.done)(Err(e));
            }
            state.waiting.push_back(request);
            if std::mem::replace(&mut state.is_served, true) {
                return;
            }
        }
        self.serve(None);
    }

    /// Serves requests until none is left or one waits for the queue. `answered`: the request that waited, and what the queue said.
    fn serve(self: &Arc<Self>, mut answered: Option<(Request, Result<Bytes>)>) {
        loop {
            let (request, begun) = match answered.take() {
                Some((request, name)) => {
                    let begun = self.start(name, &request.step);
                    (request, begun)
                }
                None => match self.first_waiting() {
                    Some(request) => (request, Ok(())),
                    None => return,
                },
            };
            match begun.and_then(|()| self.records(request.most)) {
                Ok(Some(records)) => (request.done)(Ok(records)),
                Err(e) => (request.done)(Err(e)),
                Ok(None) => match self.ask(request) {
                    None => return,
                    answer => answered = answer,
                },
            }
        }
    }

    fn first_waiting(&self) -> Option<Request> {
        let mut state = lock(&self.state);
        let first = state.waiting.pop_front();
        state.is_served = first.is_some();
        first
    }

    /// Asks the queue for a file name. `None`: its answer will serve the request.
    fn ask(self: &Arc<Self>, request: Request) -> Option<(Request, Result<Bytes>)> {
        let (queue, cancel) = (request.queue.clone(), request.step.cancel.clone());
        let ours = Arc::new(Mutex::new(Asked::Asking));
        let (reader, theirs) = (self.clone(), ours.clone());
        let answer = move |tuples: Result<Vec<Vec<Tensor>>>| {
            let name = tuples.and_then(|t| file_name(&t));
            let mut asked = lock(&theirs);
            match std::mem::replace(&mut *asked, Asked::Asking) {
                Asked::WaitingFor(request) => {
                    drop(asked);
                    reader.serve(Some((request, name)));
                }
                _ => *asked = Asked::Answered(name),
            }
        };
        queue.dequeue(1, false, &cancel, Box::new(answer));
        let mut asked = lock(&ours);
        match std::mem::replace(&mut *asked, Asked::Asking) {
            Asked::Answered(name) => Some((request, name)),
            _ => {
                *asked = Asked::WaitingFor(request);
                None
            }
        }
    }

    fn start(&self, name: Result<Bytes>, step: &StepContext) -> Result<()> {
        let mut state = lock(&self.state);
        state.work_name = name.clone().unwrap_or_default();
        state.work = Some(self.source.start(&name?, &step.device.access)?);
        state.started += 1;
        Ok(())
    }

    /// Up to `most` records of the work in progress; `None` if it has none left.
    fn records(&self, most: usize) -> Result<Option<Vec<Record>>> {
        let mut records = Vec::new();
        let mut state = lock(&self.state);
        while records.len() < most {
            let Some(work) = &mut state.work else { break };
            let (record, is_last) = work.next()?;
            if is_last {
                state.work = None;
                state.finished = state.started;
            }
            if let Some(record) = record {
                state.produced += 1;
                reserve::push(&mut records, record)?;
            }
        }
        Ok(if records.is_empty() && most > 0 { None } else { Some(records) })
    }

    /// A ReaderBaseState message.
    pub fn serialized(&self) -> Result<Vec<u8>> {
        self.check_restorable("SerializeState")?;
        let state = lock(&self.state);
        let mut out = reserve::with_capacity(state.work_name.len().saturating_add(5 * varint::MAX_LEN))?;
        for (tag, n) in [(8, state.started), (16, state.finished), (24, state.produced)] {
            if n != 0 {
                out.push(tag);
                varint::put(&mut out, n as u64);
            }
        }
        if !state.work_name.is_empty() {
            out.push(34);
            varint::put(&mut out, state.work_name.len() as u64);
            out.extend_from_slice(&state.work_name);
        }
        Ok(out)
    }

    pub fn restore(&self, message: &Bytes, step: &StepContext) -> Result<()> {
        self.check_restorable("RestoreState")?;
        let damaged = || invalid!("Could not parse state for {}: {}", self.name, message.escape_ascii());
        let (mut numbers, mut name) = ([0i64; 3], Bytes::new());
        let mut fields = Fields(message);
        while let Some((number, contents)) = fields.next().map_err(|_| damaged())? {
            match (number, contents) {
                (1..=3, Field::Varint(v)) => numbers[number as usize - 1] = v as i64,
                (4, Field::Bytes(text)) => name = message.slice_ref(text),
                (1..=4, _) => return Err(damaged()),
                _ => {}
            }
        }
        let [started, finished, produced] = numbers;
        if numbers.iter().any(|n| *n < 0) {
            return Err(invalid!("Unexpected negative value when restoring in {}", self.name));
        }
        if started < finished {
            return Err(invalid!(
                "Inconsistent work started vs. finished when restoring in {}: {started} vs. {finished}",
                self.name
            ));
        }
        let work = match started > finished {
            true => Some(self.source.start(&name, &step.device.access)?),
            false => None,
        };
        let mut state = lock(&self.state);
        (state.started, state.finished, state.produced) = (started, finished, produced);
        (state.work, state.work_name) = (work, name);
        Ok(())
    }

    fn check_restorable(&self, what: &str) -> Result<()> {
        match self.source.is_restorable() {
            true => Ok(()),
            false => Err(unimplemented(format_args!("Reader {what}: {}", self.source.kind()))),
        }
    }
}

/// The one string of the one element that was dequeued.
fn file_name(tuples: &[Vec<Tensor>]) -> Result<Bytes> {
    match tuples {
        [tuple] => match tuple.as_slice() {
            [one] if one.dtype() == DataType::String && one.elements() == 1 => {
                one.strings()?.first().cloned().ok_or_else(|| internal("an element without a string"))
            }
            _ => Err(invalid!("the queue of a reader must hold single strings")),
        },
        _ => Err(internal("the queue gave no element")),
    }
}

impl Resource for Reader {
    fn kind(&self) -> &'static str {
        self.source.kind()
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}
