//! Loops: as programs, node by node, and partitioned.

mod endless;
mod maker;
mod partitions;
mod programs;
