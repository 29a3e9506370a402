//! One run of a general plan: which thread runs which kernel, and when the run ends.

use super::baton::Baton;
use super::cost::{self, CHECK_EVERY};
use super::dead_fetch;
use super::inline_resume::{MAX_INLINE, resume_inline};
use super::state::{Ready, State};
use super::straight::{over_budget_at, read_references};
use super::traced::{Traced, of_inputs, of_outputs, tensors};
use super::yielding::{SLICE, keeping, must_yield, yielding};
use super::{OnFinish, RunInput};
use crate::plan::{General, GeneralNode, LOOP_WEIGHT, Source};
use crate::sync::{Condvar, Mutex, lock};
use smallvec::SmallVec;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;
use thalweg_core::error::{Error, Result, deadline_exceeded, internal};
use thalweg_core::kernel::{AsyncCall, Input, Inputs, OpCall, Outputs, Value, caught};
use thalweg_core::runnable::Runnable;
use thalweg_core::tensor::Tensor;

pub struct GeneralRun {
    plan: Arc<General>,
    input: RunInput,
    baton: Baton<State, Completion>,
    finish: Mutex<Option<OnFinish>>,
    /// The caller, if it waits: async kernels wake it instead of a pool thread.
    caller: Option<Caller>,
}

#[derive(Default)]
struct Caller {
    woken: Mutex<bool>,
    wake: Condvar,
}

/// The result of a kernel that ran on another thread, or asynchronously.
struct Completion {
    ready: Ready,
    result: Result<Outputs>,
}

/// Ready nodes examined for work that could run in parallel.
const LOOK_AHEAD: usize = 16;

impl GeneralRun {
    /// Runs on the calling thread, which waits for the end.
    pub fn wait(plan: Arc<General>, input: RunInput) -> Result<Vec<Tensor>> {
        let result = Arc::new(Mutex::new(None));
        let deadline = input.step.deadline;
        let place = result.clone();
        let finish: OnFinish = Box::new(move |r| *lock(&place) = Some(r));
        let run = GeneralRun::new(plan, input, finish, Some(Caller::default()));
        loop {
            keeping(|| run.drive());
            if let Some(r) = lock(&result).take() {
                return r;
            }
            if let Some(caller) = &run.caller
                && !caller.wait(deadline)
            {
                let e = deadline_exceeded("the step did not end within its time limit");
                run.input.step.cancel.cancel(e.clone());
                return Err(e);
            }
        }
    }

    /// Starts on the calling thread and returns; `finish` is called at the end, from any thread.
    pub fn start(plan: Arc<General>, input: RunInput, finish: OnFinish) {
        GeneralRun::new(plan, input, finish, None).drive();
    }

    fn new(plan: Arc<General>, input: RunInput, finish: OnFinish, caller: Option<Caller>) -> Arc<Self> {
        let mut state = State::new(&plan);
        state.ready.extend(plan.roots.iter().rev().map(|n| Ready {
            node: *n,
            frame: 0,
            iteration: 0,
            dead: false,
        }));
        if let Some(i) = state.frame(0).and_then(|f| f.iteration(0)) {
            i.active = plan.roots.len() as u32;
        }
        Arc::new(GeneralRun {
            plan,
            input,
            baton: Baton::new(state),
            finish: Mutex::new(Some(finish)),
            caller,
        })
    }

    /// Takes the baton if it is free, and works until it has to wait, or until its time slice is over: then the pool resumes it.
    fn drive(self: &Arc<Self>) {
        let _charged = self.input.step.device.memory.enter();
        let until = if must_yield() { Instant::now().checked_add(SLICE) } else { None };
        let mut unfinished = false;
        self.baton.drive(|state, completions| {
            for c in completions {
                state.in_flight -= 1;
                self.completed(state, c);
            }
            self.run_ready(state, until);
            unfinished = !state.ready.is_empty();
            if state.in_flight == 0 && state.ready.is_empty() && !state.reported {
                state.reported = true;
                let result = self.results(state);
                let finish = lock(&self.finish).take();
                if let Some(finish) = finish {
                    finish(result);
                }
                self.wake_caller();
            }
        });
        if unfinished {
            let run = self.clone();
            self.input.step.device.pool.spawn(Box::new(move || yielding(|| run.drive_timed())));
        }
    }

