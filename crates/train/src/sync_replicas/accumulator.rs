//! The accumulator of one variable's gradients, beside the variable.

use crate::optimizers::GradientOf;
use thalweg_client::{
    Code, DataType, Error, Gradient, IndexedSlices, OpBuilder, Operation, Output, PartialShape, Result,
    Scope, Variable,
};

pub struct Accumulator {
    pub handle: Output,
    variable: Variable,
    dtype: DataType,
    sparse: bool,
}

impl Accumulator {
    /// None for a variable that has no gradient.
    pub fn new(g: &Scope, x: &GradientOf) -> Option<Accumulator> {
        let variable = &x.variable;
        let (dtype, sparse) = match &x.gradient {
            Gradient::None => return None,
            Gradient::Dense(d) => (d.dtype(), false),
            Gradient::Slices(s) => (s.values.dtype(), true),
        };
        // As in TensorFlow, rows may be of any shape.
        let (op, shape) = if sparse {
            ("SparseConditionalAccumulator", PartialShape::scalar())
        } else {
            ("ConditionalAccumulator", variable.shape())
        };
        let name = if sparse { "sparse_conditional_accumulator" } else { "conditional_accumulator" };
        let handle = g
            .device(&variable.handle.op().device())
            .op(op)
            .name(name)
            .attr("dtype", dtype)
            .attr("shape", shape)
            .attr("shared_name", format!("{}:0/grad_accum", variable.name()).as_str())
            .output();
        Some(Accumulator { handle, variable: variable.clone(), dtype, sparse })
    }

    /// Adds a gradient that was computed at a step, by a replica that may have a number.
    pub fn apply(
        &self,
        g: &Scope,
        step: &Output,
        gradient: &Gradient,
        number: Option<usize>,
    ) -> Result<Operation> {
        // An attr for our own accumulators: one gradient per replica.
        let noted = |add: OpBuilder<'_>| match number {
            Some(n) => add.attr(thalweg_client::attr::REPLICA, n as i64).build(),
            None => add.build(),
        };
        match gradient {
            Gradient::Dense(d) if !self.sparse => {
                Ok(noted(g.op("AccumulatorApplyGradient").input(&self.handle).input(step).input(d)))
            }
            Gradient::Slices(s) if self.sparse => Ok(noted(
                g.op("SparseAccumulatorApplyGradient")
                    .input(&self.handle)
                    .input(step)
                    .input(g.cast(&s.indices, DataType::Int64))
                    .input(&s.values)
                    .input(g.cast(&s.dense_shape, DataType::Int64))
                    .attr("has_known_shape", true),
            )),
            _ => Err(Error::new(
                Code::InvalidArgument,
                format!(
                    "the replicas' gradients of {} must be of one kind: rows of all of them, or of none",
                    self.variable.name()
                ),
            )),
        }
    }

    /// Gradients from before this step are stale from now on.
    pub fn set_step(&self, g: &Scope, step: &Output) -> Operation {
        let set = g.op("AccumulatorSetGlobalStep").name("SetGlobalStep");
        set.input(&self.handle).input(step).build()
    }

    /// How many gradients it holds.
    pub fn count(&self, g: &Scope) -> Output {
        g.op("AccumulatorNumAccumulated").input(&self.handle).output()
    }

    /// Removes all gradients; there must be one at least.
    pub fn discard(&self, g: &Scope) -> Operation {
        let op = if self.sparse { "SparseAccumulatorTakeGradient" } else { "AccumulatorTakeGradient" };
        g.op(op).input(&self.handle).input(g.constant(1i32)).attr("dtype", self.dtype).build()
    }

    /// The mean of the gradients, once there are enough.
    pub fn take(&self, g: &Scope, required: i32) -> Gradient {
        let at = g.device(&self.variable.handle.op().device());
        let take = |op| {
            let required = at.constant(required);
            at.op(op).input(&self.handle).input(&required).attr("dtype", self.dtype).build()
        };
        if !self.sparse {
            let mean = take("AccumulatorTakeGradient").output(0);
            return Gradient::Dense(mean.with_shape(&self.variable.shape()));
        }
        let mean = take("SparseAccumulatorTakeGradient");
        let rows = self.variable.shape().dims().map(|dims| {
            let columns = dims.iter().skip(1).copied();
            PartialShape::new(&std::iter::once(-1).chain(columns).collect::<Vec<_>>()).unwrap_or_default()
        });
        let values = mean.output(1).with_shape(&rows.unwrap_or_default());
        Gradient::Slices(IndexedSlices { indices: mean.output(0), values, dense_shape: mean.output(2) })
    }
}
