//! `Iterator`: the resource that steps read elements from.

use super::checkpoint::Checkpoint;
use super::context::{Context, or_stopped};
use super::sequence::{DatasetRef, Element, Iter, Tuple};
use super::task::Task;
use crate::prelude::*;
use std::any::Any;
use std::collections::VecDeque;
use std::sync::Mutex;
use thalweg_core::cancel::Cancellation;
use thalweg_core::resource::Resource;
use thalweg_core::step::StepContext;
use thalweg_core::sync::lock;

/// An iteration over a dataset of these types and shapes, started by `MakeIterator`.
pub struct Iterator {
    pub types: Vec<DataType>,
    pub shapes: Vec<PartialShape>,
    /// Whether it outlives its session, as a resource with a shared name on a server does.
    lasting: bool,
    pass: Mutex<Option<Arc<Pass>>>,
}

/// One iteration over a dataset, and the pending requests for its elements.
struct Pass {
    dataset: DatasetRef,
    context: Context,
    state: Mutex<PassState>,
    /// Cancels the iteration.
    end: Arc<Cancellation>,
}

struct PassState {
    /// `None` while an element is being produced, or the position saved.
    iterator: Option<Box<dyn Iter>>,
    waiting: VecDeque<Request>,
    next_id: u64,
}

struct Request {
    id: u64,
    context: Context,
    wish: Wish,
    /// Removes the request when its step is cancelled.
    cancel: Option<(Arc<Cancellation>, u64)>,
}

/// What a request asks for.
enum Wish {
    Element(Answer<Option<Tuple>>),
    /// Its position, as a variant.
    State(Answer<Variant>),
}

impl Wish {
    fn refuse(self, e: Error) {
        match self {
            Wish::Element(answer) => answer.give(Err(e)),
            Wish::State(answer) => answer.give(Err(e)),
        }
    }
}

type OnResult<T> = Box<dyn FnOnce(Result<T>) + Send>;

/// Completes once, at the latest when it is dropped.
struct Answer<T>(Option<OnResult<T>>);

impl<T> Answer<T> {
    fn give(mut self, result: Result<T>) {
        if let Some(answer) = self.0.take() {
            answer(result);
        }
    }
}

impl<T> Drop for Answer<T> {
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

    /// Sets whether it may outlive its session.
    pub fn lasting(self, lasting: bool) -> Iterator {
        Iterator { lasting, ..self }
    }

    /// Starts an iteration over a dataset. Pending requests are still served by the earlier one.
    pub fn begin(&self, dataset: &DatasetRef, step: &StepContext) -> Result<()> {
        same_elements(&dataset.types, &dataset.shapes, &self.types, &self.shapes)?;
        let (pass, iterator) = self.pass_over(dataset, step)?;
        self.install(pass, iterator);
        Ok(())
    }

    /// A new iteration, and its iterator, which becomes part of it when it is installed.
    fn pass_over(&self, dataset: &DatasetRef, step: &StepContext) -> Result<(Pass, Box<dyn Iter>)> {
        let end = Arc::new(Cancellation::default());
        let context = if self.lasting { Context::lasting(step) } else { Context::of(step) }.until(&end);
        let iterator = dataset.iterator(&context)?;
        let state = Mutex::new(PassState { iterator: None, waiting: VecDeque::new(), next_id: 0 });
        Ok((Pass { dataset: dataset.clone(), context, state, end }, iterator))
    }

    fn install(&self, pass: Pass, iterator: Box<dyn Iter>) {
        lock(&pass.state).iterator = Some(iterator);
        let old = lock(&self.pass).replace(Arc::new(pass));
        drop(old);
    }

    /// Requests the next element. `done` may be called at once.
    pub fn next(&self, step: &StepContext, answer: OnResult<Option<Tuple>>) {
        self.ask(step, Wish::Element(Answer(Some(answer))), "GetNext", "getting the next element");
    }

    /// Requests the position, after the elements that were requested before.
    pub fn save(&self, step: &StepContext, answer: OnResult<Variant>) {
        self.ask(step, Wish::State(Answer(Some(answer))), "Save", "saving it");
    }

