//! The features of `Example` messages, and the context of `SequenceExample` messages, which lies in the same field.

use super::batch::{self, Batch};
use super::feature::{Feature, Slots, Values};
use super::wire::{Field, Fields, Malformed, Wire};
use crate::prelude::*;
use crate::tasks;
use bytes::Bytes;
use std::collections::HashMap;
use std::ops::Range;
use thalweg_math::parallel::Parallel;

/// A feature to parse.
pub struct Want {
    pub key: Bytes,
    pub dtype: DataType,
    pub form: Form,
}

pub enum Form {
    /// As many values as there are: for sparse and ragged results.
    Any,
    /// A fixed number of values, or the default where the feature is missing; an empty default: it is required.
    Fixed { shape: Shape, default: Tensor },
    /// Any number of rows of `stride` values, padded with the default to the longest of the batch.
    Padded { shape: PartialShape, stride: usize, default: Tensor },
}

/// What was parsed of a feature.
pub enum Parsed {
    /// With the batch dimension.
    Dense(Tensor),
    Rows(Rows),
}

/// The values of all rows, and how many each row has.
pub struct Rows {
    pub values: Values,
    pub counts: Vec<usize>,
}

/// Looks keys up. Messages of one file have their keys in the same order, as a rule: what followed last time is tried first.
pub struct Keys<'a> {
    by_name: &'a HashMap<&'a [u8], usize>,
    names: &'a [&'a [u8]],
    order: Vec<usize>,
    at: usize,
}

impl<'a> Keys<'a> {
    pub fn new(by_name: &'a HashMap<&'a [u8], usize>, names: &'a [&'a [u8]]) -> Keys<'a> {
        Keys { by_name, names, order: Vec::new(), at: 0 }
    }

    pub fn restart(&mut self) {
        self.at = 0;
    }

    pub fn find(&mut self, key: &[u8]) -> Result<Option<usize>> {
        let at = self.at;
        self.at += 1;
        if let Some(guess) = self.order.get(at)
            && self.names.get(*guess) == Some(&key)
        {
            return Ok(Some(*guess));
        }
        let found = self.by_name.get(key).copied();
        let remembered = found.unwrap_or(usize::MAX);
        match self.order.get_mut(at) {
            Some(guess) => *guess = remembered,
            // A message of very many keys is not learnt.
            None if at < 1024 => reserve::push(&mut self.order, remembered)?,
            None => {}
        }
        Ok(found)
    }
}

/// The key and the value of a map's entry.
pub fn entry(bytes: &[u8]) -> Wire<(&[u8], &[u8])> {
    let (mut key, mut value) = (&[][..], &[][..]);
    let mut fields = Fields(bytes);
    while let Some((number, contents)) = fields.next()? {
        match (number, contents) {
            (1, Field::Bytes(k)) => key = k,
            (2, Field::Bytes(v)) => value = v,
            (1 | 2, _) => return Err(Malformed),
            _ => {}
        }
    }
    Ok((key, value))
}

/// Calls `each` with the entries of the maps in field `number` of a message.
pub fn for_entries<'m>(
    message: &'m [u8],
    number: u32,
    mut each: impl FnMut(&'m [u8], &'m [u8]) -> Result<Wire<()>>,
) -> Result<Wire<()>> {
    let mut walk = |m| -> Result<Wire<()>> {
        let mut fields = Fields(m);
        loop {
            let bytes = match fields.next() {
                Ok(Some((1, Field::Bytes(bytes)))) => bytes,
                Ok(Some((1, _))) | Err(Malformed) => return Ok(Err(Malformed)),
                Ok(Some(_)) => continue,
                Ok(None) => return Ok(Ok(())),
            };
            match entry(bytes) {
                Ok((key, value)) => {
                    if let Err(e) = each(key, value)? {
                        return Ok(Err(e));
                    }
                }
                Err(e) => return Ok(Err(e)),
            }
        }
    };
    let mut fields = Fields(message);
    loop {
        match fields.next() {
            Ok(Some((n, Field::Bytes(map)))) if n == number => {
                if let Err(e) = walk(map)? {
                    return Ok(Err(e));
                }
            }
            Ok(Some((n, _))) if n == number => return Ok(Err(Malformed)),
            Ok(Some(_)) => {}
            Ok(None) => return Ok(Ok(())),
            Err(e) => return Ok(Err(e)),
        }
    }
}

