//! Running a loop program: one iteration after the other on one thread.

use super::straight::run_nodes;
use super::yielding::{SLICE, must_yield, yielding};
use crate::plan::{LoopKernels, LoopProgram, Operand};
use smallvec::SmallVec;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;
use thalweg_core::error::{Result, internal};
use thalweg_core::invalid;
use thalweg_core::kernel::{AsyncCall, AsyncKernel, Done, Input, Kernel, OpCall, Outputs, Value, caught};
use thalweg_core::reserve;
use thalweg_core::runnable::Runnable;
use thalweg_core::step::StepContext;

/// Nodes run between two checks of the deadline and the cancellation.
const CHECK_EVERY: usize = 64;

/// How plans make the kernels of their loops.
pub const LOOP_KERNELS: LoopKernels = LoopKernels {
    whole: |program| Runnable::Prepared(Arc::new(LoopKernel(program))),
    sliced: |program, stateful| Runnable::Async(Arc::new(SlicedLoop { program, stateful })),
};

/// A pure loop runs to its end at once.
struct LoopKernel(Arc<LoopProgram>);

impl Kernel for LoopKernel {
    fn compute(&self, c: &mut OpCall<'_>) -> Result<()> {
        let mut slots = reserve::with_capacity(self.0.slots)?;
        for input in c.inputs.drain(..) {
            slots.push(Some(Value::Tensor(match input {
                Input::Owned(t) => t,
                Input::Borrowed(t) => t.clone(),
                Input::Ref(v) => v.read()?,
            })));
        }
        let mut run = LoopRun::new(self.0.clone(), slots, c.step.clone());
        run.run(None)?;
        c.outputs = run.results()?;
        Ok(())
    }
}

/// A loop that yields its thread after each time slice.
struct SlicedLoop {
    program: Arc<LoopProgram>,
    /// A stateful loop may wait for other nodes of the step, so it always yields. Others keep a thread whose owner waits.
    stateful: bool,
}

impl AsyncKernel for SlicedLoop {
    fn start(&self, call: AsyncCall, done: Done) {
        let read = |v: Value| v.into_tensor().map(|t| Some(Value::Tensor(t)));
        match call.inputs.into_iter().map(read).collect::<Result<Vec<_>>>() {
            Ok(slots) => {
                let keeps = !self.stateful && !must_yield();
                slice(LoopRun::new(self.program.clone(), slots, call.step), keeps, done)
            }
            Err(e) => done(Err(e)),
        }
    }
}

fn slice(mut run: LoopRun, keeps: bool, done: Done) {
    let _charged = run.step.device.memory.enter();
    let until = Instant::now().checked_add(SLICE).filter(|_| !keeps);
    let ran = catch_unwind(AssertUnwindSafe(|| run.run(until)));
    match ran.unwrap_or_else(|panic| Err(caught(&*panic))) {
        Ok(true) => done(run.results()),
        Ok(false) => {
            let pool = run.step.device.pool.clone();
            pool.spawn(Box::new(move || yielding(|| slice(run, false, done))));
        }
        Err(e) => done(Err(e)),
    }
}

struct LoopRun {
    program: Arc<LoopProgram>,
    slots: Vec<Option<Value>>,
    step: Arc<StepContext>,
    /// Nodes to run before the next check.
    left: usize,
}

impl LoopRun {
    fn new(program: Arc<LoopProgram>, mut slots: Vec<Option<Value>>, step: Arc<StepContext>) -> Self {
        slots.resize_with(program.slots, || None);
        LoopRun { program, slots, step, left: 0 }
    }

    /// Runs until the condition is false, or until the time slice ends. Returns whether the loop has ended.
    fn run(&mut self, until: Option<Instant>) -> Result<bool> {
        let program = self.program.clone();
        let work = program.always.len() + program.body.len() + 1;
        loop {
            if self.left < work {
                self.left = CHECK_EVERY + work;
                self.step.check()?;
                if until.is_some_and(|t| Instant::now() >= t) {
                    return Ok(false);
                }
            }
            self.left -= work;
            run_nodes(&program.always, &program.constants, &mut self.slots, &self.step)?;
            if !self.condition()? {
                return Ok(true);
            }
            run_nodes(&program.body, &program.constants, &mut self.slots, &self.step)?;
            self.next_iteration()?;
        }
    }

    fn condition(&mut self) -> Result<bool> {
        match read(&self.program.constants, &mut self.slots, self.program.condition)? {
            Value::Tensor(t) if t.shape().is_scalar() => t.to_scalar::<bool>(),
            Value::Tensor(t) => {
                Err(invalid!("the condition of a loop must be a scalar, got shape {}", t.shape()))
            }
            Value::Ref(_) => Err(internal("the condition of a loop is a reference")),
        }
    }

    /// All values for the next iteration are read before the first is written: loop variables may be swapped.
    fn next_iteration(&mut self) -> Result<()> {
        let program = &self.program;
        let mut values: SmallVec<[Value; 4]> = SmallVec::new();
        for (from, _) in &program.moves {
            values.push(read(&program.constants, &mut self.slots, *from)?);
        }
        for ((_, to), value) in program.moves.iter().zip(values) {
            if let Some(slot) = self.slots.get_mut(*to as usize) {
                *slot = Some(value);
            }
        }
        Ok(())
    }

    fn results(mut self) -> Result<Outputs> {
        let program = self.program.clone();
        let read = |exit: &Operand| read(&program.constants, &mut self.slots, *exit).map(Some);
        program.exits.iter().map(read).collect()
    }
}

fn read(constants: &[Value], slots: &mut [Option<Value>], from: Operand) -> Result<Value> {
    match from {
        Operand::Constant(c) => constants.get(c as usize).cloned(),
        Operand::Keep(s) => slots.get(s as usize).cloned().flatten(),
        Operand::Take(s) => slots.get_mut(s as usize).and_then(Option::take),
    }
    .ok_or_else(|| internal("a value of a loop is missing"))
}
