//! Frames and iterations of one run of a general plan.

use crate::plan::{General, StaticFrame};
use crate::step_error::StepError;
use std::collections::{HashMap, VecDeque};
use thalweg_core::kernel::Value;

/// A node that is ready to run, with its frame and iteration.
#[derive(Clone, Copy, Debug)]
pub struct Ready {
    pub node: u32,
    pub frame: u32,
    pub iteration: u64,
    pub dead: bool,
}

/// One execution of a loop; frame 0 is the graph outside all loops.
pub struct Frame {
    pub static_frame: u32,
    pub parent: (u32, u64),
    /// Id of the frame across devices, for the rendezvous keys of transfers inside loops.
    pub id: u64,
    /// Number of the oldest iteration that has not ended.
    pub base: u64,
    pub iterations: VecDeque<Iteration>,
    /// Enters that have not run yet.
    pub pending_enters: u32,
    /// Loop-invariant values: Enter node and value (`None`: dead).
    pub invariants: Vec<(u32, Option<Value>)>,
    /// Values for an iteration beyond the limit on parallel iterations.
    pub waiting: Vec<(u32, Option<Value>)>,
    /// Exits that were dead in the newest iteration.
    pub dead_exits: Vec<u32>,
}

impl Frame {
    pub fn newest(&self) -> u64 {
        self.base + self.iterations.len() as u64 - 1
    }

    pub fn iteration(&mut self, n: u64) -> Option<&mut Iteration> {
        self.iterations.get_mut(n.checked_sub(self.base)? as usize)
    }
}

/// The values and counts of one iteration.
#[derive(Default)]
pub struct Iteration {
    pub entries: Vec<Option<Value>>,
    pub pending: Vec<u32>,
    pub dead: Vec<u32>,
    /// Nodes of it that are ready or running.
    pub active: u32,
    /// Loops started from it that have not ended.
    pub children: u32,
}

impl Iteration {
    fn reset(&mut self, s: &StaticFrame) {
        self.pending.clear();
        self.pending.extend_from_slice(&s.pending);
        self.dead.clear();
        self.dead.resize(s.pending.len(), 0);
        self.entries.truncate(s.entries as usize);
        // Most values were moved out by their users.
        self.entries.iter_mut().filter(|e| e.is_some()).for_each(|e| *e = None);
        self.entries.resize_with(s.entries as usize, || None);
        (self.active, self.children) = (0, 0);
    }
}

pub struct State {
    pub frames: Vec<Option<Frame>>,
    free_frames: Vec<u32>,
    /// Active frames, by the frame and iteration they were entered from.
    pub children: HashMap<(u32, u64, u32), u32>,
    /// Iterations for reuse, by static frame.
    spare: Vec<Vec<Iteration>>,
    pub ready: Vec<Ready>,
    /// Kernels on other threads, or waiting.
    pub in_flight: usize,
    pub fetched: Vec<Option<Value>>,
    pub error: StepError,
    pub reported: bool,
}

/// Iterations kept for reuse per loop.
const SPARE: usize = 8;

impl State {
    pub fn new(plan: &General) -> State {
        let mut state = State {
            frames: Vec::new(),
            free_frames: Vec::new(),
            children: HashMap::new(),
            spare: plan.frames.iter().map(|_| Vec::new()).collect(),
            ready: Vec::new(),
            in_flight: 0,
            fetched: vec![None; plan.fetches],
            error: StepError::default(),
            reported: false,
        };
        let root = state.new_frame(plan, 0, (0, 0), 0);
        if let Some(frame) = state.frames[root as usize].as_mut() {
            frame.pending_enters = 0;
        }
        state
    }

    pub fn frame(&mut self, at: u32) -> Option<&mut Frame> {
        self.frames.get_mut(at as usize)?.as_mut()
    }

    pub fn new_frame(&mut self, plan: &General, static_frame: u32, parent: (u32, u64), id: u64) -> u32 {
        let s = &plan.frames[static_frame as usize];
        let first = self.take_iteration(plan, static_frame);
        let frame = Frame {
            static_frame,
            parent,
            id,
            base: 0,
            iterations: VecDeque::from([first]),
            pending_enters: s.enters,
            invariants: Vec::new(),
            waiting: Vec::new(),
            dead_exits: Vec::new(),
        };
        match self.free_frames.pop() {
            Some(at) => {
                self.frames[at as usize] = Some(frame);
                at
            }
            None => {
                self.frames.push(Some(frame));
                self.frames.len() as u32 - 1
            }
        }
    }

    pub fn drop_frame(&mut self, at: u32) -> Option<Frame> {
        let frame = self.frames.get_mut(at as usize)?.take();
        if frame.is_some() {
            self.free_frames.push(at);
        }
        frame
    }

    pub fn take_iteration(&mut self, plan: &General, static_frame: u32) -> Iteration {
        let mut iteration = self.spare[static_frame as usize].pop().unwrap_or_default();
        iteration.reset(&plan.frames[static_frame as usize]);
        iteration
    }

    pub fn keep_iteration(&mut self, static_frame: u32, iteration: Iteration) {
        let spare = &mut self.spare[static_frame as usize];
        if spare.len() < SPARE {
            spare.push(iteration);
        }
    }
}