    fn completed(&self, state: &mut State, c: Completion) {
        match c.result {
            Ok(mut outputs) => state.complete(&self.plan, c.ready, &mut outputs),
            Err(e) => self.fail(state, e),
        }
    }

    fn run_ready(self: &Arc<Self>, state: &mut State, until: Option<Instant>) {
        let mut countdown = 0;
        let mut outputs = Outputs::new();
        while let Some(ready) = self.next_ready(state) {
            if state.error.is_set() {
                state.ready.clear();
                return;
            }
            let step = &self.input.step;
            if countdown <= 0 || step.cancel.is_cancelled() {
                countdown = CHECK_EVERY;
                if let Err(e) = step.check() {
                    return self.fail(state, self.over_budget(ready, e));
                }
                if until.is_some_and(|until| Instant::now() >= until) {
                    state.ready.push(ready);
                    return;
                }
            }
            outputs.clear();
            match self.run_one(state, ready, &mut outputs) {
                Ok(true) => match self.cost(ready, &outputs) {
                    Ok(cost) => {
                        countdown -= cost;
                        state.complete(&self.plan, ready, &mut outputs);
                    }
                    Err(e) => self.fail(state, e),
                },
                Ok(false) => state.in_flight += 1,
                Err(e) => self.fail(state, e),
            }
        }
    }

    /// The cost of a node that has run.
    fn cost(&self, ready: Ready, outputs: &Outputs) -> Result<isize> {
        let node = &self.plan.nodes[ready.node as usize];
        // A forwarded value was charged before.
        if node.forward.is_some() {
            return Ok(1);
        }
        let costs = outputs.iter().map(|o| cost::of_output(o, &self.input.step));
        costs.sum::<Result<isize>>().map(|sum| sum + 1).map_err(|e| blame(node, e))
    }

    fn over_budget(&self, ready: Ready, e: Error) -> Error {
        match &self.plan.nodes[ready.node as usize].compute {
            Some(compute) => over_budget_at(&compute.node, e),
            None => e,
        }
    }

    /// Runs a ready node. False: it runs asynchronously.
    fn run_one(self: &Arc<Self>, state: &mut State, ready: Ready, outputs: &mut Outputs) -> Result<bool> {
        let node = &self.plan.nodes[ready.node as usize];
        if ready.dead && !node.transfers {
            return Ok(true);
        }
        if let Some(forward) = node.forward.filter(|_| node.forwards_refs || self.input.step.trace.is_none())
        {
            let forwarded = state.forward(&self.plan, forward, ready, |s| self.fixed(s), outputs);
            return forwarded.map(|()| true).map_err(|e| blame(node, e));
        }
        let Some(compute) = &node.compute else {
            *outputs = self.fixed_output(node)?;
            return Ok(true);
        };
        let step = &self.input.step;
        let elsewhere = node.expensive
            && !step.serial
            && step.device.pool_threads() > 1
            && self.better_beside_others(state, node);
        let frame_iter = self.frame_iter(state, ready);
        match &compute.run {
            Runnable::Async(kernel) => {
                let inputs = self.take_values(state, node, ready)?;
                let step = self.input.step.clone();
                let call =
                    AsyncCall { inputs, node: compute.node.clone(), step, frame_iter, is_dead: ready.dead };
                let run = self.clone();
                let traced = Traced::start(&self.input.step, tensors(&call.inputs));
                kernel.start(call, Box::new(move |result| run.kernel_done(ready, result, traced)));
                Ok(false)
            }
            _ if elsewhere => {
                let values = self.take_values(state, node, ready)?;
                let run = self.clone();
                self.input.step.device.pool.spawn(Box::new(move || {
                    let node = &run.plan.nodes[ready.node as usize];
                    let inputs = values.into_iter().map(as_input).collect();
                    let _charged = run.input.step.device.memory.enter();
                    let result = run.compute(node, inputs, frame_iter, ready);
                    run.baton.post(Completion { ready, result });
                    yielding(|| run.drive());
                }));
                Ok(false)
            }
            _ => {
                let inputs = self.take_inputs(state, node, ready)?;
                *outputs = self.compute(node, inputs, frame_iter, ready)?;
                Ok(true)
            }
        }
    }

