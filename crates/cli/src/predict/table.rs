//! Predictions for the rows of a table.

use super::{Args, Target, checkpoint};
use crate::failure::Outcome;
use crate::output;
use crate::table::{
    CsvReader, CsvWriter, ExampleReader, Layout, Part, Record, RowReader, Schema, Task, is_records,
};
#[cfg(feature = "parquet")]
use crate::table::{ParquetReader, is_parquet};
use std::sync::Arc;
use thalweg::Callable;
use thalweg::prelude::*;
use thalweg::train::saver::Saver;
use thalweg::train::tables_initializer;
use thalweg_core::error::internal;
use thalweg_core::invalid;

/// Rows of a step.
const BATCH: usize = 1000;

pub fn run(args: &Args, schema: &Schema) -> Outcome {
    let mut reader = open(args)?;
    let columns = positions(schema, &*reader)?;
    let mut model = Loaded::open(args, schema)?;
    let mut to = Target::create(args.out.as_deref())?;
    let mut out = CsvWriter::new(reader.delimiter());
    header(&mut out, schema, reader.names())?;
    let label = reader.names().iter().position(|n| *n == schema.label);
    let mut judge = Judge { label, ..Judge::default() };
    let mut records: Vec<Record> = Vec::new();
    loop {
        let mut record = Record::default();
        let more = reader.next(&mut record)?;
        if more {
            records.push(record);
        }
        if records.len() == BATCH || !more {
            model.predict(&records, &columns, &mut out, &mut judge)?;
            to.write(&std::mem::take(&mut out.bytes))?;
            records.clear();
        }
        if !more {
            break;
        }
    }
    to.finish()?;
    if let Some(path) = &args.out {
        output::print(&format!("{} rows in {}\n{}", judge.rows, path.display(), judge.text(schema)))?;
    }
    Ok(())
}

/// A CSV file, or TFRecords of tf.Example, or Parquet: what it is is told by its first bytes.
fn open(args: &Args) -> Result<Box<dyn RowReader>> {
    if args.data.is_file() && is_records(&args.data)? {
        args.format.check_unused("TFRecords")?;
        let files = [args.data.clone()];
        return Ok(Box::new(ExampleReader::open(&files, Arc::new(Layout::of(&files)?))));
    }
    #[cfg(feature = "parquet")]
    if args.data.is_file() && is_parquet(&args.data)? {
        args.format.check_unused("Parquet files")?;
        return Ok(Box::new(ParquetReader::open(std::slice::from_ref(&args.data))?));
    }
    Ok(Box::new(CsvReader::open(&args.data, args.format.format())?))
}

/// Where the columns of the model are in the file.
fn positions(schema: &Schema, reader: &dyn RowReader) -> Result<Vec<usize>> {
    let at = |name: &String| {
        reader.names().iter().position(|n| n == name).ok_or_else(|| {
            let there = reader.names().iter().take(30).cloned().collect::<Vec<_>>().join(", ");
            invalid!("{} has no column '{name}', which the model needs; it has: {there}", reader.name())
        })
    };
    schema.used().map(|c| at(&c.name)).collect()
}

fn header(out: &mut CsvWriter, schema: &Schema, names: &[String]) -> Result<()> {
    names.iter().try_for_each(|n| out.field(n.as_bytes()))?;
    out.field(format!("predicted_{}", schema.label).as_bytes())?;
    if schema.task == Task::Classify {
        out.field(b"probability")?;
    }
    out.end_row()
}

/// A model whose weights are restored.
struct Loaded<'a> {
    schema: &'a Schema,
    run: Callable,
    /// The rows of a step.
    part: Part,
    _session: Session,
}

