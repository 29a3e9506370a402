//! What one replica runs.

use super::{Shared, TOKENS};
use crate::optimizers::GradientOf;
use thalweg_client::{Attr, Code, DataType, Error, Operation, Result, Scope, Variable};

/// The training step of one replica, and the step that its variables are of.
pub struct Replica {
    /// Gradients, and the wait for the token of the next step.
    pub train: Operation,
    pub local_step: Variable,
    /// Sets the local step to the global one.
    pub local_step_init: Operation,
}

impl Shared {
    pub fn replica(&self, g: &Scope, scope: &Scope, gradients: &[GradientOf]) -> Result<Replica> {
        if gradients.len() != self.accumulators.len() {
            return Err(Error::new(
                Code::InvalidArgument,
                format!("got {} gradients for {} variables", gradients.len(), self.accumulators.len()),
            ));
        }
        let dtype = self.global_step.dtype();
        // On the worker, whatever is said of variables.
        let anchor = g.op("NoOp").build();
        let here = g.top_level().only_on(&anchor.device());
        let zero = here.number_named("sync_rep_local_step/initial_value", 0.0, dtype);
        let local_step = here.local_variable("sync_rep_local_step", &zero);
        let local_step_init = local_step.assign(&self.global_step.read(&here));
        let now = scope.cast(&local_step.value, DataType::Int64);
        let mut pushes = Vec::with_capacity(gradients.len());
        for (accumulator, x) in self.accumulators.iter().zip(gradients) {
            if let Some(accumulator) = accumulator {
                pushes.push(accumulator.apply(scope, &now, &x.gradient)?);
            }
        }
        let on_step = g.top_level().device(&self.global_step.handle.op().device());
        let name = format!("{TOKENS}_Dequeue");
        let token = on_step
            .control_dependencies(&pushes.iter().collect::<Vec<_>>())
            .op("QueueDequeueV2")
            .name(&name)
            .input(&self.queue)
            .attr("component_types", Attr::types(&[dtype]))
            .output();
        let train = local_step.assign(&token);
        Ok(Replica { train, local_step, local_step_init })
    }
}