    /// Whether other expensive nodes are ready. A single one is better run on this thread, which would only wait for it, with all
    /// of the pool for its loops. So is one on the critical path of a loop if the others are not: they can run beside the loop.
    fn better_beside_others(&self, state: &State, node: &GeneralNode) -> bool {
        let next = state.ready.iter().rev().take(LOOK_AHEAD).filter(|r| !r.dead);
        let others = next.map(|r| &self.plan.nodes[r.node as usize]).filter(|n| n.expensive);
        others.map(|n| n.urgency).max().is_some_and(|other| node.urgency < other.saturating_add(LOOP_WEIGHT))
    }

    /// The next node to run: of the expensive ones, the most urgent.
    fn next_ready(&self, state: &mut State) -> Option<Ready> {
        let ready = state.ready.pop()?;
        let node = &self.plan.nodes[ready.node as usize];
        if !node.expensive || self.input.step.serial {
            return Some(ready);
        }
        let next = state.ready.iter_mut().rev().take(LOOK_AHEAD);
        let urgency = |r: &Ready| {
            let n = &self.plan.nodes[r.node as usize];
            if n.expensive && !r.dead { n.urgency } else { 0 }
        };
        let most = next.max_by_key(|r| urgency(r));
        match most {
            Some(other) if urgency(other) > node.urgency => Some(std::mem::replace(other, ready)),
            _ => Some(ready),
        }
    }

    fn frame_iter(&self, state: &mut State, ready: Ready) -> (u64, u64) {
        if ready.frame == 0 {
            return (0, 0);
        }
        (state.frame(ready.frame).map_or(0, |f| f.id), ready.iteration)
    }

    fn fixed_output(&self, node: &GeneralNode) -> Result<Outputs> {
        let source = node.fixed.ok_or_else(|| internal("a node without a kernel"))?;
        Ok(smallvec::smallvec![Some(Value::Tensor(self.fixed(source)?.clone()))])
    }

    fn fixed(&self, source: Source) -> Result<&Tensor> {
        match source {
            Source::Constant(c) => self.plan.constants.get(c as usize),
            Source::Feed(f) => self.input.feeds.get(f as usize),
            Source::Entry(_) => None,
        }
        .ok_or_else(|| internal("a value is missing"))
    }

    fn take_entry(&self, state: &mut State, entry: u32, ready: Ready) -> Result<Value> {
        let missing = || internal("an input is missing");
        let iteration =
            state.frame(ready.frame).and_then(|f| f.iteration(ready.iteration)).ok_or_else(missing)?;
        match iteration.entries.get_mut(entry as usize).and_then(Option::take) {
            Some(v) => Ok(v),
            // A dead Send or Recv still runs, so that its peer is notified.
            None if ready.dead => Ok(Value::Tensor(Tensor::scalar(0f32))),
            None => Err(missing()),
        }
    }

    /// The inputs of a call that may outlive this function, owned.
    fn take_values(
        &self,
        state: &mut State,
        node: &GeneralNode,
        ready: Ready,
    ) -> Result<SmallVec<[Value; 3]>> {
        let value = |source: &Source| match *source {
            Source::Entry(e) => self.take_entry(state, e, ready),
            fixed => Ok(Value::Tensor(self.fixed(fixed)?.clone())),
        };
        node.inputs.iter().map(value).collect()
    }

