//! Loops: as programs, node by node, and cut between devices.

mod endless;
mod maker;
mod partitions;
mod programs;
