//! TFRecord files of tf.Example as tables: a column for each value of each feature.

use super::csv::{Record, RowReader};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thalweg_core::error::Result;
use thalweg_core::invalid;
use thalweg_io::durable;
use thalweg_io::message::decode;
use thalweg_io::record::{Compression, RecordReader};
use thalweg_proto::feature::Kind;
use thalweg_proto::{Bytes, Example, Feature};

/// More columns are a mistake: a feature of pixels, for instance.
const MOST_COLUMNS: usize = 20_000;

/// The features of a set of files, found by looking at each example.
pub struct Layout {
    /// How many values each has, in the order of their names.
    features: Vec<(String, usize)>,
    names: Vec<String>,
    /// Features whose number of values changes.
    pub left_out: Vec<String>,
}

impl Layout {
    pub fn of(files: &[PathBuf]) -> Result<Layout> {
        let mut counts: BTreeMap<String, Option<usize>> = BTreeMap::new();
        let mut examples = Examples::start(files);
        while let Some(example) = examples.next()? {
            for (name, feature) in example {
                let n = values(&feature);
                let count = counts.entry(name).or_insert(Some(n));
                // A feature without values is missing in this example.
                match *count {
                    Some(0) => *count = Some(n),
                    Some(before) if n != 0 && n != before => *count = None,
                    _ => {}
                }
            }
        }
        if examples.number == 0 {
            return Err(invalid!("{}: there are no records", examples.name()));
        }
        let (mut features, mut names, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
        for (name, count) in counts {
            let Some(count) = count else {
                left_out.push(name);
                continue;
            };
            match count {
                0 | 1 => names.push(name.clone()),
                n if names.len().saturating_add(n) > MOST_COLUMNS => {
                    return Err(invalid!(
                        "feature '{name}' has {n} values for each example; at most {MOST_COLUMNS} columns are read"
                    ));
                }
                n => names.extend((0..n).map(|i| format!("{name}[{i}]"))),
            }
            features.push((name, count.max(1)));
        }
        Ok(Layout { features, names, left_out })
    }
}

fn values(feature: &Feature) -> usize {
    match &feature.kind {
        Some(Kind::BytesList(l)) => l.value.len(),
        Some(Kind::FloatList(l)) => l.value.len(),
        Some(Kind::Int64List(l)) => l.value.len(),
        None => 0,
    }
}

/// A value as text; empty if there is none.
fn value(feature: Option<&Feature>, i: usize) -> Bytes {
    let found = match feature.and_then(|f| f.kind.as_ref()) {
        Some(Kind::BytesList(l)) => l.value.get(i).cloned(),
        Some(Kind::FloatList(l)) => l.value.get(i).map(|x| x.to_string().into()),
        Some(Kind::Int64List(l)) => l.value.get(i).map(|x| x.to_string().into()),
        None => None,
    };
    found.unwrap_or_default()
}

/// The examples of several files, one after another.
struct Examples {
    files: Vec<PathBuf>,
    /// Of the file that is read.
    at: usize,
    reader: Option<RecordReader<'static>>,
    /// Records so far.
    number: u64,
}

impl Examples {
    fn start(files: &[PathBuf]) -> Examples {
        Examples { files: files.to_vec(), at: 0, reader: None, number: 0 }
    }

    fn name(&self) -> String {
        let last = self.files.len().saturating_sub(1);
        self.files.get(self.at.min(last)).map(|f| f.display().to_string()).unwrap_or_default()
    }

    fn next(&mut self) -> Result<Option<impl Iterator<Item = (String, Feature)> + use<>>> {
        loop {
            let reader = match &mut self.reader {
                Some(reader) => reader,
                None => match self.files.get(self.at) {
                    Some(path) => self.reader.insert(open(path)?),
                    None => return Ok(None),
                },
            };
            let Some(bytes) = reader.next() else {
                self.reader = None;
                self.at += 1;
                continue;
            };
            let bytes = bytes?;
            self.number += 1;
            let example = decode::<Example>(bytes)?
                .map_err(|e| invalid!("{}, record {}: not a tf.Example: {e}", self.name(), self.number))?;
            return Ok(Some(example.features.unwrap_or_default().feature.into_iter()));
        }
    }
}

fn open(path: &Path) -> Result<RecordReader<'static>> {
    let compression = compression(path)?.ok_or_else(|| invalid!("{} is no TFRecord file", path.display()))?;
    RecordReader::open(path, compression)
}

/// How a TFRecord file is compressed; `None` if it is another kind of file.
fn compression(path: &Path) -> Result<Option<Compression>> {
    let mut start = Vec::new();
    let file = File::open(path).map_err(|e| durable::with_path(path, e))?;
    file.take(1 << 12).read_to_end(&mut start).map_err(|e| durable::with_path(path, e))?;
    Ok(Compression::of_bytes(&start))
}

/// Whether a file has TFRecords.
pub fn is_records(path: &Path) -> Result<bool> {
    compression(path).map(|c| c.is_some())
}

/// The rows of a table of examples.
pub struct ExampleReader {
    layout: Arc<Layout>,
    examples: Examples,
    name: String,
}

impl ExampleReader {
    pub fn open(files: &[PathBuf], layout: Arc<Layout>) -> ExampleReader {
        let first = files.first().map(|f| f.display().to_string()).unwrap_or_default();
        let more = files.len().saturating_sub(1);
        let name = if more == 0 { first } else { format!("{first} and {more} more") };
        ExampleReader { layout, examples: Examples::start(files), name }
    }
}

impl RowReader for ExampleReader {
    fn names(&self) -> &[String] {
        &self.layout.names
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn next(&mut self, record: &mut Record) -> Result<bool> {
        let Some(example) = self.examples.next()? else { return Ok(false) };
        let found: BTreeMap<String, Feature> = example.collect();
        record.start(self.examples.number);
        for (name, count) in &self.layout.features {
            let feature = found.get(name);
            (0..*count).try_for_each(|i| record.push(&value(feature, i)))?;
        }
        Ok(true)
    }
}
