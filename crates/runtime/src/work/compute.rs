//! A kernel ready to run.

use std::sync::Arc;
use thalweg_core::kernel::KernelNode;
use thalweg_core::runnable::Runnable;

/// The kernel of a node with what it was made from.
#[derive(Clone)]
pub struct Compute {
    pub run: Runnable,
    pub node: Arc<KernelNode>,
}
