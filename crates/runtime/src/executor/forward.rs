//! Nodes that only forward a value (`work::Forward`), run without a kernel call: most nodes of a loop.

use super::state::{Ready, State};
use crate::plan::{General, GeneralNode, Source};
use crate::work::Forward;
use thalweg_core::error::{Result, internal};
use thalweg_core::invalid;
use thalweg_core::kernel::{Outputs, Value};
use thalweg_core::tensor::Tensor;

impl State {
    /// The outputs of a forwarding node. `fixed` finds constants and feeds.
    pub fn forward<'a>(
        &mut self,
        plan: &General,
        forward: Forward,
        ready: Ready,
        fixed: impl Fn(Source) -> Result<&'a Tensor>,
        outputs: &mut Outputs,
    ) -> Result<()> {
        let node = &plan.nodes[ready.node as usize];
        let value = self.value(node, ready, 0, &fixed)?;
        let value = match value {
            // Read now, unless the op forwards the reference itself.
            Value::Ref(v) if !node.forwards_refs => Value::Tensor(v.read()?),
            other => other,
        };
        match forward {
            Forward::Whole => outputs.push(Some(value)),
            Forward::Switch => {
                let side = match self.value(node, ready, 1, &fixed)?.into_tensor() {
                    Ok(t) if t.shape().is_scalar() => t.to_scalar::<bool>()?,
                    Ok(t) => {
                        return Err(invalid!(
                            "the condition of a Switch must be a scalar, got shape {}",
                            t.shape()
                        ));
                    }
                    Err(e) => return Err(e),
                };
                outputs.push(None);
                outputs.push(None);
                outputs[side as usize] = Some(value);
            }
            Forward::Merge => {
                outputs.push(Some(value));
                // The index of the input is rarely used.
                if node.outputs.len() > 1 {
                    outputs.push(Some(self.value(node, ready, 1, &fixed)?));
                }
            }
        }
        Ok(())
    }

    fn value<'a>(
        &mut self,
        node: &GeneralNode,
        ready: Ready,
        input: usize,
        fixed: &impl Fn(Source) -> Result<&'a Tensor>,
    ) -> Result<Value> {
        let missing = || internal("an input is missing");
        match *node.inputs.get(input).ok_or_else(missing)? {
            Source::Entry(e) => {
                let iteration =
                    self.frame(ready.frame).and_then(|f| f.iteration(ready.iteration)).ok_or_else(missing)?;
                iteration.entries.get_mut(e as usize).and_then(Option::take).ok_or_else(missing)
            }
            other => Ok(Value::Tensor(fixed(other)?.clone())),
        }
    }
}
