//! `CSVDataset`, `CSVDatasetV2`: records of comma-separated files, as typed columns.

use super::checkpoint::{Checkpoint, Work, done};
use super::context::Context;
use super::files::{Files, Stream, read_until, text};
use super::sequence::{Dataset, Iter, Next, SOURCE, Tuple, emit, ready};
use crate::prelude::*;
use bytes::Bytes;

pub static CSV_DATASET: Op = Op {
    name: "CSVDataset",
    doc: "The records of CSV files, each as one scalar for each column.",
    inputs: &[
        "filenames: string",
        "compression_type: string",
        "buffer_size: int64",
        "header: bool",
        "field_delim: string",
        "use_quote_delim: bool",
        "na_value: string",
        "select_cols: int64",
        "record_defaults: output_types",
    ],
    attrs: &[
        "output_types: list({float, double, int32, int64, string}) >= 1",
        "output_shapes: list(shape) >= 1",
    ],
    kernels: cpu!(run),
    ..SOURCE
};

pub static EXPERIMENTAL_CSV_DATASET: Op = Op { name: "ExperimentalCSVDataset", ..CSV_DATASET };

pub static CSV_DATASET_V2: Op = Op {
    name: "CSVDatasetV2",
    inputs: &[
        "filenames: string",
        "compression_type: string",
        "buffer_size: int64",
        "header: bool",
        "field_delim: string",
        "use_quote_delim: bool",
        "na_value: string",
        "select_cols: int64",
        "record_defaults: output_types",
        "exclude_cols: int64",
    ],
    ..CSV_DATASET
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let files = Files::of(c, 0, 1)?;
    let delimiter = match &*text(c, 4)? {
        [one] => *one,
        other => return Err(invalid!("field_delim should be only 1 char, got {}", other.len())),
    };
    let defaults: Vec<Tensor> = c.arg(8).map(|i| c.input(i).cloned()).collect::<Result<_>>()?;
    if let Some(wrong) = defaults.iter().find(|d| d.rank() > 1 || d.elements() > 1) {
        return Err(invalid!(
            "Each record default should be at most rank 1 with at most one element, got shape {}",
            wrong.shape()
        ));
    }
    let select = c.int_vector(7)?;
    let exclude = match c.arg(9).next() {
        Some(i) => c.int_vector(i)?,
        None => vec![],
    };
    if !select.is_empty() && !exclude.is_empty() {
        return Err(invalid!("Either select_cols or exclude_cols should be empty"));
    }
    if !select.is_empty() && select.len() != defaults.len() {
        return Err(invalid!(
            "select_cols should match output size, got {} for {}",
            select.len(),
            defaults.len()
        ));
    }
    for columns in [&select, &exclude] {
        if columns.first().is_some_and(|i| *i < 0) || columns.windows(2).any(|w| w[0] >= w[1]) {
            return Err(invalid!(
                "select_cols and exclude_cols should be strictly increasing indices from 0, got {columns:?}"
            ));
        }
    }
    let format = Format {
        header: c.scalar(3)?,
        delimiter,
        quotes: c.scalar(5)?,
        missing: text(c, 6)?,
        select,
        exclude,
        defaults,
    };
    emit(c, &[], Csv { files, format: Arc::new(format) })
}

struct Format {
    header: bool,
    delimiter: u8,
    /// Fields may be in double quotes.
    quotes: bool,
    /// A field equal to this is missing, as an empty one.
    missing: Bytes,
    /// Selected columns; empty: all.
    select: Vec<i64>,
    exclude: Vec<i64>,
    /// Defaults of missing fields; an empty tensor for a required field.
    defaults: Vec<Tensor>,
}

#[derive(Clone)]
struct Csv {
    files: Files,
    format: Arc<Format>,
}

impl Dataset for Csv {
    fn iterator(&self, _: &Context) -> Result<Box<dyn Iter>> {
        Ok(Box::new(CsvIter { csv: self.clone(), at: 0, open: None, lines: 0 }))
    }
}

struct CsvIter {
    csv: Csv,
    at: usize,
    open: Option<Stream>,
    /// Lines read of the open file.
    lines: usize,
}

impl Iter for CsvIter {
    fn next<'a>(&'a mut self, _: &'a Context) -> Next<'a> {
        ready(self.record())
    }

    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, _: &'a Context) -> Work<'a> {
        let lines = s.number("lines", &mut self.lines);
        done(lines.and_then(|()| self.csv.files.checkpoint(s, &mut self.at, &mut self.open)))
    }
}

impl CsvIter {
    fn record(&mut self) -> Result<Option<Tuple>> {
        loop {
            let format = &self.csv.format;
            let stream = match &mut self.open {
                Some(stream) => stream,
                none => match self.csv.files.open(self.at)? {
                    Some(stream) => {
                        let stream = none.insert(stream);
                        self.lines = 0;
                        if format.header {
                            let skipped = format.read_record(stream, &mut self.lines);
                            skipped.map_err(|e| self.csv.files.error(self.at, e))?;
                        }
                        stream
                    }
                    None => return Ok(None),
                },
            };
            let first = self.lines + 1;
            match format.read_record(stream, &mut self.lines) {
                Ok(Some(record)) if record.is_empty() => continue,
                Ok(Some(record)) => {
                    return format.parse(&record).map(Some).map_err(|e| self.wrong(first, e));
                }
                Ok(None) => {}
                Err(e) => {
                    let e = self.csv.files.error(self.at, e);
                    self.open = None;
                    self.at += 1;
                    return Err(e);
                }
            }
            self.open = None;
            self.at += 1;
        }
    }

