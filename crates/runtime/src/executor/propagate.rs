//! Moving a node's outputs along its edges: into the same iteration, into a loop, to the next iteration, or out of a loop.

use super::state::{Ready, State};
use crate::plan::{CONTROL, Edge, FETCH, General, GeneralNode, frame_id};
use std::ops::Range;
use thalweg_core::kernel::{Outputs, Value};
use thalweg_core::op::Class;
use thalweg_core::tensor::Tensor;

impl State {
    /// Propagates the outputs of a node that ran, or that is dead.
    pub fn complete(&mut self, plan: &General, done: Ready, outputs: &mut Outputs) {
        let node = &plan.nodes[done.node as usize];
        match node.class {
            Class::Enter => self.enter(plan, node, done, first(outputs)),
            Class::Exit => self.exit(plan, node, done, first(outputs)),
            Class::NextIteration if !done.dead => self.next_iteration(plan, done, first(outputs)),
            Class::NextIteration => {}
            _ => self.send_outputs(plan, node, outputs, done.dead, (done.frame, done.iteration)),
        }
        let Some(iteration) = self.frame(done.frame).and_then(|f| f.iteration(done.iteration)) else {
            return;
        };
        iteration.active -= 1;
        // Only an iteration without active nodes can have ended.
        if iteration.active == 0 && done.frame != 0 {
            self.clean_up(plan, done.frame);
        }
    }

    fn send_outputs(
        &mut self,
        plan: &General,
        node: &GeneralNode,
        outputs: &mut Outputs,
        dead: bool,
        to: (u32, u64),
    ) {
        for (i, edges) in node.outputs.iter().enumerate() {
            let value = if dead { None } else { outputs.get_mut(i).and_then(Option::take) };
            self.send(plan, edges.clone(), value, to, false);
        }
        self.send_control(plan, node, dead, to);
    }

    fn send_control(&mut self, plan: &General, node: &GeneralNode, dead: bool, to: (u32, u64)) {
        for e in &plan.edges[node.control.start as usize..node.control.end as usize] {
            self.arrive_control(plan, e, dead, to);
        }
    }

    /// Sends along the edges of the first output: that of Enter, Exit and NextIteration.
    fn send_first(
        &mut self,
        plan: &General,
        node: &GeneralNode,
        value: Option<Value>,
        to: (u32, u64),
        from_enter: bool,
    ) {
        if let Some(edges) = node.outputs.first() {
            self.send(plan, edges.clone(), value, to, from_enter);
        }
    }

    /// Sends one value (`None`: dead) along edges; the last edge gets it without a copy.
    fn send(
        &mut self,
        plan: &General,
        edges: Range<u32>,
        value: Option<Value>,
        to: (u32, u64),
        from_enter: bool,
    ) {
        let edges = &plan.edges[edges.start as usize..edges.end as usize];
        let Some((last, others)) = edges.split_last() else { return };
        for e in others {
            self.arrive(plan, e, value.clone(), to, from_enter);
        }
        self.arrive(plan, last, value, to, from_enter);
    }

    /// A value arrives along a data edge.
    fn arrive(&mut self, plan: &General, e: &Edge, value: Option<Value>, to: (u32, u64), from_enter: bool) {
        if e.node == FETCH {
            self.fetched[e.entry as usize] = value;
            return;
        }
        let node = &plan.nodes[e.node as usize];
        let local = node.local as usize;
        let Some(iteration) = self.frame(to.0).and_then(|f| f.iteration(to.1)) else { return };
        let (ready, dead);
        if node.class == Class::Merge {
            match value {
                Some(v) => {
                    // The first live value wins; the lowest bit is cleared when it arrives.
                    if iteration.pending[local] & 1 == 1 {
                        iteration.pending[local] -= 1;
                        iteration.entries[e.entry as usize] = Some(v);
                        iteration.entries[e.entry as usize + 1] =
                            Some(Value::Tensor(Tensor::scalar(e.input as i32)));
                        ready = iteration.pending[local] == 0;
                    } else {
                        ready = false;
                    }
                    dead = false;
                }
                None => {
                    iteration.dead[local] += 1;
                    // A loop in a branch not taken is dead as soon as one of its Enters is.
                    dead = iteration.dead[local] == node.data_edges || from_enter;
                    ready = iteration.pending[local] == 1 && dead;
                }
            }
        } else {
            if value.is_none() {
                iteration.dead[local] += 1;
            }
            iteration.entries[e.entry as usize] = value;
            iteration.pending[local] -= 1;
            ready = iteration.pending[local] == 0;
            dead = iteration.dead[local] > 0 && !node.never_dead;
        }
        if ready {
            iteration.active += 1;
            self.ready.push(Ready { node: e.node, frame: to.0, iteration: to.1, dead });
        }
    }

