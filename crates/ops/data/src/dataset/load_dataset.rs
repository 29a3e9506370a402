//! `LoadDataset`: the elements that `SaveDataset` has saved. A function arranges the datasets of the shards.

use super::checkpoint::{Checkpoint, Work, done};
use super::context::Context;
use super::files::{path_of, text};
use super::function::{Function, Transformed};
use super::list;
use super::sequence::{
    Dataset, DatasetRef, Element, Iter, Next, SOURCE, Tuple, TypedDataset, UNKNOWN, emit, ready, tensor_of,
};
use super::snapshot_files::{Metadata, file};
use crate::files;
use crate::prelude::*;
use bytes::Bytes;
use std::path::PathBuf;
use thalweg_core::access::Access;
use thalweg_core::tensor::EncodedVariant;
use thalweg_io::durable::with_path;
use thalweg_io::message::decode as decode_message;
use thalweg_io::record::{Compression, RecordReader};
use thalweg_io::wire::tensor_from_proto;
use thalweg_proto::TensorProto;

pub static LOAD_DATASET: Op = Op {
    name: "LoadDataset",
    doc: "The elements saved in a directory, in the order that `reader_func` of the datasets of all shards gives.",
    inputs: &["path: string", "reader_func_other_args: Treader_func_args"],
    attrs: &[
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "compression: string = ''",
        "reader_func: func",
        "Treader_func_args: list(type) >= 0",
    ],
    kernels: cpu!(run),
    ..SOURCE
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let (directory, access) = (path_of(&text(c, 0)?), c.step.device.access.clone());
    let load = Load {
        elements: Metadata::read(&access, &directory)?.elements,
        reader: Function::of(c, "reader_func", 1)?,
        shard: Shard::of(c, directory, c.attrs().str("compression")?)?,
        access,
    };
    emit(c, &[], load)
}

/// The elements in a directory.
pub struct Load {
    pub access: Arc<Access>,
    pub reader: Function,
    /// The directory of all, in place of a shard's.
    pub shard: Shard,
    pub elements: i64,
}

impl Dataset for Load {
    fn iterator(&self, c: &Context) -> Result<Box<dyn Iter>> {
        Ok(Box::new(Transformed::new(&self.reader, self.source()?, c)))
    }
    fn cardinality(&self) -> i64 {
        self.elements
    }
}

impl Load {
    /// The dataset of the datasets of all shards.
    fn source(&self) -> Result<Tensor> {
        let metadata = Metadata::read(&self.access, &self.shard.directory)?;
        let mut shards = Vec::new();
        for directory in metadata.shards(&self.access, &self.shard.directory)? {
            let shard = Shard { directory, ..self.shard.clone() };
            reserve::push(&mut shards, vec![tensor_of(shard.into_dataset()?)])?;
        }
        let all = list::list(vec![DataType::Variant], vec![PartialShape::scalar()], shards)?;
        Ok(tensor_of(all))
    }
}

/// As `Load`, of elements that were saved without a function: they are in one shard.
pub struct LoadOnly {
    pub access: Arc<Access>,
    /// The directory of all, in place of the shard's.
    pub shard: Shard,
}

impl Dataset for LoadOnly {
    fn iterator(&self, c: &Context) -> Result<Box<dyn Iter>> {
        let metadata = Metadata::read(&self.access, &self.shard.directory)?;
        match metadata.shards(&self.access, &self.shard.directory)?.into_iter().next() {
            Some(directory) => Shard { directory, ..self.shard.clone() }.iterator(c),
            None => list::List::of(Vec::new()).iterator(c),
        }
    }
}

/// The dataset of one shard. It may be in a message: the files are opened with the rights of the device where it is read.
#[derive(Clone)]
pub struct Shard {
    directory: PathBuf,
    compression: String,
    types: Arc<[DataType]>,
    shapes: Arc<[PartialShape]>,
    /// The directory is one file.
    is_file: bool,
}

impl Shard {
    /// A shard of elements of the types and shapes of a node.
    pub fn of(c: &OpCall<'_>, directory: PathBuf, compression: &str) -> Result<Shard> {
        Compression::from_name(compression)?;
        Ok(Shard {
            directory,
            compression: compression.into(),
            types: c.attrs().types("output_types")?.into(),
            shapes: c.attrs().shapes("output_shapes")?.into(),
            is_file: false,
        })
    }

    /// The elements of one file, in place of a directory.
    pub fn of_one_file(self) -> Shard {
        Shard { is_file: true, ..self }
    }

    /// File number `i`, if there may be one.
    fn file(&self, i: u64) -> Option<PathBuf> {
        match self.is_file {
            true => (i == 0).then(|| self.directory.clone()),
            false => Some(file(&self.directory, i)),
        }
    }

    fn into_dataset(self) -> Result<DatasetRef> {
        TypedDataset::new(self.types.to_vec(), self.shapes.to_vec(), &[], self)
    }
}

/// The name of the type in messages, which is ours.
pub const SHARD: &str = "thalweg::SavedShard";

