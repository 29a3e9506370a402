//! `AccumulatorTakeGradient`, `ResourceAccumulatorTakeGradient`, `SparseAccumulatorTakeGradient`: waiting for enough gradients, and taking their mean.

use super::resource::{Accumulator, check_type};
use crate::named::resource_of;
use crate::prelude::*;

pub static ACCUMULATOR_TAKE_GRADIENT: Op = Op {
    name: "AccumulatorTakeGradient",
    doc: "The mean (or sum) of the gradients, once there are num_required; resets the sum and increments the global step.",
    inputs: &["handle: Ref(string)", "num_required: int32"],
    outputs: &["average: dtype"],
    attrs: &["dtype: numbertype"],
    shape: |c| {
        c.scalar(1)?;
        shape_call::unknown(c)
    },
    kernels: cpu!(async prepare),
    ..Op::STATEFUL
};

pub static RESOURCE_ACCUMULATOR_TAKE_GRADIENT: Op = Op {
    name: "ResourceAccumulatorTakeGradient",
    inputs: &["handle: resource", "num_required: int32"],
    ..ACCUMULATOR_TAKE_GRADIENT
};

pub static SPARSE_ACCUMULATOR_TAKE_GRADIENT: Op = Op {
    name: "SparseAccumulatorTakeGradient",
    doc: "The mean (or sum) of the rows, each over the gradients that had it, once there are num_required gradients.",
    outputs: &["indices: int64", "values: dtype", "shape: int64"],
    kernels: cpu!(async prepare_sparse),
    ..ACCUMULATOR_TAKE_GRADIENT
};

struct Take {
    sparse: bool,
}

fn prepare(_: &KernelNode) -> Result<Arc<dyn AsyncKernel>> {
    Ok(Arc::new(Take { sparse: false }))
}

fn prepare_sparse(_: &KernelNode) -> Result<Arc<dyn AsyncKernel>> {
    Ok(Arc::new(Take { sparse: true }))
}

impl AsyncKernel for Take {
    fn start(&self, call: AsyncCall, done: Done) {
        match self.request(&call) {
            Ok((accumulator, required)) => {
                let answer = Box::new(|r: Result<Vec<Tensor>>| done(r.map(outputs)));
                accumulator.take(required, &call.step.cancel, answer);
            }
            Err(e) => done(Err(e)),
        }
    }
}

impl Take {
    fn request(&self, call: &AsyncCall) -> Result<(Arc<Accumulator>, u32)> {
        let accumulator: Arc<Accumulator> = resource_of(&call.tensor(0)?, &call.step)?;
        if accumulator.spec.sparse != self.sparse {
            return Err(invalid!(
                "'{}' is no accumulator that {} can take from",
                accumulator.name,
                call.node.op
            ));
        }
        let value = call.node.outputs.get(usize::from(self.sparse));
        check_type(&accumulator, value.map_or(accumulator.spec.dtype, |p| p.dtype))?;
        let n = call.tensor(1)?;
        if !n.shape().is_scalar() {
            return Err(invalid!("Argument num_required must be scalar, but had bad shape {}", n.shape()));
        }
        let n: i32 = n.to_scalar()?;
        match u32::try_from(n) {
            Ok(required) if required > 0 => Ok((accumulator, required)),
            _ => Err(invalid!("Argument num_required must be positive, but was {n}")),
        }
    }
}
