//! Loops: as programs, node by node, and partitioned between devices.

mod endless;
mod maker;
mod partitions;
mod programs;