    /// The error of the record that starts at this line, with the likely cause.
    fn wrong(&self, line: usize, e: Error) -> Error {
        let path = self.csv.files.path(self.at).unwrap_or_default();
        let e = e.context(format_args!("{}, line {line}", path.display()));
        match line {
            1 if !self.csv.format.header => e.hint("if the first line names the columns, set `header`"),
            _ => e.hint("correct the line, or the types and defaults of the columns"),
        }
    }
}

impl Format {
    /// A record: a line, or several if a quoted field contains line ends; counts them.
    fn read_record(&self, stream: &mut Stream, lines: &mut usize) -> std::io::Result<Option<Vec<u8>>> {
        let mut record = Vec::new();
        if !read_until(stream, b'\n', &mut record)? {
            return Ok(None);
        }
        *lines += 1;
        let mut odd = self.quotes && odd_quotes(&record);
        while odd {
            let seen = record.len();
            reserve::push(&mut record, b'\n').map_err(reserve::as_io)?;
            if !read_until(stream, b'\n', &mut record)? {
                break;
            }
            *lines += 1;
            odd ^= odd_quotes(&record[seen..]);
            if record.len() > thalweg_core::buffer::limit() {
                return Err(std::io::Error::new(
                    std::io::ErrorKind::OutOfMemory,
                    "a record is over the limit",
                ));
            }
        }
        if record.last() == Some(&b'\r') {
            record.pop();
        }
        Ok(Some(record))
    }

    fn parse(&self, record: &[u8]) -> Result<Tuple> {
        let fields = self.fields(record)?;
        let chosen = if self.select.is_empty() {
            let excluded = |i: usize| self.exclude.binary_search(&(i as i64)).is_ok();
            reserve::collect(fields.iter().enumerate().filter(|(i, _)| !excluded(*i)).map(|(_, f)| f))?
        } else {
            reserve::collect(self.select.iter().filter_map(|i| fields.get(*i as usize)))?
        };
        if chosen.len() > self.defaults.len() {
            return Err(invalid!("Expect {} fields but have more in record", self.defaults.len()));
        }
        if chosen.len() != self.defaults.len() {
            return Err(invalid!(
                "Expect {} fields but have {} in record",
                self.defaults.len(),
                chosen.len()
            ));
        }
        chosen.iter().zip(&self.defaults).enumerate().map(|(i, (f, d))| self.value(i, f, d)).collect()
    }

    fn fields(&self, record: &[u8]) -> Result<Vec<Vec<u8>>> {
        let mut fields = Vec::new();
        let mut rest = record;
        loop {
            let (field, after) = match rest {
                [b'"', inside @ ..] if self.quotes => quoted(inside)?,
                _ => {
                    let end = rest.iter().position(|b| *b == self.delimiter).unwrap_or(rest.len());
                    let (field, after) = rest.split_at(end);
                    if self.quotes && field.contains(&b'"') {
                        return Err(invalid!("Unquoted fields cannot have quotes inside"));
                    }
                    (reserve::copied(field)?, after)
                }
            };
            reserve::push(&mut fields, field)?;
            match after {
                [] => return Ok(fields),
                [d, next @ ..] if *d == self.delimiter => rest = next,
                _ => return Err(invalid!("Quote inside a string has to be escaped by another quote")),
            }
        }
    }

    fn value(&self, i: usize, field: &[u8], default: &Tensor) -> Result<Tensor> {
        if field.is_empty() || *field == *self.missing {
            return match default.elements() {
                1 => default.clone().reshape(Shape::scalar()),
                _ => Err(invalid!("Field {i} is required but missing in record!")),
            };
        }
        let number = std::str::from_utf8(field).unwrap_or_default().trim();
        let wrong = || invalid!("Field {i} in record is not a valid {}: {}", default.dtype(), Lossy(field));
        Ok(match default.dtype() {
            DataType::String => Tensor::string(reserve::copied(field)?),
            DataType::Int32 => Tensor::scalar(number.parse::<i32>().map_err(|_| wrong())?),
            DataType::Int64 => Tensor::scalar(number.parse::<i64>().map_err(|_| wrong())?),
            DataType::Float => Tensor::scalar(number.parse::<f32>().map_err(|_| wrong())?),
            DataType::Double => Tensor::scalar(number.parse::<f64>().map_err(|_| wrong())?),
            other => return Err(invalid!("csv: data type {other} not supported")),
        })
    }
}

/// A field after its opening quote, and the rest after the closing one.
fn quoted(mut rest: &[u8]) -> Result<(Vec<u8>, &[u8])> {
    let mut field = Vec::new();
    loop {
        let Some(end) = rest.iter().position(|b| *b == b'"') else {
            return Err(invalid!("Reached end of file without closing quoted field in record"));
        };
        reserve::extend(&mut field, &rest[..end])?;
        match &rest[end + 1..] {
            [b'"', after @ ..] => {
                reserve::push(&mut field, b'"')?;
                rest = after;
            }
            after => return Ok((field, after)),
        }
    }
}

fn odd_quotes(text: &[u8]) -> bool {
    text.iter().filter(|b| **b == b'"').count() % 2 == 1
}
