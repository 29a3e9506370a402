//! `Iterator`: the resource that steps draw elements from.

use super::context::{Context, or_stopped};
use super::sequence::{DatasetRef, Element, Iter};
use super::task::Task;
use crate::prelude::*;
use std::any::Any;
use std::collections::VecDeque;
use std::sync::Mutex;
use thalweg_core::cancel::Cancellation;
use thalweg_core::resource::Resource;
use thalweg_core::step::StepContext;
use thalweg_core::sync::lock;

/// Holds a pass over some dataset of these types and shapes, once one has been begun.
pub struct Iterator {
    pub types: Vec<DataType>,
    pub shapes: Vec<PartialShape>,
    /// Whether it outlives the session that made it, as what has a shared name does on a server.
    lasting: bool,
    pass: Mutex<Option<Arc<Pass>>>,
}

/// One pass over a dataset, and those who wait for its elements.
struct Pass {
    context: Context,
    line: Mutex<Line>,
    /// Ends the pass for all.
    end: Arc<Cancellation>,
}

struct Line {
    /// `None` while an element is being made.
    iterator: Option<Box<dyn Iter>>,
    waiting: VecDeque<Request>,
    next_id: u64,
}

struct Request {
    id: u64,
    context: Context,
    answer: Answer,
    /// Takes the request out of the line when its step is cancelled.
    cancel: Option<(Arc<Cancellation>, u64)>,
}

type OnElement = Box<dyn FnOnce(Element) + Send>;

/// Answers once, and at the latest when it is dropped.
struct Answer(Option<OnElement>);

impl Answer {
    fn give(mut self, element: Element) {
        if let Some(answer) = self.0.take() {
            answer(element);
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if let Some(answer) = self.0.take() {
            answer(Err(cancelled("the iterator has ended")));
        }
    }
}

impl Iterator {
    pub fn new(types: Vec<DataType>, shapes: Vec<PartialShape>) -> Iterator {
        Iterator { types, shapes, lasting: false, pass: Mutex::default() }
    }

    /// The same, for a place where it outlives the session that makes it, or not.
    pub fn lasting(self, lasting: bool) -> Iterator {
        Iterator { lasting, ..self }
    }

    /// Begins a pass over a dataset. Who still waits for an element of an earlier pass gets it from there.
    pub fn begin(&self, dataset: &DatasetRef, step: &StepContext) -> Result<()> {
        same_elements(&dataset.types, &dataset.shapes, &self.types, &self.shapes)?;
        let end = Arc::new(Cancellation::default());
        let context = if self.lasting { Context::lasting(step) } else { Context::of(step) }.until(&end);
        let iterator = Some(dataset.iterator(&context)?);
        let line = Mutex::new(Line { iterator, waiting: VecDeque::new(), next_id: 0 });
        let old = lock(&self.pass).replace(Arc::new(Pass { context, line, end }));
        drop(old);
        Ok(())
    }

    /// Asks for the next element. The answer may come at once.
    pub fn next(&self, step: &StepContext, answer: OnElement) {
        let answer = Answer(Some(answer));
        let pass = lock(&self.pass).clone();
        match pass {
            Some(pass) => pass.join(step, answer),
            None => answer.give(Err(failed_precondition(
                "GetNext() failed because the iterator has not been initialized. Ensure that you have run \
                 the initializer operation for this iterator before getting the next element.",
            ))),
        }
    }
}

/// Whether elements of a dataset are those that are expected.
pub fn same_elements(
    types: &[DataType],
    shapes: &[PartialShape],
    want_types: &[DataType],
    want_shapes: &[PartialShape],
) -> Result<()> {
    if types.len() != want_types.len() {
        return Err(invalid!(
            "Number of components does not match: expected {} types but got {}.",
            want_types.len(),
            types.len()
        ));
    }
    if let Some(i) = (0..types.len()).find(|i| types[*i] != want_types[*i]) {
        return Err(invalid!(
            "Data type mismatch at component {i}: expected {} but got {}.",
            want_types[i],
            types[i]
        ));
    }
    for (i, (got, want)) in shapes.iter().zip(want_shapes).enumerate() {
        if got.merge(want).is_err() {
            return Err(invalid!("Incompatible shapes at component {i}: expected {want} but got {got}."));
        }
    }
    Ok(())
}

impl Pass {
    fn join(self: &Arc<Self>, step: &StepContext, answer: Answer) {
        let context = self.context.within(step);
        let (id, iterator) = {
            let mut line = lock(&self.line);
            let id = line.next_id;
            line.next_id += 1;
            if let Err(e) = reserve::room(&mut line.waiting, 1) {
                drop(line);
                return answer.give(Err(e));
            }
            line.waiting.push_back(Request { id, context, answer, cancel: None });
            (id, line.iterator.take())
        };
        match iterator {
            Some(iterator) => Task::start(&step.device, serve(self.clone(), iterator)),
            None => self.leave_when_cancelled(id, &step.cancel),
        }
    }

    fn leave_when_cancelled(self: &Arc<Self>, id: u64, cancel: &Arc<Cancellation>) {
        let pass = Arc::downgrade(self);
        let token = cancel.on_cancel(move |e| {
            let Some(pass) = pass.upgrade() else { return };
            let left = {
                let waiting = &mut lock(&pass.line).waiting;
                let at = waiting.iter().position(|r| r.id == id);
                at.and_then(|at| waiting.remove(at))
            };
            if let Some(request) = left {
                request.answer.give(Err(e.clone()));
            }
        });
        match lock(&self.line).waiting.iter_mut().find(|r| r.id == id) {
            Some(request) => request.cancel = Some((cancel.clone(), token)),
            // Its turn has come, or it has left.
            None => cancel.forget(token),
        }
    }
}

/// Answers those in the line, one after another, until nobody waits.
async fn serve(pass: Arc<Pass>, mut iterator: Box<dyn Iter>) {
    loop {
        let request = {
            let mut line = lock(&pass.line);
            match line.waiting.pop_front() {
                Some(request) => request,
                None => {
                    line.iterator = Some(iterator);
                    return;
                }
            }
        };
        if let Some((cancel, token)) = &request.cancel {
            cancel.forget(*token);
        }
        let element = or_stopped(iterator.next(&request.context), &request.context).await;
        // The iterator is back in its place before the answer: who gets it may ask for the next at once.
        let mut line = lock(&pass.line);
        if line.waiting.is_empty() {
            line.iterator = Some(iterator);
            drop(line);
            return request.answer.give(element);
        }
        drop(line);
        request.answer.give(element);
    }
}

impl Resource for Iterator {
    fn kind(&self) -> &'static str {
        "Iterator"
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    /// Ends the pass, with what runs ahead and who waits.
    fn discard(&self) {
        let pass = lock(&self.pass).take();
        if let Some(pass) = pass {
            pass.end.cancel(cancelled("the iterator was deleted"));
            let idle = lock(&pass.line).iterator.take();
            drop(idle);
        }
    }
}
