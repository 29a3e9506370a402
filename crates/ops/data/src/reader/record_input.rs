//! `RecordInput`: batches of records of many files, shuffled, without end.

use crate::files;
use crate::prelude::*;
use bytes::Bytes;
use std::path::PathBuf;
use std::sync::Mutex;
use thalweg_core::access::Access;
use thalweg_core::sync::lock;
use thalweg_io::durable::with_path;
use thalweg_io::record::{Compression, RecordReader};

pub static OPS: &[&Op] = &[&RECORD_INPUT];

static RECORD_INPUT: Op = Op {
    name: "RecordInput",
    doc: "A batch of records of the files that match, in random order; when all have been given, they begin again.",
    outputs: &["records: string"],
    attrs: &[
        "file_pattern: string",
        "file_random_seed: int = 301",
        "file_shuffle_shift_ratio: float = 0",
        "file_buffer_size: int = 10000",
        "file_parallelism: int = 16",
        "batch_size: int = 32",
        "compression_type: string = ''",
    ],
    shape: |_| Ok(vec![PartialShape::vector(-1)]),
    kernels: cpu!(make prepare),
    expensive: true,
    ..Op::STATEFUL
};

struct Yielder {
    pattern: String,
    compression: Compression,
    shift: f64,
    /// The most records to choose from.
    room: usize,
    random: u64,
    files: Vec<PathBuf>,
    at: usize,
    open: Option<RecordReader<'static>>,
    buffer: Vec<Bytes>,
    /// Records read of this epoch.
    read: u64,
}

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let attrs = &node.attrs;
    let positive = |name: &str| match attrs.int(name)? {
        n if n > 0 => Ok(n as usize),
        n => Err(invalid!("{name} must be positive, got {n}")),
    };
    let batch = positive("batch_size")?;
    positive("file_parallelism")?;
    let yielder = Mutex::new(Yielder {
        pattern: reserve::text(format_args!("{}", attrs.str("file_pattern")?))?,
        compression: Compression::from_name(attrs.str("compression_type")?)?,
        shift: f64::from(attrs.float("file_shuffle_shift_ratio")?),
        room: positive("file_buffer_size")?,
        random: attrs.int("file_random_seed")? as u64,
        files: vec![],
        at: 0,
        open: None,
        buffer: vec![],
        read: 0,
    });
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let mut yielder = lock(&yielder);
        let mut records = Vec::new();
        while records.len() < batch {
            c.step.check()?;
            let record = yielder.next(&c.step.device.access)?;
            reserve::push(&mut records, record)?;
        }
        c.set(0, Tensor::from_objects(Shape::vector(records.len()), records)?);
        Ok(())
    }))
}

impl Yielder {
    fn next(&mut self, access: &Access) -> Result<Bytes> {
        loop {
            while self.buffer.len() < self.room
                && let Some(record) = self.read_one(access)?
            {
                self.read += 1;
                reserve::push(&mut self.buffer, record)?;
            }
            if !self.buffer.is_empty() {
                let i = self.below(self.buffer.len());
                return Ok(self.buffer.swap_remove(i));
            }
            self.begin_epoch(access)?;
        }
    }

    /// The files in a new order.
    fn begin_epoch(&mut self, access: &Access) -> Result<()> {
        if !self.files.is_empty() && self.read == 0 {
            return Err(out_of_range(format_args!("no file that matches {} has a record", self.pattern)));
        }
        self.files = files::matching(access, &self.pattern)?;
        if self.files.is_empty() {
            return Err(not_found(format_args!("Found no files at {}", self.pattern)));
        }
        for i in (1..self.files.len()).rev() {
            let j = self.below(i + 1);
            self.files.swap(i, j);
        }
        let shift = (self.shift.clamp(0.0, 1.0) * self.files.len() as f64) as usize;
        let shift = shift.min(self.files.len());
        self.files.rotate_left(shift);
        (self.at, self.read) = (0, 0);
        Ok(())
    }

    fn read_one(&mut self, access: &Access) -> Result<Option<Bytes>> {
        loop {
            let reader = match &mut self.open {
                Some(reader) => reader,
                none => {
                    let Some(path) = self.files.get(self.at) else { return Ok(None) };
                    let file = files::open(access, path)?.map_err(|e| with_path(path, e))?;
                    none.insert(RecordReader::new(file, self.compression, path.display().to_string()))
                }
            };
            match reader.next() {
                Some(record) => return record.map(Some),
                None => {
                    self.open = None;
                    self.at += 1;
                }
            }
        }
    }

    /// A random number below `n` (SplitMix64).
    fn below(&mut self, n: usize) -> usize {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.random ^ (self.random >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((u128::from(z ^ (z >> 31)) * n as u128) >> 64) as usize
    }
}