    /// The inputs of a call made on this thread: constants and feeds are borrowed.
    fn take_inputs(&self, state: &mut State, node: &GeneralNode, ready: Ready) -> Result<Inputs<'_>> {
        let mut inputs = Inputs::with_capacity(node.inputs.len());
        for source in &node.inputs {
            inputs.push(match *source {
                Source::Entry(e) => as_input(self.take_entry(state, e, ready)?),
                fixed => Input::Borrowed(self.fixed(fixed)?),
            });
        }
        Ok(inputs)
    }

    fn compute<'a>(
        &'a self,
        node: &'a GeneralNode,
        inputs: Inputs<'a>,
        frame_iter: (u64, u64),
        ready: Ready,
    ) -> Result<Outputs> {
        let Some(compute) = &node.compute else { return Err(internal("a node without a kernel")) };
        let mut call = OpCall::new(&compute.node, &self.input.step, inputs);
        call.frame_iter = frame_iter;
        call.is_dead = ready.dead;
        read_references(&mut call)?;
        let traced = Traced::start(&self.input.step, of_inputs(&call.inputs));
        let result = catch_unwind(AssertUnwindSafe(|| match &compute.run {
            Runnable::Plain(run) => run(&mut call),
            Runnable::Prepared(kernel) => kernel.compute(&mut call),
            Runnable::Async(_) => Err(internal("a kernel that waits was run in place")),
        }));
        if let Some(traced) = traced {
            traced.end(&compute.node, of_outputs(&call.outputs));
        }
        match result {
            Ok(Ok(())) => Ok(call.outputs),
            Ok(Err(e)) => Err(call.blame(e)),
            Err(panic) => Err(call.blame(caught(&*panic))),
        }
    }

    /// An async kernel has completed.
    fn kernel_done(self: &Arc<Self>, ready: Ready, result: Result<Outputs>, traced: Option<Traced>) {
        let node = &self.plan.nodes[ready.node as usize];
        if let (Some(traced), Some(compute)) = (traced, &node.compute) {
            let outputs = result.as_ref().ok().into_iter().flat_map(of_outputs);
            traced.end(&compute.node, outputs);
        }
        let result = result.and_then(|outputs| self.charge(outputs)).map_err(|e| blame(node, e));
        self.baton.post(Completion { ready, result });
        match &self.caller {
            Some(_) => self.wake_caller(),
            None => self.resume(),
        }
    }

    /// Values from other tasks or queues were not charged to this session.
    fn charge(&self, outputs: Outputs) -> Result<Outputs> {
        for value in outputs.iter().flatten() {
            if let Value::Tensor(t) = value {
                t.charge_to(&self.input.step.device.memory)?;
            }
        }
        Ok(outputs)
    }

    /// Resumes the run, on this thread or on the pool.
    fn resume(self: &Arc<Self>) {
        let here =
            self.plan.resume_duration.within(MAX_INLINE) && resume_inline(|| yielding(|| self.drive_timed()));
        if !here {
            let run = self.clone();
            self.input.step.device.pool.spawn(Box::new(move || yielding(|| run.drive_timed())));
        }
    }

    fn drive_timed(self: &Arc<Self>) {
        let began = Instant::now();
        self.drive();
        self.plan.resume_duration.note_longest(began.elapsed());
    }

    fn wake_caller(&self) {
        if let Some(caller) = &self.caller {
            *lock(&caller.woken) = true;
            caller.wake.notify_one();
        }
    }

    /// Ends the step: waiting kernels are cancelled, ready nodes do not run.
    fn fail(&self, state: &mut State, e: Error) {
        state.ready.clear();
        if state.error.note(e.clone()) {
            self.input.step.rendezvous.abort(e.clone());
            self.input.step.cancel.cancel(e.derived());
        }
    }

    fn results(&self, state: &mut State) -> Result<Vec<Tensor>> {
        if let Some(e) = state.error.take() {
            return Err(e);
        }
        for (i, source) in &self.plan.ready_fetches {
            state.fetched[*i] = Some(Value::Tensor(self.fixed(*source)?.clone()));
        }
        state
            .fetched
            .iter_mut()
            .enumerate()
            .map(|(i, v)| v.take().ok_or_else(|| dead_fetch::error(i))?.into_tensor())
            .collect()
    }
}

impl Caller {
    /// Waits to be woken; false at the deadline.
    fn wait(&self, deadline: Option<Instant>) -> bool {
        let mut woken = lock(&self.woken);
        while !*woken {
            woken = match deadline {
                None => self.wake.wait(woken).unwrap_or_else(std::sync::PoisonError::into_inner),
                Some(d) => {
                    let Some(left) = d.checked_duration_since(Instant::now()).filter(|l| !l.is_zero()) else {
                        return false;
                    };
                    self.wake.wait_timeout(woken, left).unwrap_or_else(std::sync::PoisonError::into_inner).0
                }
            };
        }
        *woken = false;
        true
    }
}

fn as_input<'a>(v: Value) -> Input<'a> {
    match v {
        Value::Tensor(t) => Input::Owned(t),
        Value::Ref(r) => Input::Ref(r),
    }
}

fn blame(node: &GeneralNode, e: Error) -> Error {
    match &node.compute {
        Some(c) => e.at_node(&c.node.name, c.node.op).at(c.node.location),
        None => e,
    }
}

/// Threads of a device's pool.
trait PoolThreads {
    fn pool_threads(&self) -> usize;
}

impl PoolThreads for thalweg_core::step::DeviceContext {
    fn pool_threads(&self) -> usize {
        use thalweg_math::parallel::Parallel;
        self.pool.threads()
    }
}
