//! Reads of reference variables, made when their users run.
//!
//! In TensorFlow the result of a read (`Identity`) shares the variable's memory, also behind an `Enter` or a `Switch`: a node that runs
//! after an update sees it, and programs rely on it (the tokens of SyncReplicasOptimizer hold the step that was just counted; a loop
//! reads what its last iteration assigned). Here a value does not change once it is read. So a node that runs after an update of the
//! variable gets a read of its own, after the update, in the same frame and branch; or, where a Merge joins values of several variables,
//! the reference itself (`carried_reads`).

use super::carried_reads::carry_reference;
use crate::work::{Forward, Kind, Work, WorkNode, work_order};
use smallvec::SmallVec;
use std::collections::{BTreeMap, HashMap, HashSet};
use thalweg_core::error::Result;
use thalweg_core::node::{NodeId, Output};
use thalweg_core::op::Class;

pub fn read_late(work: &mut Work) -> Result<()> {
    if !work.nodes.iter().any(|n| n.outputs.iter().any(|p| p.is_ref)) {
        return Ok(());
    }
    let order = work_order(work)?;
    let mut variables = Variables::find(work, &order);
    let reads = std::mem::take(&mut variables.reads);
    let mut late = LateReads { variables, users: users(work), references: HashMap::new() };
    let crossings = crossings(&order, &late.users);
    let mut group = Group::default();
    for (i, (variable, reads)) in reads.iter().enumerate() {
        work.until.check_at(i)?;
        let updates = late.updates(work, *variable)?;
        if updates.is_empty() {
            continue;
        }
        let (near, beyond) = late.near(updates, &crossings);
        if beyond.is_empty() {
            late.read(work, *variable, reads, |id| near.contains(&id))?;
        } else {
            if group.is_full_for(&beyond) {
                late.read_group(work, &order, std::mem::take(&mut group))?;
            }
            group.add(Member { variable: *variable, reads, near }, beyond);
        }
    }
    late.read_group(work, &order, group)
}

/// Nodes visited for one variable alone. Few nodes follow most updates, or else the same nodes follow many updates.
const NEAR: usize = 256;
/// A node with more users is a crossing.
const MANY_USERS: usize = 64;
/// Variables handled together, which limits memory.
const MEMBERS: usize = 4096;

/// Nodes where the search from one variable stops: those with many users, and one in `NEAR` of the others. What follows them is found for
/// many variables together, with a bit for each.
fn crossings(order: &[NodeId], users: &[Vec<NodeId>]) -> Vec<bool> {
    let mut found: Vec<bool> = users.iter().map(|u| u.len() > MANY_USERS).collect();
    order.iter().step_by(NEAR).for_each(|id| found[id.at()] = true);
    found
}

/// Variables whose search stopped at crossings; those that stopped at the same crossings share a bit.
#[derive(Default)]
struct Group<'a> {
    beyond: HashMap<Vec<NodeId>, usize>,
    members: Vec<(Member<'a>, usize)>,
}

struct Member<'a> {
    variable: Variable,
    reads: &'a [NodeId],
    near: HashSet<NodeId>,
}

impl<'a> Group<'a> {
    fn is_full_for(&self, beyond: &Vec<NodeId>) -> bool {
        let bits = self.beyond.len() == u64::BITS as usize && !self.beyond.contains_key(beyond);
        bits || self.members.len() == MEMBERS
    }

    fn add(&mut self, member: Member<'a>, beyond: Vec<NodeId>) {
        let next = self.beyond.len();
        let bit = *self.beyond.entry(beyond).or_insert(next);
        self.members.push((member, bit));
    }
}

struct LateReads {
    variables: Variables,
    /// For each node, those that use its outputs or wait for it.
    users: Vec<Vec<NodeId>>,
    /// References added in loops and on branches.
    references: HashMap<Output, Output>,
}

impl LateReads {
    fn read_group(&mut self, work: &mut Work, order: &[NodeId], group: Group<'_>) -> Result<()> {
        if group.members.is_empty() {
            return Ok(());
        }
        let after = self.after(work, order, &group.beyond)?;
        for (i, (member, bit)) in group.members.iter().enumerate() {
            work.until.check_at(i)?;
            let is_beyond = |id: NodeId| after.get(id.at()).is_some_and(|bits| bits >> bit & 1 == 1);
            let is_after = |id: NodeId| member.near.contains(&id) || is_beyond(id);
            self.read(work, member.variable, member.reads, is_after)?;
        }
        Ok(())
    }

    /// The nodes that may update the variable.
    fn updates(&self, work: &Work, variable: Variable) -> Result<Vec<NodeId>> {
        let mut found = Vec::new();
        let variable = NodeId(variable.0).output(variable.1);
        for reference in self.variables.references(variable) {
            for user in &self.users[reference.node.at()] {
                let node = work.node(*user);
                let signature = work.registry.signature(node.op)?;
                let takes = node.inputs.contains(reference) && signature.inputs.iter().any(|a| a.is_ref);
                let passes_on = Forward::of(node.op).is_some()
                    && self.variables.of.get(&user.output(0)) == Some(&variable);
                if takes && !passes_on {
                    found.push(*user);
                }
            }
        }
        Ok(found)
    }

