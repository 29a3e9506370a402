//! Sorted string tables (SSTables) in LevelDB's format: the index of a checkpoint is one.
//!
//! A file is data blocks, an empty metaindex block, an index block with a handle for each data block, and a footer. Keys
//! within a block are prefix-compressed. Blocks compressed with snappy are read, not written.

mod block;
mod builder;
mod reader;
#[cfg(test)]
mod tests;

pub use builder::TableBuilder;
pub use reader::Table;

use crate::varint;

/// The magic number: the last eight bytes of a table.
const MAGIC: [u8; 8] = 0xdb47_7524_8b80_fb57u64.to_le_bytes();
/// Size of the footer: two block handles, padded, and the magic number.
const FOOTER: usize = 48;
/// Size of a block's trailer: compression type and CRC.
const TRAILER: usize = 5;

/// A block handle: offset and size.
#[derive(Clone, Copy, Debug, PartialEq)]
struct BlockHandle {
    offset: usize,
    size: usize,
}

impl BlockHandle {
    fn put(self, out: &mut Vec<u8>) {
        varint::put(out, self.offset as u64);
        varint::put(out, self.size as u64);
    }

    fn take(bytes: &mut &[u8]) -> Option<BlockHandle> {
        Some(BlockHandle { offset: varint::take_size(bytes)?, size: varint::take_size(bytes)? })
    }
}

/// Whether a file ends with a table's magic number.
pub fn is_table(end: &[u8]) -> bool {
    end.ends_with(&MAGIC)
}