    fn arrive_control(&mut self, plan: &General, e: &Edge, dead_source: bool, to: (u32, u64)) {
        debug_assert_eq!(e.entry, CONTROL);
        let node = &plan.nodes[e.node as usize];
        let local = node.local as usize;
        let Some(iteration) = self.frame(to.0).and_then(|f| f.iteration(to.1)) else { return };
        let (ready, dead);
        if node.class == Class::Merge {
            iteration.pending[local] -= 2;
            dead = iteration.dead[local] == node.data_edges && iteration.pending[local] & 1 == 1;
            ready = iteration.pending[local] == 0 || (iteration.pending[local] == 1 && dead);
        } else {
            if dead_source {
                iteration.dead[local] += 1;
            }
            iteration.pending[local] -= 1;
            ready = iteration.pending[local] == 0;
            dead = iteration.dead[local] > 0 && !node.never_dead;
        }
        if ready {
            iteration.active += 1;
            self.ready.push(Ready { node: e.node, frame: to.0, iteration: to.1, dead });
        }
    }

    fn enter(&mut self, plan: &General, node: &GeneralNode, done: Ready, value: Option<Value>) {
        let Some(info) = node.enter else { return };
        let child = self.child_frame(plan, done, info.child);
        let value = if done.dead { None } else { value };
        if info.is_constant {
            let Some(frame) = self.frame(child) else { return };
            frame.invariants.push((done.node, value.clone()));
            let (base, newest) = (frame.base, frame.newest());
            for iteration in base..=newest {
                self.send_entered(plan, node, value.clone(), (child, iteration));
            }
        } else {
            self.send_entered(plan, node, value, (child, 0));
        }
        if let Some(frame) = self.frame(child) {
            frame.pending_enters -= 1;
        }
        self.clean_up(plan, child);
    }

    fn send_entered(&mut self, plan: &General, node: &GeneralNode, value: Option<Value>, to: (u32, u64)) {
        let dead = value.is_none();
        self.send_first(plan, node, value, to, true);
        self.send_control(plan, node, dead, to);
    }

    /// The frame entered from this iteration, created by the first Enter.
    fn child_frame(&mut self, plan: &General, from: Ready, static_child: u32) -> u32 {
        let key = (from.frame, from.iteration, static_child);
        if let Some(child) = self.children.get(&key) {
            return *child;
        }
        let parent_id = self.frame(from.frame).map_or(0, |f| f.id);
        let name = plan.frames.get(static_child as usize).map_or(0, |f| f.name);
        let id = frame_id::child(parent_id, from.iteration, name);
        let child = self.new_frame(plan, static_child, (from.frame, from.iteration), id);
        self.children.insert(key, child);
        if let Some(iteration) = self.frame(from.frame).and_then(|f| f.iteration(from.iteration)) {
            iteration.children += 1;
        }
        child
    }

    fn exit(&mut self, plan: &General, node: &GeneralNode, done: Ready, value: Option<Value>) {
        let Some(frame) = self.frame(done.frame) else { return };
        if done.dead {
            // Only the last iteration counts: in all others every Exit is dead.
            if done.iteration == frame.newest() {
                frame.dead_exits.push(done.node);
            }
            return;
        }
        let parent = frame.parent;
        self.send_first(plan, node, value, parent, false);
        self.send_control(plan, node, false, parent);
    }

