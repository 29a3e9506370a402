//! The files of saved datasets, in TensorFlow's layout: in a directory `snapshot.metadata`, a message about the whole, and for each run
//! `RUN/00000000.shard/00000000.snapshot` and on, which are records, one for each component of each element: a TensorProto.

use crate::files;
use crate::parsing::wire::{Field, Fields, Malformed, for_varints};
use crate::prelude::*;
use std::collections::HashMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use thalweg_core::access::Access;
use thalweg_io::record::{Compression, RecordWriter};
use thalweg_io::varint;
use thalweg_io::wire::tensor_to_proto;
use thalweg_proto::encode;

/// The version of the format: shards are TFRecord files.
const VERSION: u64 = 2;

/// The message `SnapshotMetadataRecord`.
#[derive(Default)]
pub struct Metadata {
    pub run_id: String,
    pub types: Vec<DataType>,
    pub elements: i64,
    pub finalized: bool,
}

impl Metadata {
    fn path(directory: &Path) -> PathBuf {
        directory.join("snapshot.metadata")
    }

    pub fn read(access: &Access, directory: &Path) -> Result<Metadata> {
        let bytes = match files::read(access, &Metadata::path(directory)) {
            Err(e) if e.code() == Code::NotFound => {
                return Err(not_found(format_args!(
                    "Could not find metadata file [{}]",
                    directory.display()
                )));
            }
            other => other?,
        };
        let damaged = |Malformed| data_loss(format_args!("{}: damaged", Metadata::path(directory).display()));
        let mut read = Metadata::default();
        let (mut version, mut types) = (0, Vec::new());
        let mut fields = Fields(&bytes);
        while let Some((number, field)) = fields.next().map_err(damaged)? {
            match (number, field) {
                (2, Field::Bytes(text)) => {
                    let text =
                        std::str::from_utf8(text).ok().filter(|t| t.bytes().all(|b| b.is_ascii_digit()));
                    read.run_id = text.ok_or_else(|| damaged(Malformed))?.into();
                }
                (4, Field::Varint(n)) => version = n,
                (5, Field::Varint(n)) => reserve::push(&mut types, n)?,
                (5, Field::Bytes(packed)) => {
                    reserve::room(&mut types, packed.len())?;
                    for_varints(packed, |n| types.push(n)).map_err(damaged)?;
                }
                (6, Field::Varint(n)) => read.elements = n as i64,
                (1000, Field::Varint(n)) => read.finalized = n != 0,
                _ => {}
            }
        }
        if version != VERSION {
            return Err(unimplemented(format_args!(
                "{} is of version {version} of the format; {VERSION} can be read",
                directory.display()
            )));
        }
        let dtype = |n: &u64| i32::try_from(*n).ok().and_then(DataType::from_wire);
        read.types = reserve::try_collect(types.iter().map(|n| dtype(n).ok_or_else(|| damaged(Malformed))))?;
        Ok(read)
    }

    pub fn write(&self, access: &Access, directory: &Path) -> Result<()> {
        let mut out = Vec::new();
        let number = |out: &mut Vec<u8>, field: u64, n: u64| {
            if n != 0 {
                varint::put(out, field << 3);
                varint::put(out, n);
            }
        };
        let bytes = |out: &mut Vec<u8>, field: u64, bytes: &[u8]| {
            varint::put(out, field << 3 | 2);
            varint::put(out, bytes.len() as u64);
            out.extend_from_slice(bytes);
        };
        bytes(&mut out, 2, self.run_id.as_bytes());
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        number(&mut out, 3, now.as_micros() as u64);
        number(&mut out, 4, VERSION);
        let mut types = Vec::new();
        self.types.iter().for_each(|t| varint::put(&mut types, t.wire() as u64));
        bytes(&mut out, 5, &types);
        number(&mut out, 6, self.elements as u64);
        number(&mut out, 1000, u64::from(self.finalized));
        files::replace(access, &Metadata::path(directory), &out)
    }

    /// The directories of the shards of the run, in order.
    pub fn shards(&self, access: &Access, directory: &Path) -> Result<Vec<PathBuf>> {
        let run = directory.join(&self.run_id);
        let run = run.to_str().ok_or_else(|| invalid!("{} is not UTF-8 text", run.display()))?;
        let mut found = files::matching(access, &reserve::text(format_args!("{}/*.shard", escaped(run)))?)?;
        found.sort_unstable();
        Ok(found)
    }
}

/// A path as a pattern that matches it alone.
fn escaped(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for c in path.chars() {
        if matches!(c, '*' | '?' | '[' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// File number `i` of a shard.
pub fn file(shard: &Path, i: u64) -> PathBuf {
    shard.join(format!("{i:08}.snapshot"))
}

/// Writes the shards of one run.
pub struct Writer {
    access: Arc<Access>,
    directory: PathBuf,
    compression: Compression,
    metadata: Metadata,
    shards: HashMap<i64, RecordWriter<BufWriter<File>>>,
    /// The number of the file in each shard: a position that was saved ends one.
    part: u64,
}

impl Writer {
    pub fn new(
        access: Arc<Access>,
        directory: PathBuf,
        compression: Compression,
        types: Vec<DataType>,
        run_id: String,
    ) -> Writer {
        let metadata = Metadata { run_id, types, ..Metadata::default() };
        Writer { access, directory, compression, metadata, shards: HashMap::new(), part: 0 }
    }

    pub fn begin(&self) -> Result<()> {
        files::create_directory(&self.access, &self.directory)?;
        self.metadata.write(&self.access, &self.directory)
    }

    pub fn add(&mut self, shard: i64, element: &[Tensor]) -> Result<()> {
        if !self.shards.contains_key(&shard) {
            let run = self.directory.join(&self.metadata.run_id);
            let shard_directory = run.join(format!("{:08}.shard", shard as u64));
            files::create_directory(&self.access, &shard_directory)?;
            let path = file(&shard_directory, self.part);
            let writer = files::write_records(&self.access, &path, self.compression)?;
            reserve::room(&mut self.shards, 1)?;
            self.shards.insert(shard, writer);
        }
        let Some(writer) = self.shards.get_mut(&shard) else { return Err(internal("a shard is missing")) };
        for t in element {
            writer.write(&encode(&tensor_to_proto(t)?))?;
        }
        self.metadata.elements = self.metadata.elements.saturating_add(1);
        Ok(())
    }

    /// Ends the files, and with them the part.
    pub fn end_part(&mut self) -> Result<()> {
        let ended = !self.shards.is_empty();
        for (_, writer) in self.shards.drain() {
            writer.finish()?;
        }
        self.part += u64::from(ended);
        Ok(())
    }

    pub fn end(&mut self) -> Result<()> {
        self.end_part()?;
        self.metadata.finalized = true;
        self.metadata.write(&self.access, &self.directory)
    }

    /// Run, part and elements, to be saved and restored.
    pub fn position(&mut self) -> (&mut String, &mut u64, &mut i64) {
        (&mut self.metadata.run_id, &mut self.part, &mut self.metadata.elements)
    }
}
