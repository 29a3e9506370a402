//! Blocks: entries with prefix-compressed keys, and restart points.

use crate::varint;
use thalweg_core::error::{Result, data_loss};
use thalweg_core::reserve;

/// Builds a block.
pub struct BlockBuilder {
    bytes: Vec<u8>,
    /// Offsets of the restart points, where keys are stored in full.
    restarts: Vec<u32>,
    /// Entries since the last restart point.
    since: usize,
    interval: usize,
    last: Vec<u8>,
}

impl BlockBuilder {
    /// Every `interval`-th entry is a restart point.
    pub fn new(interval: usize) -> BlockBuilder {
        BlockBuilder { bytes: Vec::new(), restarts: vec![0], since: 0, interval, last: Vec::new() }
    }

    pub fn add(&mut self, key: &[u8], value: &[u8]) {
        let shared = if self.since < self.interval {
            self.last.iter().zip(key).take_while(|(a, b)| a == b).count()
        } else {
            self.restarts.push(self.bytes.len() as u32);
            self.since = 0;
            0
        };
        for n in [shared, key.len() - shared, value.len()] {
            varint::put(&mut self.bytes, n as u64);
        }
        self.bytes.extend_from_slice(&key[shared..]);
        self.bytes.extend_from_slice(value);
        self.last.truncate(shared);
        self.last.extend_from_slice(&key[shared..]);
        self.since += 1;
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The size of the block if it were finished now.
    pub fn size(&self) -> usize {
        self.bytes.len() + 4 * (self.restarts.len() + 1)
    }

    /// The key added last.
    pub fn last(&self) -> &[u8] {
        &self.last
    }

    /// The finished block; the builder starts another.
    pub fn finish(&mut self) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.bytes);
        for r in self.restarts.iter().copied().chain([self.restarts.len() as u32]) {
            bytes.extend_from_slice(&r.to_le_bytes());
        }
        *self = BlockBuilder::new(self.interval);
        bytes
    }
}

/// Decodes the entries of a block: `each(key, range of the value)`.
pub fn entries(
    block: &[u8],
    mut each: impl FnMut(&[u8], std::ops::Range<usize>) -> Result<()>,
) -> Result<()> {
    let short = || data_loss("a block's entries do not fit in it");
    let restarts = block.last_chunk::<4>().map(|n| u32::from_le_bytes(*n) as usize).ok_or_else(short)?;
    let tail = restarts.checked_add(1).and_then(|n| n.checked_mul(4)).ok_or_else(short)?;
    let end = block.len().checked_sub(tail).ok_or_else(short)?;
    let mut rest = &block[..end];
    let mut key = Vec::new();
    while !rest.is_empty() {
        let mut size = || varint::take_size(&mut rest).ok_or_else(short);
        let (shared, unshared, value) = (size()?, size()?, size()?);
        let need = unshared.checked_add(value).ok_or_else(short)?;
        if shared > key.len() || need > rest.len() {
            return Err(short());
        }
        key.truncate(shared);
        reserve::extend(&mut key, &rest[..unshared])?;
        let start = end - rest.len() + unshared;
        each(&key, start..start + value)?;
        rest = &rest[need..];
    }
    Ok(())
}
