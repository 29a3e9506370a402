use crate::message::decode;
use crate::record::{Compression, RecordReader};
use std::path::Path;
use thalweg_core::error::{Result, data_loss};
use thalweg_proto::Event;

/// Reads the events of a file in order. A truncated last event, as of a file that is still being written, is `DataLoss`.
pub struct EventReader<'a> {
    records: RecordReader<'a>,
    name: String,
}

impl EventReader<'static> {
    pub fn open(path: &Path) -> Result<EventReader<'static>> {
        let records = RecordReader::open(path, Compression::None)?;
        Ok(EventReader { records, name: path.display().to_string() })
    }
}

impl Iterator for EventReader<'_> {
    type Item = Result<Event>;

    fn next(&mut self) -> Option<Result<Event>> {
        let at = self.records.offset();
        let record = self.records.next()?;
        let bad = |e| data_loss(format_args!("{}: the record at {at} is not an event: {e}", self.name));
        Some(record.and_then(|bytes| decode(bytes)?.map_err(bad)))
    }
}
