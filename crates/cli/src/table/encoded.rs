//! Rows in memory, by column: a number or an index takes four bytes.

use super::Split;
use super::column::{Kind, is_missing, number};
use super::columns::Schema;
use super::csv::{Record, RowReader};
use super::infer::{Choices, Scan};
use bytes::Bytes;
use std::collections::HashMap;
use thalweg::prelude::*;
use thalweg_core::{invalid, memory, reserve};

/// The values of a column.
enum Values {
    /// NaN where they are missing.
    Numbers(Vec<f32>),
    /// Indices into the words; `NO_WORD` where there is none.
    Words { index: Vec<u32>, words: Vec<Bytes>, ids: HashMap<Bytes, u32> },
    /// Where each text ends.
    Texts { ends: Vec<usize>, bytes: Vec<u8> },
}

const NO_WORD: u32 = u32::MAX;

/// Rows to learn from, or those that are held back.
pub struct Part {
    columns: Vec<Values>,
    /// The class, or the number, of each row.
    pub labels: Vec<f32>,
}

/// Both parts of a table.
pub struct Encoded {
    pub train: Part,
    pub held: Part,
}

impl Encoded {
    /// Reads the rows that a scan has counted; their memory is reserved first.
    pub fn read(
        reader: &mut dyn RowReader,
        scan: &Scan,
        schema: &Schema,
        split: Split,
        choices: &Choices,
    ) -> Result<Encoded> {
        let needed = schema.used().map(|c| match c.kind {
            Kind::Hash { .. } => scan.text_bytes(&c.name),
            _ => 0,
        });
        let rows: usize = scan.rows.iter().sum();
        let cells = rows.saturating_mul(schema.used().count() + 1);
        let bytes = cells.saturating_mul(4).saturating_add(needed.sum());
        memory::check(bytes).map_err(|e| {
            e.context(format_args!("{rows} rows of {} columns need {bytes} bytes", schema.used().count()))
                .hint("leave out columns with --ignore, or raise --memory-limit")
        })?;
        let [train, held] = scan.rows;
        let mut all =
            Encoded { train: Part::new(schema, scan, train)?, held: Part::new(schema, scan, held)? };
        let at: Vec<usize> =
            schema.used().filter_map(|c| scan.names.iter().position(|n| *n == c.name)).collect();
        let (mut record, mut row) = (Record::default(), 0u64);
        loop {
            match reader.next(&mut record) {
                Ok(true) => {}
                Ok(false) => return Ok(all),
                Err(_) if choices.skip_bad_rows => continue,
                Err(e) => return Err(e),
            }
            if is_missing(record.field(scan.label)) {
                continue;
            }
            let part = if split.holds_back(row) { &mut all.held } else { &mut all.train };
            row += 1;
            let label = schema.label_value(record.field(scan.label)).ok_or_else(|| {
                invalid!("{}, line {}: the label changed while the file was read", reader.name(), record.line)
            })?;
            part.labels.push(label);
            for (values, i) in part.columns.iter_mut().zip(&at) {
                values.push(record.field(*i))?;
            }
        }
    }
}

impl Part {
    fn new(schema: &Schema, scan: &Scan, rows: usize) -> Result<Part> {
        let mut columns = Vec::new();
        for column in schema.used() {
            columns.push(Values::new(&column.kind, rows, scan.text_bytes(&column.name))?);
        }
        Ok(Part { columns, labels: reserve::with_capacity(rows)? })
    }

    /// Empty columns for the rows of a prediction, a batch at a time.
    pub fn empty(schema: &Schema) -> Result<Part> {
        let mut columns = Vec::new();
        for column in schema.used() {
            columns.push(Values::new(&column.kind, 0, 0)?);
        }
        Ok(Part { columns, labels: Vec::new() })
    }

    /// Adds a row without a label: fields in the order of the used columns.
    pub fn push<'a>(&mut self, fields: impl Iterator<Item = &'a [u8]>) -> Result<()> {
        self.columns.iter_mut().zip(fields).try_for_each(|(values, field)| values.push(field))
    }

    pub fn clear(&mut self) {
        self.columns.iter_mut().for_each(Values::clear);
        self.labels.clear();
    }

    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// The values of these rows, a tensor for each column.
    pub fn rows(&self, rows: &[usize]) -> Result<Vec<Tensor>> {
        self.columns.iter().map(|values| values.rows(rows)).collect()
    }
}

impl Values {
    fn new(kind: &Kind, rows: usize, text_bytes: usize) -> Result<Values> {
        Ok(match kind {
            Kind::Number { .. } | Kind::Ignored { .. } => Values::Numbers(reserve::with_capacity(rows)?),
            Kind::Vocabulary { words } => {
                let words: Vec<Bytes> = words.iter().map(|w| Bytes::copy_from_slice(w.as_bytes())).collect();
                let ids = words.iter().cloned().zip(0..).collect();
                Values::Words { index: reserve::with_capacity(rows)?, words, ids }
            }
            // Texts are those of one of two parts: the vector grows to what it needs.
            Kind::Hash { .. } => {
                let bytes = reserve::with_capacity(text_bytes.min(1 << 20))?;
                Values::Texts { ends: reserve::with_capacity(rows)?, bytes }
            }
        })
    }

    fn push(&mut self, field: &[u8]) -> Result<()> {
        let field = if is_missing(field) { &[][..] } else { field.trim_ascii() };
        match self {
            Values::Numbers(all) => reserve::push(all, number(field).map_or(f32::NAN, |x| x as f32)),
            Values::Words { index, ids, .. } => {
                reserve::push(index, ids.get(field).copied().unwrap_or(NO_WORD))
            }
            Values::Texts { ends, bytes } => {
                reserve::extend(bytes, field)?;
                reserve::push(ends, bytes.len())
            }
        }
    }

    fn clear(&mut self) {
        match self {
            Values::Numbers(all) => all.clear(),
            Values::Words { index, .. } => index.clear(),
            Values::Texts { ends, bytes } => {
                ends.clear();
                bytes.clear();
            }
        }
    }

    fn rows(&self, rows: &[usize]) -> Result<Tensor> {
        let strings = |all: Vec<Bytes>| Tensor::from_objects(Shape::vector(all.len()), all);
        match self {
            Values::Numbers(all) => {
                let of = |row: &usize| all.get(*row).copied().unwrap_or(f32::NAN);
                Tensor::vector(&rows.iter().map(of).collect::<Vec<f32>>())
            }
            Values::Words { index, words, .. } => {
                let word = |row: &usize| {
                    let id = index.get(*row).and_then(|id| usize::try_from(*id).ok());
                    id.and_then(|id| words.get(id)).cloned().unwrap_or_default()
                };
                strings(rows.iter().map(word).collect())
            }
            Values::Texts { ends, bytes } => {
                let text = |row: &usize| {
                    let start = row.checked_sub(1).map_or(Some(0), |before| ends.get(before).copied());
                    let range = start.zip(ends.get(*row).copied());
                    let text = range.and_then(|(start, end)| bytes.get(start..end));
                    text.map(Bytes::copy_from_slice).unwrap_or_default()
                };
                strings(rows.iter().map(text).collect())
            }
        }
    }
}
