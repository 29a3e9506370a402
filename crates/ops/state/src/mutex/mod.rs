//! `MutexV2`, `MutexLock`, `ConsumeMutexLock`: critical sections. A lock is a value, and is released with the last use of it.

use crate::named::{OwnedResource, resource_of};
use crate::prelude::*;
use crate::waiting::Waiting;
use std::any::Any;
use thalweg_core::resource::Resource;
use thalweg_core::tensor::VariantValue;
use thalweg_math::pool::Pool;

pub static OPS: &[&Op] = &[&MUTEX_V2, &MUTEX_LOCK, &CONSUME_MUTEX_LOCK];

static MUTEX_V2: Op = Op {
    name: "MutexV2",
    doc: "A handle to a mutex.",
    outputs: &["resource: resource"],
    attrs: &["container: string = ''", "shared_name: string = ''"],
    shape: shape_call::scalar,
    kernels: cpu!(make mutex),
    ..Op::STATEFUL
};

static MUTEX_LOCK: Op = Op {
    name: "MutexLock",
    doc: "Locks a mutex, when the locks before it are released; its own is released with the last use of the output.",
    inputs: &["mutex: resource"],
    outputs: &["mutex_lock: variant"],
    shape: shape_call::scalar,
    kernels: cpu!(async lock_kernel),
    ..Op::STATEFUL
};

static CONSUME_MUTEX_LOCK: Op = Op {
    name: "ConsumeMutexLock",
    doc: "Uses a lock, which therefore lasts until this runs.",
    inputs: &["mutex_lock: variant"],
    shape: |_| Ok(vec![]),
    kernels: cpu!(consume),
    ..Op::STATEFUL
};

/// Whether it is locked.
struct Mutex(Arc<Waiting<bool>>);

impl Resource for Mutex {
    fn kind(&self) -> &'static str {
        "Mutex"
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn discard(&self) {
        self.0.fail_all("a mutex");
    }
}

fn mutex(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let owned = OwnedResource::new(node)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let mutex = owned.get(c, |_| Ok(Mutex(Arc::new(Waiting::new(false)))))?;
        owned.output_handle(c, mutex);
        Ok(())
    }))
}

struct Lock;

fn lock_kernel(_: &KernelNode) -> Result<Arc<dyn AsyncKernel>> {
    Ok(Arc::new(Lock))
}

impl AsyncKernel for Lock {
    fn start(&self, call: AsyncCall, done: Done) {
        let mutex = match call.tensor(0).and_then(|handle| resource_of::<Mutex>(&handle, &call.step)) {
            Ok(mutex) => mutex,
            Err(e) => return done(Err(e)),
        };
        let (waiting, pool) = (mutex.0.clone(), call.step.device.pool.clone());
        let attempt = move |locked: &mut bool| {
            if *locked {
                return None;
            }
            *locked = true;
            let held = Held { waiting: waiting.clone(), pool: pool.clone() };
            Some(Ok(outputs([Tensor::from_object(Variant::new(held))])))
        };
        mutex.0.submit(&call.step.cancel, "MutexLock", Box::new(attempt), done);
    }
}

/// A lock that is held.
struct Held {
    waiting: Arc<Waiting<bool>>,
    pool: Arc<Pool>,
}

impl VariantValue for Held {
    fn type_name(&self) -> &'static str {
        "(anonymous namespace)::Mutex::SharedLockReleaser"
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The next step that waits goes on as a task of the pool, not in whatever drops the lock.
impl Drop for Held {
    fn drop(&mut self) {
        let waiting = self.waiting.clone();
        self.pool.spawn(Box::new(move || waiting.change(|locked| *locked = false)));
    }
}

fn consume(c: &mut OpCall<'_>) -> Result<()> {
    match c.input(0)?.variants()? {
        [v] if v.get::<Held>().is_some() => Ok(()),
        [v] => {
            Err(invalid!("Expected input to contain a SharedLockReleaser object, but saw variant: '{v:?}'"))
        }
        _ => Err(invalid!("mutex_lock must be a scalar, got shape {}", c.shape(0)?)),
    }
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{begin, call_in, code, step};
    use std::sync::mpsc::TryRecvError;
    use std::time::Duration;

    #[test]
    fn a_lock_is_released_with_the_value_that_holds_it() {
        let step = step(1);
        let mutex = call_in(&step, "MutexV2", &[], &[]).unwrap();
        let first = call_in(&step, "MutexLock", &mutex, &[]).unwrap();
        let second = begin(&step, "MutexLock", &mutex, &[]);
        assert_eq!(second.try_recv().err(), Some(TryRecvError::Empty));
        call_in(&step, "ConsumeMutexLock", &first, &[]).unwrap();
        assert_eq!(second.try_recv().err(), Some(TryRecvError::Empty));
        drop(first);
        assert!(second.recv_timeout(Duration::from_secs(10)).unwrap().is_ok());
        let no_lock = [Tensor::from_object(Variant::default())];
        assert_eq!(code(call_in(&step, "ConsumeMutexLock", &no_lock, &[])), Code::InvalidArgument);
    }
}
