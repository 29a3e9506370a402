//! What one replica runs.

use super::Shared;
use crate::optimizers::GradientOf;
use thalweg_client::{Code, DataType, Error, Operation, Result, Scope, Variable};

/// The training step of one replica, and the step that its variables are of.
pub struct Replica {
    /// Gradients, and the wait for the token of the next step.
    pub train: Operation,
    /// The stamp of the step that the replica's variables are of.
    pub local_step: Variable,
    /// Sets the local step to the stamp of the global one.
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
        // Placed on the worker: device functions may put variables elsewhere.
        let anchor = g.op("NoOp").build();
        let here = g.top_level().only_on(&anchor.device());
        let zero = here.number_named("sync_rep_local_step/initial_value", 0.0, DataType::Int64);
        let local_step = here.local_variable("sync_rep_local_step", &zero);
        let local_step_init = local_step.assign(self.stamps.now(&here));
        let mut pushes = Vec::with_capacity(gradients.len());
        for (accumulator, x) in self.accumulators.iter().zip(gradients) {
            if let Some(accumulator) = accumulator {
                pushes.push(accumulator.apply(scope, &local_step.value, &x.gradient, self.number)?);
            }
        }
        let pushed = self.on_step.control_dependencies(&pushes);
        let token = self.tokens.take(&pushed);
        let mut train = local_step.assign(&token);
        if let (Some(gate), Some(0)) = (&self.gate, self.number) {
            // The chief holds the gate whenever it is not in a step.
            let closed = gate.acquire(&self.on_step.control_dependencies(&[&train]));
            train = g.group(&[&gate.release(&self.on_step), &closed]);
        }
        Ok(Replica { train, local_step, local_step_init })
    }
}
