use super::block::BlockBuilder;
use super::{BlockHandle, FOOTER, MAGIC, TRAILER};
use crate::crc::Crc;
use thalweg_core::error::Result;
use thalweg_core::invalid;

/// The size from which a data block is flushed, which is TensorFlow's.
const BLOCK_SIZE: usize = 256 << 10;
const RESTART_INTERVAL: usize = 16;

/// Builds a table. Keys are added in order.
pub struct TableBuilder {
    file: Vec<u8>,
    block: BlockBuilder,
    index: BlockBuilder,
    /// The last flushed block, with its last key: its index entry is added once the next key is known.
    flushed: Option<(BlockHandle, Vec<u8>)>,
    entries: u64,
    block_size: usize,
}

impl Default for TableBuilder {
    fn default() -> Self {
        TableBuilder::with_block_size(BLOCK_SIZE)
    }
}

impl TableBuilder {
    pub fn new() -> TableBuilder {
        TableBuilder::default()
    }

    pub fn with_block_size(block_size: usize) -> TableBuilder {
        TableBuilder {
            file: Vec::new(),
            block: BlockBuilder::new(RESTART_INTERVAL),
            index: BlockBuilder::new(1),
            flushed: None,
            entries: 0,
            block_size,
        }
    }

    /// Keys must come in increasing order.
    pub fn add(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let last = self.flushed.as_ref().map_or(self.block.last(), |c| &c.1);
        if self.entries > 0 && key <= last {
            return Err(invalid!(
                "keys of a table must increase: '{}' after '{}'",
                key.escape_ascii(),
                last.escape_ascii()
            ));
        }
        if let Some((handle, last)) = self.flushed.take() {
            self.add_index_entry(&shortest_separator(&last, key), handle);
        }
        self.block.add(key, value);
        self.entries += 1;
        if self.block.size() >= self.block_size {
            self.flush_block();
        }
        Ok(())
    }

    /// The bytes of the file.
    pub fn finish(mut self) -> Vec<u8> {
        if !self.block.is_empty() {
            self.flush_block();
        }
        let metaindex = self.append(BlockBuilder::new(RESTART_INTERVAL).finish());
        if let Some((handle, last)) = self.flushed.take() {
            self.add_index_entry(&short_successor(&last), handle);
        }
        let index = self.index.finish();
        let index = self.append(index);
        let mut footer = Vec::with_capacity(FOOTER);
        metaindex.put(&mut footer);
        index.put(&mut footer);
        footer.resize(FOOTER - MAGIC.len(), 0);
        footer.extend_from_slice(&MAGIC);
        self.file.extend_from_slice(&footer);
        self.file
    }

    fn add_index_entry(&mut self, key: &[u8], handle: BlockHandle) {
        let mut value = Vec::new();
        handle.put(&mut value);
        self.index.add(key, &value);
    }

    fn flush_block(&mut self) {
        let last = self.block.last().to_vec();
        let block = self.block.finish();
        self.flushed = Some((self.append(block), last));
    }

    fn append(&mut self, block: Vec<u8>) -> BlockHandle {
        let handle = BlockHandle { offset: self.file.len(), size: block.len() };
        let mut crc = Crc::default();
        crc.add(&block);
        crc.add(&[0]);
        self.file.reserve(block.len() + TRAILER);
        self.file.extend_from_slice(&block);
        self.file.push(0);
        self.file.extend_from_slice(&crc.masked().to_le_bytes());
        handle
    }
}

/// The shortest separator: a short key that is at least `low` and below `high`.
fn shortest_separator(low: &[u8], high: &[u8]) -> Vec<u8> {
    let same = low.iter().zip(high).take_while(|(a, b)| a == b).count();
    match (low.get(same), high.get(same)) {
        (Some(a), Some(b)) if *a < u8::MAX && a + 1 < *b => {
            let mut key = low[..=same].to_vec();
            key[same] += 1;
            key
        }
        _ => low.to_vec(),
    }
}

/// A short successor: a short key that is at least `low`.
fn short_successor(low: &[u8]) -> Vec<u8> {
    match low.iter().position(|b| *b < u8::MAX) {
        Some(at) => {
            let mut key = low[..=at].to_vec();
            key[at] += 1;
            key
        }
        None => low.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_lie_between_their_neighbours() {
        let keys: [&[u8]; 9] = [b"", b"a", b"ab", b"ac", b"b", b"b\xff", b"d", b"\xff", b"\xff\xff"];
        for (i, low) in keys.iter().enumerate() {
            assert!(short_successor(low) >= low.to_vec(), "{low:?}");
            for high in &keys[i + 1..] {
                let key = shortest_separator(low, high);
                assert!(key.as_slice() >= *low && key.as_slice() < *high, "{low:?} {key:?} {high:?}");
            }
        }
        // Shortened, if there is a shorter key between the two.
        assert_eq!(
            (shortest_separator(b"abcd", b"ax"), short_successor(b"abcd")),
            (b"ac".to_vec(), b"b".to_vec())
        );
        assert_eq!(
            (shortest_separator(b"abcd", b"ac"), short_successor(b"\xff")),
            (b"abcd".to_vec(), b"\xff".to_vec())
        );
    }
}