/// Names of types in errors, as those of feature lists are called.
fn list_name(dtype: DataType) -> &'static str {
    match dtype {
        DataType::Float => "float",
        DataType::Int64 => "int64",
        _ => "bytes",
    }
}

/// A part of the batch, with the slots of its rows in the dense results.
struct Part<'a> {
    rows: Range<usize>,
    dense: Vec<Option<Slots<'a>>>,
}

pub struct Parser<'a> {
    pub batch: &'a Batch<'a>,
    pub wants: &'a [Want],
    /// How a feature is called in errors: `Key` or `Context feature`.
    pub noun: &'static str,
}

impl<'a> Parser<'a> {
    pub fn run(&self, par: &dyn Parallel) -> Result<Vec<Parsed>> {
        let rows = self.batch.rows.len();
        let mut dense = reserve::try_collect(self.wants.iter().map(|w| match &w.form {
            Form::Fixed { shape, .. } => {
                let total = rows.checked_mul(shape.elements());
                let total =
                    total.ok_or_else(|| invalid!("{rows} rows of shape {shape} are too many values"))?;
                Values::new(w.dtype, total).map(Some)
            }
            _ => Ok(None),
        }))?;
        let ranges = batch::parts(self.batch.rows, par)?;
        let mut slots = reserve::collect(dense.iter_mut().map(|d| d.as_mut().map(Values::slots)))?;
        let mut parts = reserve::with_capacity(ranges.len())?;
        for rows in ranges {
            let dense = slots.iter_mut().zip(self.wants).map(|(s, w)| match (s, &w.form) {
                (Some(s), Form::Fixed { shape, .. }) => s.take(rows.len() * shape.elements()).map(Some),
                _ => Ok(None),
            });
            let dense = reserve::try_collect(dense)?;
            parts.push(Part { rows, dense });
        }
        let mut by_name = HashMap::new();
        reserve::room(&mut by_name, self.wants.len())?;
        by_name.extend(self.wants.iter().enumerate().map(|(i, w)| (&w.key[..], i)));
        let names = reserve::collect(self.wants.iter().map(|w| &w.key[..]))?;
        let found = tasks::run(par, parts, |part| self.part(part, Keys::new(&by_name, &names)))?;
        self.joined(found, dense)
    }

    /// The rows of all parts one after another.
    fn joined(&self, parts: Vec<Vec<Option<Rows>>>, dense: Vec<Option<Values>>) -> Result<Vec<Parsed>> {
        let mut all = reserve::try_collect(self.wants.iter().zip(dense).map(|(w, d)| match (d, &w.form) {
            (Some(values), Form::Fixed { shape, .. }) => {
                let dims = [&[self.batch.rows.len()], shape.dims()].concat();
                values.into_tensor(Shape::new(&dims)?).map(Parsed::Dense)
            }
            _ => Ok(Parsed::Rows(Rows { values: Values::new(w.dtype, 0)?, counts: Vec::new() })),
        }))?;
        for part in parts {
            for (all, rows) in all.iter_mut().zip(part) {
                match (all, rows) {
                    (Parsed::Rows(all), Some(rows)) if all.counts.is_empty() => *all = rows,
                    (Parsed::Rows(all), Some(rows)) => {
                        all.values.append(&rows.values)?;
                        reserve::extend(&mut all.counts, &rows.counts)?;
                    }
                    _ => {}
                }
            }
        }
        Ok(all)
    }

    fn part(&self, mut part: Part<'_>, mut keys: Keys<'_>) -> Result<Vec<Option<Rows>>> {
        let mut columns = reserve::try_collect(self.wants.iter().map(|w| match w.form {
            Form::Fixed { .. } => Ok(None),
            _ => {
                let counts = reserve::with_capacity(part.rows.len())?;
                Ok(Some(Rows { values: Values::new(w.dtype, 0)?, counts }))
            }
        }))?;
        let mut found: Vec<Option<&[u8]>> = reserve::filled(self.wants.len(), None)?;
        for row in part.rows.clone() {
            let Some(message) = self.batch.rows.get(row) else { break };
            found.fill(None);
            keys.restart();
            let walked = for_entries(message, 1, |key, value| {
                if let Some(slot) = keys.find(key)?.and_then(|i| found.get_mut(i)) {
                    *slot = Some(value);
                }
                Ok(Ok(()))
            })?;
            walked.map_err(|Malformed| self.malformed(row))?;
            for (((want, value), slots), column) in
                self.wants.iter().zip(&found).zip(&mut part.dense).zip(&mut columns)
            {
                let feature = value.map_or(Ok(Feature::default()), Feature::of);
                let feature = feature.map_err(|Malformed| self.malformed(row))?;
                self.store(want, feature, row, slots.as_mut(), column.as_mut())?;
            }
        }
        Ok(columns)
    }

