//! `NodeId` and `Output`.

/// One output of one node of a graph.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Output {
    pub node: NodeId,
    pub index: u32,
}

/// A node by its index in the graph.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct NodeId(pub u32);

impl NodeId {
    pub fn at(self) -> usize {
        self.0 as usize
    }

    pub fn output(self, index: u32) -> Output {
        Output { node: self, index }
    }
}
