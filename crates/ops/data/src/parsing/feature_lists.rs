//! The feature lists of `SequenceExample` messages: for each key a feature for each step.

use super::batch::{self, Batch};
use super::example::{Keys, for_entries};
use super::feature::{Feature, Values};
use super::forms::row_splits;
use super::wire::{Field, Fields, Malformed, Wire};
use crate::prelude::*;
use crate::tasks;
use bytes::Bytes;
use std::collections::HashMap;
use std::ops::Range;
use thalweg_math::parallel::Parallel;

/// A feature list to parse.
pub struct ListWant {
    pub key: Bytes,
    pub dtype: DataType,
    pub form: ListForm,
}

pub enum ListForm {
    /// Any number of values in each step: for sparse and ragged results.
    Any,
    /// This shape in each step. A list that is missing has no steps, if it may be missing.
    Fixed { shape: Shape, may_be_missing: bool },
}

/// What was parsed of a key.
pub struct Steps {
    pub values: Values,
    /// The steps of each row.
    pub steps: Vec<usize>,
    /// The values of each step.
    pub counts: Vec<usize>,
}

pub struct ListParser<'a> {
    pub batch: &'a Batch<'a>,
    pub wants: &'a [ListWant],
}

impl ListParser<'_> {
    pub fn run(&self, par: &dyn Parallel) -> Result<Vec<Steps>> {
        let ranges = batch::parts(self.batch.rows, par)?;
        let mut by_name = HashMap::new();
        reserve::room(&mut by_name, self.wants.len())?;
        by_name.extend(self.wants.iter().enumerate().map(|(i, w)| (&w.key[..], i)));
        let names = reserve::collect(self.wants.iter().map(|w| &w.key[..]))?;
        let parts = tasks::run(par, ranges, |rows| self.part(rows, Keys::new(&by_name, &names)))?;
        let mut all = self.empty()?;
        for part in parts {
            for (all, part) in all.iter_mut().zip(part) {
                if all.steps.is_empty() {
                    *all = part;
                } else {
                    all.values.append(&part.values)?;
                    reserve::extend(&mut all.steps, &part.steps)?;
                    reserve::extend(&mut all.counts, &part.counts)?;
                }
            }
        }
        Ok(all)
    }

    fn empty(&self) -> Result<Vec<Steps>> {
        let none = |w: &ListWant| {
            Ok(Steps { values: Values::new(w.dtype, 0)?, steps: Vec::new(), counts: Vec::new() })
        };
        reserve::try_collect(self.wants.iter().map(none))
    }

    fn part(&self, rows: Range<usize>, mut keys: Keys<'_>) -> Result<Vec<Steps>> {
        let mut columns = self.empty()?;
        let mut found: Vec<Option<&[u8]>> = reserve::filled(self.wants.len(), None)?;
        for row in rows {
            let Some(message) = self.batch.rows.get(row) else { break };
            found.fill(None);
            keys.restart();
            let walked = for_entries(message, 2, |key, value| {
                if let Some(slot) = keys.find(key)?.and_then(|i| found.get_mut(i)) {
                    *slot = Some(value);
                }
                Ok(Ok(()))
            })?;
            walked.map_err(|Malformed| self.malformed(row))?;
            for ((want, list), column) in self.wants.iter().zip(&found).zip(&mut columns) {
                self.store(want, *list, row, message, column)?;
            }
        }
        Ok(columns)
    }

    fn store(
        &self,
        want: &ListWant,
        list: Option<&[u8]>,
        row: usize,
        message: &Bytes,
        column: &mut Steps,
    ) -> Result<()> {
        if let (None, ListForm::Fixed { may_be_missing: false, .. }) = (list, &want.form) {
            return Err(invalid!(
                "Name: {}, Feature list '{}' is required but could not be found.  Did you mean to include it in \
                 feature_list_dense_missing_assumed_empty or feature_list_dense_defaults?",
                self.batch.name(row),
                Lossy(&want.key)
            ));
        }
        let mut steps = 0;
        let mut fields = Fields(list.unwrap_or_default());
        loop {
            let feature = match self.step(&mut fields) {
                Ok(Some(feature)) => feature,
                Ok(None) => break,
                Err(Malformed) => return Err(self.malformed(row)),
            };
            let n = self.check(want, feature, row, steps)?;
            reserve::push(&mut column.counts, n)?;
            let slots = column.values.grow(n)?;
            feature.write(message, slots).map_err(|Malformed| self.malformed(row))?;
            steps += 1;
        }
        reserve::push(&mut column.steps, steps)
    }

    /// The feature of the next step.
    fn step<'a>(&self, fields: &mut Fields<'a>) -> Wire<Option<Feature<'a>>> {
        while let Some((number, contents)) = fields.next()? {
            match (number, contents) {
                (1, Field::Bytes(message)) => return Feature::of(message).map(Some),
                (1, _) => return Err(Malformed),
                _ => {}
            }
        }
        Ok(None)
    }

    /// How many values the feature of a step has, if they are of the type and number asked for.
    fn check(&self, want: &ListWant, feature: Feature<'_>, row: usize, step: usize) -> Result<usize> {
        let n = feature.len().map_err(|Malformed| self.malformed(row))?;
        let (name, key) = (self.batch.name(row), Lossy(&want.key));
        if let Some(found) = feature.dtype.filter(|t| *t != want.dtype) {
            return Err(invalid!(
                "Name: {name}, Feature list: {key}, Index: {step}.  Data types don't match. Expected type: {}, \
                 Actual type: {found}",
                want.dtype
            ));
        }
        match &want.form {
            ListForm::Fixed { shape, .. } if n != shape.elements() => Err(invalid!(
                "Name: {name}, Key: {key}, Index: {step}.  Number of values != expected.  values size: {n} but \
                 output shape: {shape}"
            )),
            _ => Ok(n),
        }
    }

    #[cold]
    fn malformed(&self, row: usize) -> Error {
        invalid!("Invalid protocol message input, example id: {}", self.batch.name(row))
    }
}

