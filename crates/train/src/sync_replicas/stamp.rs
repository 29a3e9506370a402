//! Stamps: they distinguish the gradients of one step from those of all others, also of the same step before a restart.
//!
//! A chief that starts, or loses a parameter server, restores a checkpoint: the global step then repeats, and other replicas may still hold
//! gradients of the first time. So gradients and tokens carry the global step plus an offset, which each start of the chief increases:
//! the clock, in microseconds, as a step takes longer than one. To accumulators, TensorFlow's too, a stamp is a global step.

use thalweg_client::{Attr, DataType, Operation, Output, PartialShape, Scope, Variable};

pub struct Stamps {
    /// Added to the global step. Not saved: it belongs to one start of the chief.
    offset: Output,
    global_step: Variable,
}

const OFFSET: &str = "sync_rep_offset";

impl Stamps {
    /// `g` is a scope on the device of the global step.
    pub fn new(g: &Scope, global_step: &Variable) -> Stamps {
        let offset = g
            .only_on(&global_step.handle.op().device())
            .op("VarHandleOp")
            .name(OFFSET)
            .attr("dtype", DataType::Int64)
            .attr("shape", Attr::Shape(PartialShape::scalar()))
            .attr("shared_name", OFFSET)
            .output();
        Stamps { offset, global_step: global_step.clone() }
    }

    /// The stamp of the step, read after the scope's control dependencies.
    pub fn now(&self, g: &Scope) -> Output {
        let offset = g.op("ReadVariableOp").input(&self.offset).attr("dtype", DataType::Int64).output();
        g.add(&offset, self.step(g))
    }

    /// Sets a new offset: all stamps from now on are larger than those before.
    pub fn begin(&self, g: &Scope) -> Operation {
        let seconds = g.op("Timestamp").output();
        let micros = g.cast(g.mul(&seconds, g.constant(1e6f64)), DataType::Int64);
        let offset = g.sub(&micros, self.step(g));
        g.op("AssignVariableOp").input(&self.offset).input(&offset).build()
    }

    /// Whether a chief has started.
    pub fn is_set(&self, g: &Scope) -> Output {
        g.op("VarIsInitializedOp").input(&self.offset).output()
    }

    fn step(&self, g: &Scope) -> Output {
        g.cast(self.global_step.read(g), DataType::Int64)
    }
}