    /// Puts the values of a feature of one row where they belong.
    fn store(
        &self,
        want: &Want,
        feature: Feature<'_>,
        row: usize,
        slots: Option<&mut Slots<'_>>,
        column: Option<&mut Rows>,
    ) -> Result<()> {
        let damaged = |Malformed| self.malformed(row);
        let Some(message) = self.batch.rows.get(row) else { return Ok(()) };
        if let Some(dtype) = feature.dtype.filter(|t| *t != want.dtype) {
            return Err(self.wrong_type(want, row, dtype));
        }
        let n = feature.len().map_err(damaged)?;
        if let (Form::Fixed { shape, default }, Some(slots)) = (&want.form, slots) {
            let place = slots.take(shape.elements())?;
            return match feature.dtype {
                None if default.elements() == 0 && shape.elements() > 0 => Err(self.missing(want, row)),
                None => place.fill_from(default),
                Some(_) if n != shape.elements() => Err(self.wrong_number(want, row, n, shape)),
                Some(_) => feature.write(message, place).map_err(damaged),
            };
        }
        let Some(column) = column else { return Ok(()) };
        if let Form::Padded { stride, shape, .. } = &want.form
            && n % (*stride).max(1) != 0
        {
            return Err(invalid!(
                "{}Number of {} values is not a multiple of stride length. Saw {n} values but output shape is: {shape}",
                self.place(want, row)?,
                list_name(want.dtype)
            ));
        }
        reserve::push(&mut column.counts, n)?;
        feature.write(message, column.values.grow(n)?).map_err(damaged)
    }

    /// The beginning of an error: which row and key.
    fn place(&self, want: &Want, row: usize) -> Result<String> {
        let (noun, key) = (self.noun, Lossy(&want.key));
        if self.batch.single && self.batch.names.is_empty() {
            return reserve::text(format_args!("{noun}: {key}.  "));
        }
        reserve::text(format_args!("Name: {}, {noun}: {key}, Index: {row}.  ", self.batch.name(row)))
    }

    #[cold]
    fn malformed(&self, row: usize) -> Error {
        let bytes = self.batch.rows.get(row).map_or(&[][..], |b| &b[..]);
        let start = bytes.get(..bytes.len().min(64)).unwrap_or_default();
        invalid!("Could not parse example input, value: '{}'", start.escape_ascii())
    }

    #[cold]
    fn missing(&self, want: &Want, row: usize) -> Error {
        let key = Lossy(&want.key);
        let what =
            format_args!("Feature: {key} (data type: {}) is required but could not be found.", want.dtype);
        match self.batch.single {
            true => invalid!("{what}"),
            false => invalid!("Name: {}, {what}", self.batch.name(row)),
        }
    }

    #[cold]
    fn wrong_type(&self, want: &Want, row: usize, found: DataType) -> Error {
        let place = match self.place(want, row) {
            Ok(place) => place,
            Err(e) => return e,
        };
        match want.form {
            Form::Any => {
                invalid!("{place}Data types don't match. Expected type: {}, Actual type: {found}", want.dtype)
            }
            _ => invalid!(
                "{place}Data types don't match. Data type: {found} but expected type: {}",
                want.dtype
            ),
        }
    }

    #[cold]
    fn wrong_number(&self, want: &Want, row: usize, n: usize, shape: &Shape) -> Error {
        match self.place(want, row) {
            Ok(place) => invalid!(
                "{place}Number of {} values != expected.  Values size: {n} but output shape: {shape}",
                list_name(want.dtype)
            ),
            Err(e) => e,
        }
    }
}