impl Steps {
    /// Indices, values and dense shape.
    pub fn sparse(self, single: bool) -> Result<[Tensor; 3]> {
        let n = self.values.len();
        let width = if single { 2 } else { 3 };
        let mut indices = reserve::with_capacity(n.saturating_mul(width))?;
        let mut counts = self.counts.iter();
        for (row, steps) in self.steps.iter().enumerate() {
            for (step, count) in counts.by_ref().take(*steps).enumerate() {
                for i in 0..*count {
                    if !single {
                        indices.push(row as i64);
                    }
                    indices.extend([step as i64, i as i64]);
                }
            }
        }
        let longest = |of: &[usize]| of.iter().copied().max().unwrap_or(0) as i64;
        let shape = [self.steps.len() as i64, longest(&self.steps), longest(&self.counts)];
        Ok([
            Tensor::from_slice(Shape::new(&[n, width])?, &indices)?,
            self.values.into_tensor(Shape::vector(n))?,
            Tensor::vector(if single { &shape[1..] } else { &shape })?,
        ])
    }

    /// Values, outer splits (by row) and inner splits (by step).
    pub fn ragged(self, splits: DataType, single: bool) -> Result<[Tensor; 3]> {
        let n = self.values.len();
        let outer =
            if single { Tensor::zeros(splits, Shape::scalar())? } else { row_splits(&self.steps, splits)? };
        Ok([self.values.into_tensor(Shape::vector(n))?, outer, row_splits(&self.counts, splits)?])
    }

    /// Values padded to the most steps, and the steps of each row.
    pub fn dense(self, dtype: DataType, each: &Shape, single: bool) -> Result<[Tensor; 2]> {
        let longest = self.steps.iter().copied().max().unwrap_or(0);
        let lengths = reserve::collect(self.steps.iter().map(|n| *n as i64))?;
        if single {
            let dims = [&[longest], each.dims()].concat();
            let length = Tensor::scalar(lengths.first().copied().unwrap_or(0));
            return Ok([self.values.into_tensor(Shape::new(&dims)?)?, length]);
        }
        let shape = Shape::new(&[&[self.steps.len(), longest], each.dims()].concat())?;
        let counts = reserve::collect(self.steps.iter().map(|n| n.saturating_mul(each.elements())))?;
        let zero = Tensor::zeros(dtype, Shape::scalar())?;
        let width = longest.saturating_mul(each.elements());
        Ok([self.values.padded(&counts, width, &zero)?.into_tensor(shape)?, Tensor::vector(&lengths)?])
    }
}