    /// These nodes and those that follow, in later iterations of a loop too, up to crossings or `NEAR` edges; and the nodes where the
    /// search stopped.
    fn near(&self, updates: Vec<NodeId>, crossings: &[bool]) -> (HashSet<NodeId>, Vec<NodeId>) {
        let mut near: HashSet<NodeId> = updates.iter().copied().collect();
        let (mut next, mut looked, mut beyond) = (updates, 0, Vec::new());
        while let Some(id) = next.pop() {
            let users = &self.users[id.at()];
            looked += users.len();
            if crossings[id.at()] || looked > NEAR {
                beyond.push(id);
            } else {
                next.extend(users.iter().copied().filter(|u| near.insert(*u)));
            }
        }
        beyond.sort_unstable();
        (near, beyond)
    }

    /// For each node, a bit for each of these sets: whether it is in the set or follows one that is, in later iterations of a loop too.
    fn after(&self, work: &Work, order: &[NodeId], sets: &HashMap<Vec<NodeId>, usize>) -> Result<Vec<u64>> {
        let mut after = vec![0u64; work.nodes.len()];
        for (set, bit) in sets {
            set.iter().for_each(|id| after[id.at()] |= 1 << bit);
        }
        // A back edge leads to nodes earlier in the order, so sweeps repeat until none changes anything.
        loop {
            let mut went_back = false;
            for id in order {
                work.check_now_and_then(*id)?;
                let bits = after[id.at()];
                let leads_back = work.node(*id).op.class == Class::NextIteration;
                for user in self.users[id.at()].iter().filter(|_| bits != 0) {
                    went_back |= leads_back && after[user.at()] | bits != after[user.at()];
                    after[user.at()] |= bits;
                }
            }
            if !went_back {
                return Ok(after);
            }
        }
    }

    /// Makes users of the variable's value that run after an update read it then.
    fn read(
        &mut self,
        work: &mut Work,
        variable: Variable,
        reads: &[NodeId],
        is_after: impl Fn(NodeId) -> bool,
    ) -> Result<()> {
        let output = NodeId(variable.0).output(variable.1);
        if carry_reference(work, &self.users, &self.variables, output, &is_after) {
            return Ok(());
        }
        let mut behind: HashSet<NodeId> = HashSet::new();
        for read in reads {
            // A branch taken after an update forwards the new value.
            let waits = !waits_for(work, *read, &self.variables, variable, &is_after).is_empty();
            let from = work.node(*read).inputs.first().map(|o| o.node);
            if from.is_some_and(|f| self.variables.is_read(f, variable) && (waits || behind.contains(&f))) {
                behind.insert(*read);
            }
            for user in self.users[read.at()].iter().filter(|user| is_after(**user)) {
                let waits = waits_for(work, *user, &self.variables, variable, &is_after);
                if behind.contains(read) || !waits.is_empty() {
                    read_again(work, *read, *user, waits, &mut self.references)?;
                }
            }
        }
        Ok(())
    }
}

/// The reference variables of the graph, their references and their reads.
#[derive(Default)]
pub struct Variables {
    /// The variable of each reference: references are forwarded, entered into loops and returned by updates.
    of: HashMap<Output, Output>,
    /// The variable whose value a node forwards.
    read: HashMap<NodeId, Output>,
    /// The references to each variable.
    references: HashMap<Output, Vec<Output>>,
    /// The nodes of `read` by variable, inputs first.
    reads: BTreeMap<Variable, Vec<NodeId>>,
}

/// The node and output of a variable, in an order that does not change from run to run.
type Variable = (u32, u32);

fn key(o: Output) -> Variable {
    (o.node.0, o.index)
}

impl Variables {
    /// Inputs come first in the order.
    fn find(work: &Work, order: &[NodeId]) -> Variables {
        let mut found = Variables::default();
        order.iter().for_each(|id| found.note(work, *id));
        found
    }

    fn note(&mut self, work: &Work, id: NodeId) {
        let node = work.node(id);
        let taken: SmallVec<[Output; 2]> =
            node.inputs.iter().filter_map(|o| self.of.get(o).copied()).collect();
        for (i, _) in node.outputs.iter().enumerate().filter(|(_, p)| p.is_ref) {
            let output = id.output(i as u32);
            // It may refer to any of several, so it counts as a variable of its own.
            let variable = if let [one] = taken.as_slice() { *one } else { output };
            self.of.insert(output, variable);
            self.references.entry(variable).or_default().push(output);
        }
        let Some(input) = node.inputs.first().filter(|_| forwards_value(node)) else { return };
        if let Some(variable) = self.of.get(input).or(self.read.get(&input.node)).copied() {
            self.read.insert(id, variable);
            self.reads.entry(key(variable)).or_default().push(id);
        }
    }

