//! Random graphs of loops and conds.

use std::sync::Arc;
use thalweg_core::attr::{Attr, Attrs};
use thalweg_core::dtype::DataType;
use thalweg_core::node::{NodeId, Output};
use thalweg_core::tensor::Tensor;
use thalweg_graph::{Arg, Graph, NodeRequest};

/// Deterministic pseudorandom numbers.
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }

    pub fn pick(&mut self, from: &[Output]) -> Output {
        from[self.roll(from.len())]
    }
}

pub struct Maker {
    pub g: Graph,
    pub dice: Dice,
    frames: usize,
    /// Whether loops have conds inside.
    pub conds: bool,
}

impl Maker {
    pub fn new(seed: u64) -> Maker {
        Maker { g: Graph::new(Arc::new(thalweg_ops::registry())), dice: Dice(seed), frames: 0, conds: false }
    }

    pub fn add(&mut self, op: &str, args: Vec<Arg>, attrs: &[(&'static str, Attr)]) -> Output {
        let attrs: Attrs = attrs.iter().cloned().collect();
        self.g.add_node(NodeRequest { op, name: op, args, attrs, ..Default::default() }).unwrap().output(0)
    }

    pub fn add_target(&mut self, op: &str, args: Vec<Arg>, attrs: &[(&'static str, Attr)]) -> NodeId {
        self.add(op, args, attrs).node
    }

    pub fn constant(&mut self, v: i32) -> Output {
        self.constant_in(&[], v)
    }

    /// A constant in the loop frame of its control input.
    pub fn constant_in(&mut self, pivot: &[NodeId], v: i32) -> Output {
        let value = Attr::Tensor(Tensor::scalar(v));
        let attrs = [("dtype", DataType::Int32.into()), ("value", value)].into_iter().collect();
        let request = NodeRequest { op: "Const", name: "Const", attrs, control: pivot, ..Default::default() };
        self.g.add_node(request).unwrap().output(0)
    }

    pub fn enter(&mut self, frame: &str, v: Output, is_constant: bool) -> Output {
        let parallel = [1i64, 2, 10][self.dice.roll(3)];
        self.add(
            "Enter",
            vec![v.into()],
            &[
                ("frame_name", frame.into()),
                ("parallel_iterations", parallel.into()),
                ("is_constant", is_constant.into()),
            ],
        )
    }

    /// A few random ops over these values.
    pub fn compute(&mut self, values: &mut Vec<Output>, ops: usize) {
        for _ in 0..ops {
            let (a, b) = (self.dice.pick(values), self.dice.pick(values));
            let made = match self.dice.roll(6) {
                0 => self.add("AddV2", vec![a.into(), b.into()], &[]),
                1 => self.add("Sub", vec![a.into(), b.into()], &[]),
                2 => self.add("Mul", vec![a.into(), b.into()], &[]),
                3 => self.add("Identity", vec![a.into()], &[]),
                4 => self.add("Maximum", vec![a.into(), b.into()], &[]),
                _ => self.add("Neg", vec![a.into()], &[]),
            };
            values.push(made);
        }
    }

    /// A loop over some of these values with a fixed number of iterations; its exits.
    pub fn while_loop(&mut self, outside: &[Output], pivot: &[NodeId], depth: usize) -> Vec<Output> {
        self.frames += 1;
        let frame = format!("frame_{}", self.frames);
        let (start, times) = (self.constant_in(pivot, 0), self.dice.roll(6) as i32);
        let carried = 1 + self.dice.roll(3);
        let mut first = vec![start];
        first.extend((0..carried).map(|_| self.dice.pick(outside)));
        let merges: Vec<Output> = first
            .iter()
            .map(|v| {
                let e = self.enter(&frame, *v, false);
                self.add("Merge", vec![vec![e, e].into()], &[])
            })
            .collect();
        let mut always = merges.clone();
        for _ in 0..self.dice.roll(3) {
            let v = self.dice.pick(outside);
            always.push(self.enter(&frame, v, true));
        }
        let extra = self.dice.roll(3);
        self.compute(&mut always, extra);
        let limit = self.constant_in(pivot, times);
        let limit = self.enter(&frame, limit, true);
        let less = self.add("Less", vec![merges[0].into(), limit.into()], &[]);
        let condition = self.add("LoopCond", vec![less.into()], &[]);
        let switches: Vec<Output> =
            merges.iter().map(|m| self.add("Switch", vec![(*m).into(), condition.into()], &[])).collect();
        let mut body: Vec<Output> = switches.iter().map(|s| s.node.output(1)).collect();
        let ops = self.dice.roll(5);
        let mut all = body.clone();
        all.extend(always.iter().copied());
        let known = all.len();
        self.compute(&mut all, ops);
        if self.conds && self.dice.roll(2) == 0 {
            let made = self.cond(&body, 1);
            all.extend(made);
        }
        if depth > 0 && self.dice.roll(2) == 0 {
            let pivot = self.add("Identity", vec![body[0].into()], &[]).node;
            all.extend(self.while_loop(&body, &[pivot], depth - 1));
        }
        // Only values that depend on the condition may reach NextIteration.
        for made in all.drain(known..) {
            let kept = self.add("Identity", vec![made.into()], &[]);
            let with = self.add("AddV2", vec![kept.into(), body[0].into()], &[]);
            body.push(with);
        }
        let one = self.constant_in(pivot, 1);
        let one = self.enter(&frame, one, true);
        let count = self.add("AddV2", vec![body[0].into(), one.into()], &[]);
        for (i, merge) in merges.iter().enumerate() {
            let next = if i == 0 { count } else { self.dice.pick(&body) };
            let next = self.add("NextIteration", vec![next.into()], &[]);
            self.g.set_input(merge.node, 1, next).unwrap();
        }
        switches.iter().map(|s| self.add("Exit", vec![(*s).into()], &[])).collect()
    }

    /// A cond over some of these values; its merges.
    pub fn cond(&mut self, outside: &[Output], depth: usize) -> Vec<Output> {
        let (a, b) = (self.dice.pick(outside), self.dice.pick(outside));
        let taken = self.add("Less", vec![a.into(), b.into()], &[]);
        let inputs: Vec<Output> = (0..1 + self.dice.roll(3)).map(|_| self.dice.pick(outside)).collect();
        let switches: Vec<Output> =
            inputs.iter().map(|v| self.add("Switch", vec![(*v).into(), taken.into()], &[])).collect();
        let mut branches: Vec<Vec<Output>> = Vec::new();
        for side in 0..2 {
            let mut values: Vec<Output> = switches.iter().map(|s| s.node.output(side)).collect();
            let ops = self.dice.roll(4);
            self.compute(&mut values, ops);
            if depth > 0 && self.dice.roll(3) == 0 {
                let more = self.cond(&values, depth - 1);
                values.extend(more);
            }
            branches.push(values);
        }
        (0..1 + self.dice.roll(2))
            .map(|_| {
                let (no, yes) = (self.dice.pick(&branches[0]), self.dice.pick(&branches[1]));
                self.add("Merge", vec![vec![no, yes].into()], &[])
            })
            .collect()
    }
}