impl Dataset for Shard {
    fn iterator(&self, c: &Context) -> Result<Box<dyn Iter>> {
        let compression = Compression::from_name(&self.compression)?;
        let access = c.device()?.access.clone();
        Ok(Box::new(ShardIter { shard: self.clone(), access, compression, file: 0, records: 0, open: None }))
    }
    fn cardinality(&self) -> i64 {
        UNKNOWN
    }
    fn encode(&self) -> Option<Result<EncodedVariant>> {
        if self.is_file {
            return None;
        }
        let types = self.types.iter().map(|t| i64::from(t.wire()));
        let directory = Bytes::copy_from_slice(self.directory.as_os_str().as_encoded_bytes());
        Some(reserve::collect(types).and_then(|types| {
            let tensors = vec![
                Tensor::from_object(directory),
                Tensor::string(self.compression.as_str()),
                Tensor::vector(&types)?,
            ];
            Ok(EncodedVariant { type_name: SHARD.into(), metadata: Bytes::new(), tensors })
        }))
    }
}

/// The dataset of a shard that was in a message.
pub fn decode(encoded: &EncodedVariant) -> Result<DatasetRef> {
    let wrong = || invalid!("not a shard of a saved dataset");
    let [directory, compression, types] = &encoded.tensors[..] else { return Err(wrong()) };
    let (directory, compression) = (directory.strings()?, compression.strings()?);
    let ([directory], [compression]) = (directory, compression) else { return Err(wrong()) };
    let dtype = |n: &i64| i32::try_from(*n).ok().and_then(DataType::from_wire).ok_or_else(wrong);
    let types = reserve::try_collect(types.as_slice::<i64>()?.iter().map(dtype))?;
    let shapes = reserve::filled(types.len(), PartialShape::unknown())?;
    let compression = std::str::from_utf8(compression).map_err(|_| wrong())?.into();
    Shard {
        directory: path_of(directory),
        compression,
        types: types.into(),
        shapes: shapes.into(),
        is_file: false,
    }
    .into_dataset()
}

struct ShardIter {
    shard: Shard,
    access: Arc<Access>,
    compression: Compression,
    /// The number of the file, and how many records of it were read.
    file: u64,
    records: u64,
    open: Option<RecordReader<'static>>,
}

impl ShardIter {
    fn step(&mut self) -> Element {
        loop {
            let reader = match &mut self.open {
                Some(reader) => reader,
                none => match open(&self.shard, &self.access, self.compression, self.file)? {
                    Some(reader) => none.insert(reader),
                    None => return Ok(None),
                },
            };
            let mut element = Tuple::new();
            while element.len() < self.shard.types.len() {
                let Some(record) = reader.next().transpose()? else { break };
                self.records += 1;
                element.push(tensor(record)?);
            }
            if element.is_empty() {
                (self.open, self.records, self.file) = (None, 0, self.file + 1);
                continue;
            }
            self.check(&element)?;
            return Ok(Some(element));
        }
    }

    fn check(&self, element: &Tuple) -> Result<()> {
        if element.len() != self.shard.types.len() {
            return Err(data_loss(format_args!(
                "{}: an element is cut short",
                self.shard.directory.display()
            )));
        }
        for (i, (t, dtype)) in element.iter().zip(&*self.shard.types).enumerate() {
            if t.dtype() != *dtype {
                return Err(invalid!(
                    "Data type mismatch at component {i}: expected {dtype} but got {}.",
                    t.dtype()
                ));
            }
        }
        let shapes = element.iter().zip(&*self.shard.shapes).enumerate();
        for (i, (t, shape)) in shapes {
            if !shape.allows(t.shape()) && t.dtype() != DataType::Variant {
                return Err(invalid!(
                    "Incompatible shapes at component {i}: expected {shape} but got {}.",
                    t.shape()
                ));
            }
        }
        Ok(())
    }
}

/// A file of a shard; none after the last.
fn open(
    shard: &Shard,
    access: &Access,
    compression: Compression,
    i: u64,
) -> Result<Option<RecordReader<'static>>> {
    let Some(path) = shard.file(i) else { return Ok(None) };
    match files::open(access, &path)? {
        Ok(opened) => Ok(Some(RecordReader::new(opened, compression, path.display().to_string()))),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound && !shard.is_file => Ok(None),
        Err(e) => Err(with_path(&path, e)),
    }
}

fn tensor(record: Bytes) -> Result<Tensor> {
    let proto = decode_message::<TensorProto>(record)?;
    tensor_from_proto(&proto.map_err(|_| data_loss("a saved tensor cannot be parsed"))?)
}

impl Iter for ShardIter {
    fn next<'a>(&'a mut self, _: &'a Context) -> Next<'a> {
        ready(self.step())
    }

    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, c: &'a Context) -> Work<'a> {
        let mut restore = || {
            s.number("file", &mut self.file)?;
            s.number("records", &mut self.records)?;
            if s.restoring() && self.records > 0 {
                let reader = open(&self.shard, &self.access, self.compression, self.file)?;
                let mut reader = reader.ok_or_else(|| not_found("a file of a saved dataset is missing"))?;
                for _ in 0..self.records {
                    c.check()?;
                    if reader.next().transpose()?.is_none() {
                        break;
                    }
                }
                self.open = Some(reader);
            }
            Ok(())
        };
        done(restore())
    }
}
