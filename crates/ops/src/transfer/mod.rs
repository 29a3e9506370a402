//! `_Send`, `_Recv`: the ends of an edge that was cut between two devices.

mod recv;
mod send;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = &[&send::SEND, &send::HOST_SEND, &recv::RECV, &recv::HOST_RECV];
