//! `SnapshotDataset`, `SnapshotDatasetV2`: the elements of a dataset, which the first iteration saves in files and later ones read; and the datasets of such
//! files.

use super::checkpoint::{Checkpoint, Work, work};
use super::context::Context;
use super::dataset_graph::fingerprint;
use super::files::{path_of, text};
use super::function::Function;
use super::list;
use super::load_dataset::{Load, LoadOnly, Shard};
use super::pass_through;
use super::save_dataset::{Save, Saving};
use super::sequence::{DATASET, Dataset, DatasetRef, Iter, Next, Tuple, emit, input, later};
use super::snapshot_files::Metadata;
use crate::prelude::*;
use std::path::PathBuf;
use thalweg_core::access::Access;
use thalweg_io::record::Compression;

pub static SNAPSHOT_DATASET_V2: Op = Op {
    name: "SnapshotDatasetV2",
    doc: "The elements of `input_dataset`, saved in files by the first iteration and read by the others.",
    inputs: &[
        "input_dataset: variant",
        "path: string",
        "reader_func_other_args: Treader_func_args",
        "shard_func_other_args: Tshard_func_args",
    ],
    attrs: &[
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "compression: string = ''",
        "reader_prefix: string = ''",
        "writer_prefix: string = ''",
        "hash_valid: bool = false",
        "hash: int = 0",
        "reader_func: func",
        "shard_func: func",
        "Treader_func_args: list(type) >= 0",
        "Tshard_func_args: list(type) >= 0",
        "metadata: string = ''",
    ],
    kernels: cpu!(snapshot),
    ..DATASET
};

pub static SNAPSHOT_DATASET: Op = Op {
    name: "SnapshotDataset",
    doc: "As SnapshotDatasetV2, with one file for all elements. The files are in the format of SnapshotDatasetV2.",
    inputs: &["input_dataset: variant", "path: string"],
    attrs: &[
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "compression: string = ''",
        "reader_path_prefix: string = ''",
        "writer_path_prefix: string = ''",
        "shard_size_bytes: int = 10737418240",
        "pending_snapshot_expiry_seconds: int = 86400",
        "num_reader_threads: int = 1",
        "reader_buffer_size: int = 1",
        "num_writer_threads: int = 1",
        "writer_buffer_size: int = 1",
        "shuffle_on_read: bool = false",
        "seed: int = 0",
        "seed2: int = 0",
        "mode: string = 'auto'",
        "snapshot_name: string = ''",
    ],
    kernels: cpu!(first_snapshot),
    ..DATASET
};

pub static SNAPSHOT_DATASET_READER: Op = Op {
    name: "SnapshotDatasetReader",
    doc: "The elements of one shard of a snapshot, from number `start_index` on.",
    inputs: &["shard_dir: string", "start_index: int64"],
    attrs: &[
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "compression: string = ''",
        "version: int",
    ],
    kernels: cpu!(shard_reader),
    ..DATASET
};

pub static SNAPSHOT_CHUNK_DATASET: Op = Op {
    name: "SnapshotChunkDataset",
    doc: "The elements in one file of a snapshot.",
    inputs: &["chunk_file: string"],
    attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1", "compression: string = ''"],
    kernels: cpu!(chunk_reader),
    ..DATASET
};

pub static SNAPSHOT_NESTED_DATASET_READER: Op = Op {
    name: "SnapshotNestedDatasetReader",
    doc: "A dataset of datasets.",
    inputs: &["inputs: N * variant"],
    attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1", "N: int >= 1"],
    kernels: cpu!(nested),
    ..DATASET
};

fn snapshot(c: &mut OpCall<'_>) -> Result<()> {
    let (input, path) = (input(c, 0)?, path_of(&text(c, 1)?));
    let attrs = c.attrs();
    let compression = match attrs.str("compression")? {
        "AUTO" => "SNAPPY",
        named => named,
    };
    let hash = match attrs.bool("hash_valid")? {
        true => attrs.int("hash")? as u64,
        false => fingerprint(&input, c.step)?,
    };
    let directory = path.join(hash.to_string());
    let access = c.step.device.access.clone();
    let shard_func = Some(Function::of(c, "shard_func", 3)?);
    let compression_kind = Compression::from_name(compression)?;
    let save = Save { directory: directory.clone(), compression: compression_kind, shard_func };
    let load = Load {
        access: access.clone(),
        reader: Function::of(c, "reader_func", 2)?,
        shard: Shard::of(c, directory.clone(), compression)?,
        elements: input.cardinality(),
    };
    let write = Saving { input: input.clone(), save };
    let ways = Arc::new(Ways { write, load: Box::new(load) });
    emit(c, &[&input], Snapshot { files: Files { directory, access }, ways, reading: None })
}

