//! `_Send`, `_Recv`: an edge between devices.

mod recv;
mod send;

use thalweg_core::op::Op;

pub static OPS: &[&Op] =
    &[&send::SEND, &send::HOST_SEND, &send::CLIENT_SEND, &recv::RECV, &recv::HOST_RECV, &recv::CLIENT_RECV];