    fn ask(&self, step: &StepContext, wish: Wish, call: &str, purpose: &str) {
        let pass = lock(&self.pass).clone();
        match pass {
            Some(pass) => pass.join(step, wish),
            None => wish.refuse(uninitialized(call, purpose)),
        }
    }

    /// Starts another iteration over the same dataset, at a saved position. Until it is ready, elements come from the earlier one.
    pub fn restore(self: Arc<Self>, mut s: Checkpoint, step: &Arc<StepContext>, answer: OnResult<()>) {
        let answer = Answer(Some(answer));
        let Some(old) = lock(&self.pass).clone() else {
            return answer.give(Err(uninitialized("Restore", "restoring it")));
        };
        let (pass, mut iterator) = match self.pass_over(&old.dataset, step) {
            Ok(new) => new,
            Err(e) => return answer.give(Err(e)),
        };
        let c = pass.context.within(step);
        Task::start(&step.device, async move {
            let restored = or_stopped(iterator.checkpoint(&mut s, &c), &c).await;
            if restored.is_ok() {
                self.install(pass, iterator);
            }
            answer.give(restored);
        });
    }
}

fn uninitialized(call: &str, purpose: &str) -> Error {
    failed_precondition(format_args!(
        "{call}() failed because the iterator has not been initialized. Ensure that you have run the \
         initializer operation for this iterator before {purpose}."
    ))
}

/// Whether the elements of a dataset match the declared types and shapes.
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
    fn join(self: &Arc<Self>, step: &StepContext, wish: Wish) {
        let context = self.context.within(step);
        let (id, iterator) = {
            let mut state = lock(&self.state);
            let id = state.next_id;
            state.next_id += 1;
            if let Err(e) = reserve::room(&mut state.waiting, 1) {
                drop(state);
                return wish.refuse(e);
            }
            state.waiting.push_back(Request { id, context, wish, cancel: None });
            (id, state.iterator.take())
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
                let waiting = &mut lock(&pass.state).waiting;
                let at = waiting.iter().position(|r| r.id == id);
                at.and_then(|at| waiting.remove(at))
            };
            if let Some(request) = left {
                request.wish.refuse(e.clone());
            }
        });
        match lock(&self.state).waiting.iter_mut().find(|r| r.id == id) {
            Some(request) => request.cancel = Some((cancel.clone(), token)),
            // Already served, or cancelled.
            None => cancel.forget(token),
        }
    }
}

/// Serves the pending requests in order, until there are none.
async fn serve(pass: Arc<Pass>, mut iterator: Box<dyn Iter>) {
    loop {
        let request = {
            let mut state = lock(&pass.state);
            match state.waiting.pop_front() {
                Some(request) => request,
                None => {
                    state.iterator = Some(iterator);
                    return;
                }
            }
        };
        if let Some((cancel, token)) = &request.cancel {
            cancel.forget(*token);
        }
        let c = &request.context;
        let given = match request.wish {
            Wish::Element(answer) => Given::Element(answer, or_stopped(iterator.next(c), c).await),
            Wish::State(answer) => Given::State(answer, saved(&mut iterator, c).await),
        };
        // The iterator is put back before the request completes: its callback may request the next element at once.
        let mut state = lock(&pass.state);
        if state.waiting.is_empty() {
            state.iterator = Some(iterator);
            drop(state);
            return given.give();
        }
        drop(state);
        given.give();
    }
}

/// The result of a request.
enum Given {
    Element(Answer<Option<Tuple>>, Element),
    State(Answer<Variant>, Result<Variant>),
}

impl Given {
    fn give(self) {
        match self {
            Given::Element(answer, element) => answer.give(element),
            Given::State(answer, state) => answer.give(state),
        }
    }
}

async fn saved(iterator: &mut Box<dyn Iter>, c: &Context) -> Result<Variant> {
    let mut s = Checkpoint::to_save();
    or_stopped(iterator.checkpoint(&mut s, c), c).await?;
    s.into_variant()
}

impl Resource for Iterator {
    fn kind(&self) -> &'static str {
        "Iterator"
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    /// Cancels the iteration, with prefetching and pending requests.
    fn discard(&self) {
        let pass = lock(&self.pass).take();
        if let Some(pass) = pass {
            pass.end.cancel(cancelled("the iterator was deleted"));
            let idle = lock(&pass.state).iterator.take();
            drop(idle);
        }
    }
}
