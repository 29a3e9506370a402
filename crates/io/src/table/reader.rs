use super::block::entries;
use super::{BlockHandle, FOOTER, MAGIC, TRAILER};
use crate::crc::{self, Crc};
use bytes::Bytes;
use thalweg_core::error::{Error, Result, data_loss, unimplemented};
use thalweg_core::reserve;

/// All entries of a table, validated when it is read.
#[derive(Debug)]
pub struct Table {
    entries: Vec<(Vec<u8>, Bytes)>,
}

/// The limit on the size of all keys, relative to the file: far above the ratio of prefix compression, and a bound on what a
/// hostile file can allocate.
const MAX_EXPANSION: usize = 64;

impl Table {
    /// Parses a file's bytes; values are slices of them.
    pub fn read(file: &Bytes) -> Result<Table> {
        let footer = file.len().checked_sub(FOOTER).and_then(|at| file.get(at..));
        let footer = footer.ok_or_else(|| {
            data_loss(format_args!("too short for a table: {} bytes, a footer has {FOOTER}", file.len()))
        })?;
        if !footer.ends_with(&MAGIC) {
            return Err(data_loss("not a table: the magic number is wrong"));
        }
        let mut handles = footer;
        let _metaindex = BlockHandle::take(&mut handles);
        let index =
            BlockHandle::take(&mut handles).ok_or_else(|| data_loss("the table's footer is damaged"))?;
        let index = block(file, index)?;

        let mut table = Table { entries: Vec::new() };
        let mut budget = file.len().saturating_mul(MAX_EXPANSION).saturating_add(1 << 20);
        entries(&index, |bound, at| {
            let handle =
                BlockHandle::take(&mut &index[at]).ok_or_else(|| data_loss("a damaged block handle"))?;
            table.add_block(&block(file, handle)?, bound, &mut budget)
        })?;
        Ok(table)
    }

    fn add_block(&mut self, block: &Bytes, bound: &[u8], budget: &mut usize) -> Result<()> {
        entries(block, |key, at| {
            if self.entries.last().is_some_and(|(last, _)| key <= &last[..]) || key > bound {
                return Err(data_loss("the table's keys are not in order"));
            }
            let cost = key.len() + std::mem::size_of::<(Vec<u8>, Bytes)>();
            *budget =
                budget.checked_sub(cost).ok_or_else(|| data_loss("the table's keys are absurdly large"))?;
            reserve::push(&mut self.entries, (reserve::copied(key)?, block.slice(at)))
        })
    }

    pub fn get(&self, key: &[u8]) -> Option<&Bytes> {
        let at = self.entries.binary_search_by(|(k, _)| k.as_slice().cmp(key)).ok()?;
        self.entries.get(at).map(|(_, value)| value)
    }

    /// Keys and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &Bytes)> {
        self.entries.iter().map(|(k, v)| (k.as_slice(), v))
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// The contents of a block, after its CRC is verified.
fn block(file: &Bytes, at: BlockHandle) -> Result<Bytes> {
    let outside = || -> Error { data_loss(format_args!("a block at {} is past the table's end", at.offset)) };
    let end = at.offset.checked_add(at.size).ok_or_else(outside)?;
    let trailer = end.checked_add(TRAILER).and_then(|e| file.get(end..e)).ok_or_else(outside)?;
    let contents = file.slice(at.offset..end);
    let mut crc = Crc::default();
    crc.add(&contents);
    crc.add(&trailer[..1]);
    if !crc::agrees(&trailer[1..], crc.masked()) {
        return Err(data_loss(format_args!("the checksum of the block at {} is wrong", at.offset)));
    }
    match trailer[0] {
        0 => Ok(contents),
        1 => crate::snappy::decompress(&contents).map(Bytes::from),
        kind => Err(unimplemented(format_args!(
            "the block at {} is compressed in a way that is not known (kind {kind})",
            at.offset
        ))),
    }
}
