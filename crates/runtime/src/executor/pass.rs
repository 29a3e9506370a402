//! Nodes that only pass a value on (Switch, Merge, Enter, Exit, NextIteration, LoopCond, Identity): done here without
//! calling their kernels, since a loop runs little else.

use super::state::{Ready, State};
use crate::plan::{General, GeneralNode, Source};
use thalweg_core::error::{Result, internal};
use thalweg_core::invalid;
use thalweg_core::kernel::{Outputs, Value};
use thalweg_core::op::{Class, Op};
use thalweg_core::tensor::Tensor;

/// How a node passes its input on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pass {
    /// To its only output.
    On,
    /// To the output that the second input picks.
    Switch,
    /// With the index of the input that came.
    Merge,
}

impl Pass {
    pub fn of(op: &Op) -> Option<Pass> {
        match op.class {
            Class::Switch => Some(Pass::Switch),
            Class::Merge => Some(Pass::Merge),
            Class::Enter | Class::Exit | Class::NextIteration | Class::LoopCond => Some(Pass::On),
            _ if op.identity => Some(Pass::On),
            _ => None,
        }
    }
}

impl State {
    /// The outputs of a node that passes its input on. `fixed` finds constants and feeds.
    pub fn pass<'a>(
        &mut self,
        plan: &General,
        pass: Pass,
        ready: Ready,
        fixed: impl Fn(Source) -> Result<&'a Tensor>,
        outputs: &mut Outputs,
    ) -> Result<()> {
        let node = &plan.nodes[ready.node as usize];
        let value = self.value(node, ready, 0, &fixed)?;
        let value = match value {
            // Read now, unless the op passes the reference itself on.
            Value::Ref(v) if !node.passes_refs => Value::Tensor(v.read()?),
            other => other,
        };
        match pass {
            Pass::On => outputs.push(Some(value)),
            Pass::Switch => {
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
            Pass::Merge => {
                outputs.push(Some(value));
                // Few ask which input it was.
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
