//! The part of a tape that some tensors were computed by, without values: what a gradient is built for, once.

use super::tape::Record;
use super::{EagerTensor, variable_handle};
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use thalweg_core::tensor::Tensor;

/// Literal integers of at most as many elements (axes, sizes, permutations) are part of the structure: gradients are simpler with them known.
const SMALL: usize = 16;

/// A tensor of the structure.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Ref {
    /// One that no kept record computed.
    Leaf(usize),
    /// An output of a record.
    Output(usize, usize),
    /// The gradient of a result, which was given.
    Given(usize),
}

/// Records in order, with the tensors that they take.
pub(super) struct Structure {
    pub records: Vec<Arc<Record>>,
    pub inputs: Vec<Vec<Ref>>,
    pub leaves: Vec<EagerTensor>,
    pub ys: Vec<Ref>,
    pub xs: Vec<Ref>,
}

impl Structure {
    /// The records that the `ys` depend on.
    pub fn of(all: &[Arc<Record>], ys: &[EagerTensor], xs: &[EagerTensor]) -> Structure {
        let mut needed: HashSet<u64> = ys.iter().map(|y| y.id).collect();
        let mut records: Vec<Arc<Record>> = Vec::new();
        for record in all.iter().rev() {
            if record.outputs.iter().any(|o| needed.contains(&o.id)) {
                needed.extend(record.inputs.iter().map(|i| i.id).filter(|id| *id != 0));
                records.push(record.clone());
            }
        }
        records.reverse();
        let mut made = Structure {
            records: Vec::new(),
            inputs: Vec::new(),
            leaves: Vec::new(),
            ys: Vec::new(),
            xs: Vec::new(),
        };
        let mut known: HashMap<u64, Ref> = HashMap::new();
        for (at, record) in records.iter().enumerate() {
            let inputs = record.inputs.iter().map(|input| made.find(&mut known, input)).collect();
            made.inputs.push(inputs);
            known.extend(record.outputs.iter().enumerate().map(|(i, o)| (o.id, Ref::Output(at, i))));
        }
        made.records = records;
        made.ys = ys.iter().map(|y| made.find(&mut known, y)).collect();
        made.xs = xs.iter().map(|x| made.find(&mut known, x)).collect();
        made
    }

    fn find(&mut self, known: &mut HashMap<u64, Ref>, tensor: &EagerTensor) -> Ref {
        if let Some(found) = known.get(&tensor.id).filter(|_| tensor.id != 0) {
            return *found;
        }
        let leaf = Ref::Leaf(self.leaves.len());
        self.leaves.push(tensor.clone());
        if tensor.id != 0 {
            known.insert(tensor.id, leaf);
        }
        leaf
    }

    /// The value of a leaf that is part of the structure.
    pub fn is_literal(leaf: &EagerTensor) -> bool {
        leaf.id == 0 && leaf.tensor.dtype().is_integer() && leaf.tensor.elements() <= SMALL
    }

    pub fn value(&self, at: Ref) -> Option<&Tensor> {
        match at {
            Ref::Leaf(i) => self.leaves.get(i).map(|l| &l.tensor),
            Ref::Output(record, i) => self.records.get(record)?.outputs.get(i).map(|o| &o.tensor),
            Ref::Given(_) => None,
        }
    }

    /// The tensor itself, with its id.
    pub fn tensor(&self, at: Ref) -> Option<&EagerTensor> {
        match at {
            Ref::Leaf(i) => self.leaves.get(i),
            Ref::Output(record, i) => self.records.get(record)?.outputs.get(i),
            Ref::Given(_) => None,
        }
    }

    /// Equal for structures with the same gradients.
    pub fn key(&self, given: usize) -> Vec<u64> {
        let mut key = vec![given as u64, self.records.len() as u64, self.leaves.len() as u64];
        let number = |at: &Ref| match *at {
            Ref::Leaf(i) => (i as u64) << 1,
            Ref::Output(record, i) => ((record as u64) << 17 | (i as u64) << 1) | 1,
            Ref::Given(i) => u64::MAX - i as u64,
        };
        let shape = |key: &mut Vec<u64>, tensor: &Tensor| {
            key.push(tensor.dtype().wire() as u64 | (tensor.rank() as u64) << 8);
            key.extend(tensor.shape().iter().map(|d| *d as u64));
        };
        for leaf in &self.leaves {
            shape(&mut key, &leaf.tensor);
            if let Some(handle) = variable_handle(&leaf.tensor) {
                let mut hasher = DefaultHasher::new();
                (&handle.container, &handle.name).hash(&mut hasher);
                key.push(hasher.finish());
            } else if Structure::is_literal(leaf) {
                key.extend(leaf.tensor.to_i64s().unwrap_or_default().into_iter().map(|v| v as u64));
            }
        }
        for (record, inputs) in self.records.iter().zip(&self.inputs) {
            key.push(record.what.number());
            key.extend(inputs.iter().map(number));
            record.outputs.iter().for_each(|o| shape(&mut key, &o.tensor));
        }
        key.extend([self.ys.len() as u64, self.xs.len() as u64]);
        key.extend(self.ys.iter().chain(&self.xs).map(number));
        key
    }
}
