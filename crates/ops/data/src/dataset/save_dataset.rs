//! `SaveDataset`, `SaveDatasetV2`, `DatasetToTFRecord`: the elements of a dataset in files.

use super::checkpoint::{Checkpoint, Work, work};
use super::context::{Context, or_stopped};
use super::files::{path_of, text};
use super::function::Function;
use super::sequence::{
    Dataset, DatasetRef, Element, Iter, Next, SOURCE, Tuple, dataset_of, emit, input, later,
};
use super::snapshot_files::Writer;
use super::task::Task;
use crate::files;
use crate::prelude::*;
use std::path::PathBuf;
use thalweg_io::record::Compression;

pub static SAVE_DATASET: Op = Op {
    name: "SaveDataset",
    doc: "Saves the elements of `input_dataset` in a directory, each in the shard that `shard_func` gives.",
    inputs: &["input_dataset: variant", "path: string", "shard_func_other_args: Tshard_func_args"],
    attrs: &[
        "compression: string = ''",
        "shard_func: func",
        "use_shard_func: bool = true",
        "Tshard_func_args: list(type) >= 0",
    ],
    shape: |_| Ok(vec![]),
    kernels: cpu!(async prepare_save),
    ..Op::STATEFUL
};

pub static SAVE_DATASET_V2: Op = Op {
    name: "SaveDatasetV2",
    doc: "The elements of `input_dataset`, which are saved in a directory as they are read.",
    inputs: &["input_dataset: variant", "path: string", "shard_func_other_args: Tshard_func_args"],
    attrs: &[
        "compression: string = ''",
        "shard_func: func",
        "use_shard_func: bool = true",
        "Tshard_func_args: list(type) >= 0",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
    ],
    kernels: cpu!(run),
    ..SOURCE
};

pub static DATASET_TO_TF_RECORD: Op = Op {
    name: "DatasetToTFRecord",
    doc: "Writes a dataset of scalar strings to a TFRecord file.",
    inputs: &["input_dataset: variant", "filename: string", "compression_type: string"],
    shape: |_| Ok(vec![]),
    kernels: cpu!(async prepare_records),
    ..Op::STATEFUL
};

pub static EXPERIMENTAL_DATASET_TO_TF_RECORD: Op =
    Op { name: "ExperimentalDatasetToTFRecord", ..DATASET_TO_TF_RECORD };

/// How a dataset is saved.
#[derive(Clone)]
pub struct Save {
    pub directory: PathBuf,
    pub compression: Compression,
    /// The shard of an element; all are in the first if there is none.
    pub shard_func: Option<Function>,
}

impl Save {
    /// A writer of a new run.
    fn writer(&self, types: &[DataType], c: &Context) -> Result<Writer> {
        let device = c.device()?;
        let run = (device.entropy)().to_string();
        let (directory, types) = (self.directory.clone(), types.to_vec());
        Ok(Writer::new(device.access.clone(), directory, self.compression, types, run))
    }

    async fn shard(&self, element: &Tuple, c: &Context) -> Result<i64> {
        let Some(f) = &self.shard_func else { return Ok(0) };
        let results = f.call(c, element.clone()).await?;
        match &results[..] {
            [one] if one.dtype() == DataType::Int64 && one.elements() == 1 => one.to_scalar(),
            _ => Err(invalid!("`shard_func` must return a scalar int64.")),
        }
    }
}

struct SaveKernel {
    compression: Compression,
    shard_func: Option<Func>,
}

fn shard_func(attrs: &Attrs) -> Result<Option<Func>> {
    Ok(if attrs.bool("use_shard_func")? { Some(attrs.func("shard_func")?.clone()) } else { None })
}

fn prepare_save(node: &KernelNode) -> Result<Arc<dyn AsyncKernel>> {
    let compression = Compression::from_name(node.attrs.str("compression")?)?;
    Ok(Arc::new(SaveKernel { compression, shard_func: shard_func(&node.attrs)? }))
}

impl AsyncKernel for SaveKernel {
    fn start(&self, call: AsyncCall, done: Done) {
        let found = dataset_and_path(&call).and_then(|(dataset, directory)| {
            let others = call.node.args.get(2).cloned().unwrap_or(0..0);
            let captured = reserve::try_collect(others.map(|i| call.tensor(i)))?;
            let shard_func = self.shard_func.clone().map(|f| Function::new(f, captured));
            Ok((dataset, Save { directory, compression: self.compression, shard_func }))
        });
        let (dataset, save) = match found {
            Ok(found) => found,
            Err(e) => return done(Err(e)),
        };
        let device = call.step.device.clone();
        Task::start(&device, async move {
            let c = Context::of(&call.step).within(&call.step);
            let saved = Box::pin(save_all(&dataset, &save, &c));
            done(or_stopped(saved, &c).await.map(|()| outputs([])));
        });
    }
}

