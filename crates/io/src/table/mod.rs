//! Sorted tables of keys and values, in LevelDB's format: the index of a checkpoint is one.
//!
//! A file is blocks of entries, an empty block of metadata, a block that says where the others are, and a footer. Keys
//! within a block are stored as what differs from the key before. Tables written here are not compressed.

mod block;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use read::Table;
pub use write::TableBuilder;

use crate::varint;

/// The last eight bytes of every table.
const MAGIC: [u8; 8] = 0xdb47_7524_8b80_fb57u64.to_le_bytes();
/// Two handles, padded, and the magic number.
const FOOTER: usize = 48;
/// Kind of compression and checksum, after each block.
const TRAILER: usize = 5;

/// Where a block is.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Handle {
    offset: usize,
    size: usize,
}

impl Handle {
    fn put(self, out: &mut Vec<u8>) {
        varint::put(out, self.offset as u64);
        varint::put(out, self.size as u64);
    }

    fn take(bytes: &mut &[u8]) -> Option<Handle> {
        Some(Handle { offset: varint::take_size(bytes)?, size: varint::take_size(bytes)? })
    }
}

/// Whether bytes end as a table does.
pub fn is_table(end: &[u8]) -> bool {
    end.ends_with(&MAGIC)
}