fn first_snapshot(c: &mut OpCall<'_>) -> Result<()> {
    let (input, path) = (input(c, 0)?, path_of(&text(c, 1)?));
    let attrs = c.attrs();
    let reading = match attrs.str("mode")? {
        "passthrough" => return pass_through::run(c),
        "auto" => None,
        "read" => Some(true),
        "write" => Some(false),
        _ => {
            return Err(invalid!("mode must be either 'auto', 'read', 'write', or 'passthrough'."));
        }
    };
    let compression = attrs.str("compression")?;
    let directory = match attrs.str("snapshot_name")? {
        "" => path.join(fingerprint(&input, c.step)?.to_string()),
        name => path.join(format!("custom-{name}")),
    };
    let access = c.step.device.access.clone();
    let kind = Compression::from_name(compression)?;
    let save = Save { directory: directory.clone(), compression: kind, shard_func: None };
    let load = LoadOnly { access: access.clone(), shard: Shard::of(c, directory.clone(), compression)? };
    let ways = Ways { write: Saving { input: input.clone(), save }, load: Box::new(load) };
    emit(c, &[&input], Snapshot { files: Files { directory, access }, ways: Arc::new(ways), reading })
}

#[derive(Clone)]
struct Files {
    directory: PathBuf,
    access: Arc<Access>,
}

impl Files {
    fn are_complete(&self) -> bool {
        Metadata::read(&self.access, &self.directory).is_ok_and(|m| m.finalized)
    }
}

struct Snapshot {
    files: Files,
    ways: Arc<Ways>,
    /// Whether the files are read; `None`: if they are complete.
    reading: Option<bool>,
}

struct Ways {
    write: Saving,
    load: Box<dyn Dataset>,
}

impl Ways {
    fn open(&self, reading: bool, c: &Context) -> Result<Box<dyn Iter>> {
        if reading { self.load.iterator(c) } else { self.write.iterator(c) }
    }
}

impl Dataset for Snapshot {
    fn iterator(&self, c: &Context) -> Result<Box<dyn Iter>> {
        let (ways, inner) = (self.ways.clone(), c.without_cancellation());
        let reading = self.reading.unwrap_or_else(|| self.files.are_complete());
        Ok(Box::new(SnapshotIter { open: ways.open(reading, &inner)?, reading, ways, inner }))
    }
    fn cardinality(&self) -> i64 {
        self.ways.write.cardinality()
    }
}

struct SnapshotIter {
    open: Box<dyn Iter>,
    reading: bool,
    ways: Arc<Ways>,
    inner: Context,
}

impl Iter for SnapshotIter {
    fn next<'a>(&'a mut self, c: &'a Context) -> Next<'a> {
        self.open.next(c)
    }

    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, c: &'a Context) -> Work<'a> {
        work(async move {
            let before = self.reading;
            s.flag("reading", &mut self.reading)?;
            if self.reading != before {
                self.open = self.ways.open(self.reading, &self.inner)?;
            }
            s.input("input", &mut self.open, c).await
        })
    }
}

/// The version of the files that can be read: shards are TFRecord files.
const VERSION: i64 = 2;

fn shard_reader(c: &mut OpCall<'_>) -> Result<()> {
    let (directory, start) = (path_of(&text(c, 0)?), c.scalar::<i64>(1)?);
    let version = c.attrs().int("version")?;
    if version != VERSION {
        return Err(unimplemented(format_args!(
            "snapshots of version {version} of the format; {VERSION} can be read"
        )));
    }
    let shard = Shard::of(c, directory, c.attrs().str("compression")?)?;
    emit(c, &[], From { shard, start })
}

/// The elements of a shard from a number on.
struct From {
    shard: Shard,
    start: i64,
}

impl Dataset for From {
    fn iterator(&self, c: &Context) -> Result<Box<dyn Iter>> {
        Ok(Box::new(FromIter { input: self.shard.iterator(c)?, skip: self.start }))
    }
}

struct FromIter {
    input: Box<dyn Iter>,
    skip: i64,
}

impl Iter for FromIter {
    fn next<'a>(&'a mut self, c: &'a Context) -> Next<'a> {
        later(async move {
            while self.skip > 0 {
                c.check()?;
                if self.input.next(c).await?.is_none() {
                    return Ok(None);
                }
                self.skip -= 1;
            }
            self.input.next(c).await
        })
    }

    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, c: &'a Context) -> Work<'a> {
        work(async move {
            s.number("skip", &mut self.skip)?;
            s.input("input", &mut self.input, c).await
        })
    }
}

fn chunk_reader(c: &mut OpCall<'_>) -> Result<()> {
    let path = path_of(&text(c, 0)?);
    let shard = Shard::of(c, path, c.attrs().str("compression")?)?.of_one_file();
    emit(c, &[], shard)
}

fn nested(c: &mut OpCall<'_>) -> Result<()> {
    let datasets = reserve::try_collect((0..c.inputs.len()).map(|i| input(c, i)))?;
    let elements: Vec<Tuple> =
        reserve::try_collect((0..c.inputs.len()).map(|i| Ok(vec![c.input(i)?.clone()])))?;
    let inputs: Vec<&DatasetRef> = datasets.iter().collect();
    emit(c, &inputs, list::List::of(elements))
}
