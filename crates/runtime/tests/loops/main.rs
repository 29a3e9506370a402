//! Loops: as programs, node by node, and cut between devices.

mod maker;
mod partitions;
mod programs;
