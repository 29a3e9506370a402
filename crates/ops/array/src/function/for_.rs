//! `For`: a loop body called with the loop counter and its own results.

use crate::prelude::*;

pub static FOR: Op = Op {
    name: "For",
    doc: "Calls `body` on each number from `start` to before `limit` in steps of `delta`, and on its own results.",
    inputs: &["start: int32", "limit: int32", "delta: int32", "input: T"],
    outputs: &["output: T"],
    attrs: &["T: list(type) >= 0", "body: func"],
    kernels: cpu!(async prepare),
    // As in TensorFlow it is not stateful; but its body may be, so that it must not be merged with another.
    stateful: true,
    ..Op::PURE
};

struct ForKernel(Arc<Func>);

fn prepare(node: &KernelNode) -> Result<Arc<dyn AsyncKernel>> {
    Ok(Arc::new(ForKernel(Arc::new(node.attrs.func("body")?.clone()))))
}

impl AsyncKernel for ForKernel {
    fn start(&self, call: AsyncCall, done: Done) {
        match (Counter::of(&call), call.tensors(3)) {
            (Ok(counter), Ok(state)) => iterate(self.0.clone(), counter, state, call, done),
            (Err(e), _) | (_, Err(e)) => done(Err(e)),
        }
    }
}

/// The next number of the loop; 64 bits, so that the step after the last does not overflow.
#[derive(Clone, Copy)]
struct Counter {
    next: i64,
    limit: i64,
    delta: i64,
}

impl Counter {
    fn of(call: &AsyncCall) -> Result<Counter> {
        let number = |i: usize| -> Result<i64> {
            let t = call.tensor(i)?;
            if !t.shape().is_scalar() {
                return Err(invalid!("start, limit and delta must be scalars, got shape {}", t.shape()));
            }
            Ok(t.to_scalar::<i32>()?.into())
        };
        let (start, limit, delta) = (number(0)?, number(1)?, number(2)?);
        let ends = (delta > 0 && start <= limit) || (delta < 0 && start >= limit) || start == limit;
        match ends {
            true => Ok(Counter { next: start, limit, delta }),
            false => Err(invalid!("Invalid start/limit/delta: {start} {limit} {delta}")),
        }
    }

    fn take(&mut self) -> Option<i32> {
        let more = if self.delta > 0 { self.next < self.limit } else { self.next > self.limit };
        let now = i32::try_from(self.next).ok().filter(|_| more)?;
        self.next += self.delta;
        Some(now)
    }
}

/// One iteration. The next starts as a task of the pool, so that the stack does not grow with their number.
fn iterate(body: Arc<Func>, mut counter: Counter, state: Vec<Tensor>, call: AsyncCall, done: Done) {
    if let Some(e) = call.step.cancel.reason() {
        return done(Err(e));
    }
    let Some(i) = counter.take() else { return done(Ok(outputs(state))) };
    let args = match reserve::collect([Tensor::scalar(i)].into_iter().chain(state.iter().cloned())) {
        Ok(args) => args,
        Err(e) => return done(Err(e)),
    };
    let (step, next) = (call.step.clone(), body.clone());
    step.call(
        &body,
        args,
        Box::new(move |r| match r.and_then(|r| same_types(&state, r)) {
            Err(e) => done(Err(e)),
            Ok(state) => {
                let pool = call.step.device.pool.clone();
                pool.spawn(Box::new(move || iterate(next, counter, state, call, done)));
            }
        }),
    );
}

fn same_types(before: &[Tensor], results: Vec<Tensor>) -> Result<Vec<Tensor>> {
    if results.len() != before.len() {
        return Err(invalid!(
            "For loop body returned {} arguments, expected {}",
            results.len(),
            before.len()
        ));
    }
    let mut pairs = before.iter().zip(&results).enumerate();
    match pairs.find(|(_, (a, b))| a.dtype() != b.dtype()) {
        Some((i, (a, b))) => {
            Err(invalid!("For loop body returned {} as result {i}, expected {}", b.dtype(), a.dtype()))
        }
        None => Ok(results),
    }
}
