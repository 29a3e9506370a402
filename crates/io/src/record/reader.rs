use super::{Compression, FOOTER, HEADER};
use crate::snappy::BlockReader;
use crate::{bounded_read, crc, durable};
use bytes::Bytes;
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::path::Path;
use thalweg_core::buffer;
use thalweg_core::error::{Error, Result, data_loss, resource_exhausted};

/// Reads records in order. An error ends the iteration: the start of the next record is unknown then.
pub struct RecordReader<'a> {
    input: Box<dyn Read + Send + 'a>,
    name: String,
    offset: u64,
    failed: bool,
    /// The limit on a record's length, that of a tensor: a few compressed bytes may expand to very many.
    pub(super) limit: usize,
}

impl RecordReader<'static> {
    pub fn open(path: &Path, compression: Compression) -> Result<RecordReader<'static>> {
        let file = File::open(path).map_err(|e| durable::with_path(path, e))?;
        Ok(RecordReader::new(file, compression, path.display().to_string()))
    }
}

impl<'a> RecordReader<'a> {
    /// Reads from any source; errors have its `name`.
    pub fn new(input: impl Read + Send + 'a, compression: Compression, name: impl Into<String>) -> Self {
        let input = BufReader::with_capacity(1 << 16, input);
        let input: Box<dyn Read + Send + 'a> = match compression {
            Compression::None => Box::new(input),
            Compression::Zlib => Box::new(BufReader::new(ZlibDecoder::new(input))),
            Compression::Gzip => Box::new(BufReader::new(MultiGzDecoder::new(input))),
            Compression::Snappy => Box::new(BufReader::new(BlockReader::new(input))),
        };
        RecordReader { input, name: name.into(), offset: 0, failed: false, limit: buffer::limit() }
    }

    /// The offset of the next record, uncompressed.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    fn read(&mut self) -> Result<Option<Bytes>> {
        let mut header = Vec::with_capacity(HEADER);
        self.fill(&mut header, HEADER)?;
        let (length, checksum) = match header.as_slice() {
            [] => return Ok(None),
            [a, b, c, d, e, f, g, h, crc @ ..] if crc.len() == 4 => {
                (u64::from_le_bytes([*a, *b, *c, *d, *e, *f, *g, *h]), crc)
            }
            _ => return Err(self.damaged("truncated record", "its header is cut short")),
        };
        if !crc::agrees(checksum, crc::masked(&header[..8])) {
            return Err(self.damaged("corrupted record", "the checksum of its length is wrong"));
        }
        let length = usize::try_from(length).ok().filter(|n| n.checked_add(FOOTER).is_some());
        let length = length.ok_or_else(|| self.damaged("corrupted record", "its length cannot be"))?;
        let mut data = Vec::new();
        self.fill(&mut data, (length + FOOTER).min(self.limit.saturating_add(1)))?;
        if data.len() > self.limit {
            return Err(resource_exhausted(format_args!(
                "{}: the record at {} has {length} bytes, over the limit of {}",
                self.name, self.offset, self.limit
            )));
        }
        if data.len() < length + FOOTER {
            return Err(self.damaged(
                "truncated record",
                &format!("{} bytes follow of the {} it needs", data.len(), length + FOOTER),
            ));
        }
        let checksum = data.split_off(length);
        if !crc::agrees(&checksum, crc::masked(&data)) {
            return Err(self.damaged("corrupted record", "the checksum of its data is wrong"));
        }
        self.offset += (HEADER + length + FOOTER) as u64;
        Ok(Some(data.into()))
    }

    /// Up to `count` bytes.
    fn fill(&mut self, out: &mut Vec<u8>, count: usize) -> Result<()> {
        bounded_read::read_up_to(&mut self.input, count, out).map_err(|e| match e.kind() {
            // The error kinds of decoders for corrupt input.
            ErrorKind::InvalidInput | ErrorKind::InvalidData | ErrorKind::UnexpectedEof => {
                self.damaged("corrupted record", &format!("the compressed data is damaged ({e})"))
            }
            _ => Error::from(e).context(&self.name),
        })
    }

    fn damaged(&self, what: &str, how: &str) -> Error {
        data_loss(format_args!("{}: {what} at {}: {how}", self.name, self.offset))
    }
}

impl Iterator for RecordReader<'_> {
    type Item = Result<Bytes>;

    fn next(&mut self) -> Option<Result<Bytes>> {
        if self.failed {
            return None;
        }
        let record = self.read();
        self.failed = record.is_err();
        record.transpose()
    }
}