    fn next_iteration(&mut self, plan: &General, done: Ready, value: Option<Value>) {
        let Some(frame) = self.frame(done.frame) else { return };
        if done.iteration == frame.newest() {
            let limit = plan.frames[frame.static_frame as usize].parallel_iterations as usize;
            if frame.iterations.len() >= limit {
                frame.waiting.push((done.node, value));
                return;
            }
            self.begin_iteration(plan, done.frame);
        }
        self.send_next(plan, done.node, value, (done.frame, done.iteration + 1));
    }

    fn send_next(&mut self, plan: &General, node: u32, value: Option<Value>, to: (u32, u64)) {
        let node = &plan.nodes[node as usize];
        self.send_first(plan, node, value, to, false);
        self.send_control(plan, node, false, to);
    }

    /// Begins the next iteration of a loop; sends it the loop invariants.
    fn begin_iteration(&mut self, plan: &General, at: u32) {
        let Some(static_frame) = self.frame(at).map(|f| f.static_frame) else { return };
        let iteration = self.take_iteration(plan, static_frame);
        let Some(frame) = self.frame(at) else { return };
        frame.iterations.push_back(iteration);
        frame.dead_exits.clear();
        let newest = frame.newest();
        let mut next = 0;
        while let Some((enter, value)) = self.frame(at).and_then(|f| f.invariants.get(next).cloned()) {
            self.send_entered(plan, &plan.nodes[enter as usize], value, (at, newest));
            next += 1;
        }
    }

    /// Drops iterations that have ended, begins a delayed one, and ends loops without iterations, from the inside out.
    pub fn clean_up(&mut self, plan: &General, mut at: u32) {
        while at != 0 {
            while self.end_oldest_iteration(plan, at) {}
            match self.end_loop(plan, at) {
                Some(parent) => at = parent,
                None => return,
            }
        }
    }

    /// Drops the oldest iteration of a loop if it has ended. Returns whether it did.
    fn end_oldest_iteration(&mut self, plan: &General, at: u32) -> bool {
        let Some(frame) = self.frame(at) else { return false };
        let entering = frame.base == 0 && frame.pending_enters > 0;
        let ended = frame.iterations.front().is_some_and(|i| i.active == 0 && i.children == 0 && !entering);
        if !ended {
            return false;
        }
        let static_frame = frame.static_frame;
        // Iterations are numbered from the base, so waiting values are sent before the base moves.
        let waiting = std::mem::take(&mut frame.waiting);
        if !waiting.is_empty() {
            self.begin_iteration(plan, at);
            let newest = self.frame(at).map_or(0, |f| f.newest());
            for (node, value) in waiting {
                self.send_next(plan, node, value, (at, newest));
            }
        }
        let Some(frame) = self.frame(at) else { return false };
        frame.base += 1;
        if let Some(ended) = frame.iterations.pop_front() {
            self.keep_iteration(static_frame, ended);
        }
        true
    }

    /// Ends a loop without iterations, and returns its parent. Exits that stayed dead are propagated now.
    fn end_loop(&mut self, plan: &General, at: u32) -> Option<u32> {
        let frame = self.frame(at)?;
        if !frame.iterations.is_empty() || frame.pending_enters > 0 {
            return None;
        }
        let ended = self.drop_frame(at)?;
        let (parent, iteration) = ended.parent;
        self.children.remove(&(parent, iteration, ended.static_frame));
        for exit in ended.dead_exits {
            let node = &plan.nodes[exit as usize];
            self.send_first(plan, node, None, (parent, iteration), false);
            self.send_control(plan, node, true, (parent, iteration));
        }
        if let Some(i) = self.frame(parent).and_then(|f| f.iteration(iteration)) {
            i.children -= 1;
        }
        Some(parent)
    }
}

fn first(outputs: &mut Outputs) -> Option<Value> {
    outputs.first_mut().and_then(Option::take)
}