fn dataset_and_path(call: &AsyncCall) -> Result<(DatasetRef, PathBuf)> {
    let name = call.tensor(1)?;
    match name.strings()? {
        [one] if name.rank() == 0 => Ok((dataset_of(&call.tensor(0)?)?, path_of(one))),
        _ => Err(invalid!("the path of a file must be a scalar, got shape {}", name.shape())),
    }
}

async fn save_all(dataset: &DatasetRef, save: &Save, c: &Context) -> Result<()> {
    let mut writer = save.writer(&dataset.types, c)?;
    writer.begin()?;
    let mut iterator = dataset.iterator(c)?;
    while let Some(element) = iterator.next(c).await? {
        c.check()?;
        let shard = save.shard(&element, c).await?;
        writer.add(shard, &element)?;
    }
    writer.end()
}

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let (input, directory) = (input(c, 0)?, path_of(&text(c, 1)?));
    let compression = Compression::from_name(c.attrs().str("compression")?)?;
    let shard_func = match shard_func(c.attrs())? {
        Some(_) => Some(Function::of(c, "shard_func", 2)?),
        None => None,
    };
    let save = Save { directory, compression, shard_func };
    emit(c, &[&input], Saving { input: input.clone(), save })
}

/// The elements of a dataset, which each iteration saves.
pub struct Saving {
    pub input: DatasetRef,
    pub save: Save,
}

impl Dataset for Saving {
    fn iterator(&self, c: &Context) -> Result<Box<dyn Iter>> {
        let writer = self.save.writer(&self.input.types, c)?;
        let input = Some(self.input.iterator(c)?);
        Ok(Box::new(SavingIter { input, save: self.save.clone(), writer, begun: false }))
    }
    fn cardinality(&self) -> i64 {
        self.input.cardinality()
    }
}

struct SavingIter {
    /// `None` once it has ended.
    input: Option<Box<dyn Iter>>,
    save: Save,
    writer: Writer,
    begun: bool,
}

impl SavingIter {
    async fn step(&mut self, c: &Context) -> Element {
        let Some(input) = &mut self.input else { return Ok(None) };
        if !self.begun {
            self.writer.begin()?;
            self.begun = true;
        }
        match input.next(c).await? {
            Some(element) => {
                let shard = self.save.shard(&element, c).await?;
                self.writer.add(shard, &element)?;
                Ok(Some(element))
            }
            None => {
                self.writer.end()?;
                self.input = None;
                Ok(None)
            }
        }
    }
}

impl Iter for SavingIter {
    fn next<'a>(&'a mut self, c: &'a Context) -> Next<'a> {
        later(self.step(c))
    }

    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, c: &'a Context) -> Work<'a> {
        work(async move {
            if !s.restoring() {
                self.writer.end_part()?;
            }
            s.flag("begun", &mut self.begun)?;
            let (run_id, part, elements) = self.writer.position();
            let mut run = Tensor::string(run_id.as_str());
            s.tensor("run", &mut run)?;
            s.number("part", part)?;
            s.number("elements", elements)?;
            if s.restoring() {
                let read = run.strings()?.first().and_then(|b| std::str::from_utf8(b).ok());
                let read = read.filter(|r| !r.is_empty() && r.bytes().all(|b| b.is_ascii_digit()));
                *run_id =
                    read.ok_or_else(|| invalid!("'run' of an iterator's state is not a number"))?.into();
            }
            s.input_until_end("input", &mut self.input, c).await
        })
    }
}

struct ToRecords;

fn prepare_records(_: &KernelNode) -> Result<Arc<dyn AsyncKernel>> {
    Ok(Arc::new(ToRecords))
}

impl AsyncKernel for ToRecords {
    fn start(&self, call: AsyncCall, done: Done) {
        let found = dataset_and_path(&call).and_then(|(dataset, path)| {
            let name = call.tensor(2)?;
            let name = name.strings()?.first().cloned().unwrap_or_default();
            Ok((dataset, path, Compression::from_name(&String::from_utf8_lossy(&name))?))
        });
        let (dataset, path, compression) = match found {
            Ok(found) => found,
            Err(e) => return done(Err(e)),
        };
        let device = call.step.device.clone();
        Task::start(&device, async move {
            let c = Context::of(&call.step).within(&call.step);
            let written = Box::pin(write_records(&dataset, path, compression, &c));
            done(or_stopped(written, &c).await.map(|()| outputs([])));
        });
    }
}

async fn write_records(
    dataset: &DatasetRef,
    path: PathBuf,
    compression: Compression,
    c: &Context,
) -> Result<()> {
    let mut writer = files::write_records(&c.device()?.access, &path, compression)?;
    let mut iterator = dataset.iterator(c)?;
    while let Some(element) = iterator.next(c).await? {
        c.check()?;
        match &element[..] {
            [one] if one.rank() == 0 => writer.write(&one.strings()?[0])?,
            _ => return Err(invalid!("a TFRecord file is written from a dataset of scalar strings")),
        }
    }
    writer.finish().map(|_| ())
}