impl<'a> Loaded<'a> {
    fn open(args: &Args, schema: &'a Schema) -> Result<Loaded<'a>> {
        let checkpoint = checkpoint(args)?;
        let g = Scope::new();
        let nodes = schema.build(&g)?;
        let spec = schema.head(&g, &nodes, None, &|_| Err(internal("prediction does not train")))?;
        let wanted: &[&str] = match schema.task {
            Task::Classify => &["class_ids", "probabilities"],
            Task::Regress => &["predictions"],
        };
        let of = |name: &&str| spec.predictions.iter().find(|(n, _)| n == name).map(|(_, o)| o.clone());
        let outputs: Vec<Output> = wanted.iter().filter_map(of).collect();
        let (saver, tables) = (Saver::new(&g), tables_initializer(&g));
        let session =
            Session::with_options(&g, SessionOptions { threads: args.threads, ..Default::default() })?;
        saver.restore(&session, &checkpoint)?;
        session.run(&tables, &[])?;
        let run = session.callable(&nodes.inputs.iter().collect::<Vec<_>>(), &outputs)?;
        Ok(Loaded { schema, run, part: Part::empty(schema)?, _session: session })
    }

    fn predict(
        &mut self,
        records: &[Record],
        columns: &[usize],
        out: &mut CsvWriter,
        judge: &mut Judge,
    ) -> Result<()> {
        if records.is_empty() {
            return Ok(());
        }
        self.part.clear();
        for record in records {
            self.part.push(columns.iter().map(|i| record.field(*i)))?;
        }
        let rows: Vec<usize> = (0..records.len()).collect();
        let found = self.run.run(self.part.rows(&rows)?)?;
        for (i, record) in records.iter().enumerate() {
            let (guess, probability) = self.guess(&found, i)?;
            record.fields().try_for_each(|f| out.field(f))?;
            match self.schema.task {
                Task::Regress => out.field(guess.to_string().as_bytes())?,
                Task::Classify => {
                    let class = self.schema.classes.get(guess as usize).map_or("", |c| c.as_str());
                    out.field(class.as_bytes())?;
                    out.field(format!("{probability:.4}").as_bytes())?;
                }
            }
            out.end_row()?;
            judge.add(self.schema, record, guess);
        }
        Ok(())
    }

    /// The class or number of a row, and the probability of the class.
    fn guess(&self, found: &[Tensor], row: usize) -> Result<(f32, f32)> {
        let short = || internal("fewer predictions than rows");
        match (self.schema.task, found) {
            (Task::Classify, [ids, probabilities]) => {
                let id = ids.as_slice::<i64>()?.get(row).copied().ok_or_else(short)?;
                let at = row * self.schema.classes.len() + usize::try_from(id).unwrap_or(0);
                let probability = probabilities.as_slice::<f32>()?.get(at).copied().ok_or_else(short)?;
                Ok((id as f32, probability))
            }
            (Task::Regress, [values]) => {
                Ok((values.as_slice::<f32>()?.get(row).copied().ok_or_else(short)?, f32::NAN))
            }
            _ => Err(short()),
        }
    }
}

/// Compares predictions with labels, where there are some.
#[derive(Default)]
struct Judge {
    label: Option<usize>,
    rows: usize,
    labelled: usize,
    right: usize,
    squares: f64,
}

impl Judge {
    fn add(&mut self, schema: &Schema, record: &Record, guess: f32) {
        self.rows += 1;
        let Some(label) = self.label.and_then(|i| schema.label_value(record.field(i))) else { return };
        self.labelled += 1;
        self.right += usize::from(label == guess);
        self.squares += f64::from(label - guess).powi(2);
    }

    fn text(&self, schema: &Schema) -> String {
        let n = self.labelled as f64;
        match schema.task {
            _ if self.labelled == 0 => String::new(),
            Task::Classify => {
                format!(
                    "accuracy {:.3} ({} of {} with a label)\n",
                    self.right as f64 / n,
                    self.right,
                    self.labelled
                )
            }
            Task::Regress => {
                format!("RMSE {:.5} of {} with a label\n", (self.squares / n).sqrt(), self.labelled)
            }
        }
    }
}