    /// The references to a variable.
    pub fn references(&self, variable: Output) -> &[Output] {
        self.references.get(&variable).map_or(&[], Vec::as_slice)
    }

    fn is_read(&self, id: NodeId, variable: Variable) -> bool {
        self.read.get(&id).is_some_and(|v| key(*v) == variable)
    }
}

/// Whether the node forwards its first input as a value.
fn forwards_value(node: &WorkNode) -> bool {
    let passes = match node.op.class {
        Class::Plain => Forward::of(node.op) == Some(Forward::Whole),
        class => matches!(class, Class::Enter | Class::Switch),
    };
    passes && matches!(node.kind, Kind::Op) && node.outputs.iter().all(|p| !p.is_ref)
}

/// For each node, those that use its outputs or wait for it.
fn users(work: &Work) -> Vec<Vec<NodeId>> {
    let mut users = vec![Vec::new(); work.nodes.len()];
    for (at, node) in work.nodes.iter().enumerate() {
        for before in before(node) {
            users[before.at()].push(NodeId(at as u32));
        }
    }
    users
}

/// The data and control inputs of the node.
pub fn before(node: &WorkNode) -> impl Iterator<Item = NodeId> + '_ {
    node.inputs.iter().map(|o| o.node).chain(node.control.iter().copied())
}

/// The inputs of a node that follow an update, without the reads of the variable.
fn waits_for(
    work: &Work,
    id: NodeId,
    variables: &Variables,
    variable: Variable,
    is_after: impl Fn(NodeId) -> bool,
) -> Vec<NodeId> {
    let counts = |id: &NodeId| is_after(*id) && !variables.is_read(*id, variable);
    let mut waits: Vec<NodeId> = before(work.node(id)).filter(counts).collect();
    waits.sort_unstable();
    waits.dedup();
    waits
}

/// Replaces a read value in one user by a new read, with the control inputs of the user.
fn read_again(
    work: &mut Work,
    read: NodeId,
    user: NodeId,
    waits: Vec<NodeId>,
    references: &mut HashMap<Output, Output>,
) -> Result<()> {
    let node = work.node(user);
    if node.op.class != Class::Plain || !matches!(node.kind, Kind::Op) {
        return Ok(());
    }
    let device = node.device;
    let inputs: SmallVec<[(usize, Output); 2]> =
        node.inputs.iter().copied().enumerate().filter(|(_, o)| o.node == read).collect();
    for (i, stale) in inputs {
        let Some((reference, mut control)) = reference_like(work, stale, device, references)? else {
            return Ok(());
        };
        control.extend(&waits);
        control.sort_unstable();
        control.dedup();
        let suffix = format!("late/{}", work.node(read).name);
        let late = work.add_read(user, &suffix, reference, &control)?;
        work.nodes[user.at()].inputs[i] = late.output(0);
    }
    Ok(())
}

/// How many nodes may have forwarded a value. No real program has more, and they are walked for every user.
const MAX_PATH: usize = 64;

/// A reference to the variable in the frame and on the branch of this value, and the control inputs for reading it there. None if they
/// are on different devices: there values are copies in TensorFlow too.
fn reference_like(
    work: &mut Work,
    value: Output,
    device: u16,
    references: &mut HashMap<Output, Output>,
) -> Result<Option<(Output, Vec<NodeId>)>> {
    let mut path = Vec::new();
    let mut at = value;
    let mut reference = loop {
        if work.is_ref(at) {
            break at;
        }
        if let Some(made) = references.get(&at) {
            break *made;
        }
        if work.node(at.node).device != device || path.len() == MAX_PATH {
            return Ok(None);
        }
        path.push(at);
        let Some(from) = work.node(at.node).inputs.first() else { return Ok(None) };
        at = *from;
    };
    let mut waits = Vec::new();
    while let Some(at) = path.pop() {
        waits.extend(work.node(at.node).control.iter().copied());
        if let Some(made) = follow(work, at, reference, &waits)? {
            waits.clear();
            references.insert(at, made);
            reference = made;
        }
    }
    Ok(Some((reference, waits)))
}

/// Forwards the reference on the value's path: into the loop or branch. It is dead when the value is.
fn follow(work: &mut Work, value: Output, reference: Output, waits: &[NodeId]) -> Result<Option<Output>> {
    let node = work.node(value.node);
    let op = match node.op.class {
        Class::Enter => "RefEnter",
        Class::Switch => "RefSwitch",
        _ => return Ok(None),
    };
    let (mut inputs, attrs) = (node.inputs.to_vec(), node.attrs.clone());
    if let Some(first) = inputs.first_mut() {
        *first = reference;
    }
    let made = work.add(value.node, "late", op, &inputs, waits, attrs)?;
    Ok(Some(made.output(value.index)))
}
