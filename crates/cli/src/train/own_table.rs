//! A table of one's own: the label of each row from its other columns, by a deep net.

use super::args::{BatchArgs, RunArgs};
use super::judge::{self, Classified};
use super::optimizer;
use super::program::{Held, Model, Program, Serving, Trained, Training};
use super::settings::{Defaults, Settings};
use super::shuffled;
use super::summary::grouped;
use crate::model_description::Description;
use crate::output::{self, Align, table};
#[cfg(feature = "parquet")]
use crate::table::ParquetReader;
use crate::table::{
    Choices, CsvFormat, CsvReader, Encoded, ExampleReader, Layout, Part, RowReader, Scan, Schema, Split, Task,
};
use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::Arc;
use thalweg::prelude::*;
use thalweg_core::error::internal;
use thalweg_core::invalid;

#[derive(clap::Args)]
pub struct CsvArgs {
    /// The data: a CSV file whose first line has the names of the columns
    #[arg(value_name = "FILE")]
    data: PathBuf,
    #[command(flatten)]
    format: FormatArgs,
    #[command(flatten)]
    pub table: TableArgs,
}

#[derive(clap::Args)]
pub struct RecordsArgs {
    /// The data: TFRecord files of tf.Example, compressed or not
    #[arg(value_name = "FILES", required = true)]
    data: Vec<PathBuf>,
    #[command(flatten)]
    pub table: TableArgs,
}

#[cfg(feature = "parquet")]
#[derive(clap::Args)]
pub struct ParquetArgs {
    /// The data: Parquet files with the same columns; nested ones are left out
    #[arg(value_name = "FILES", required = true)]
    data: Vec<PathBuf>,
    #[command(flatten)]
    pub table: TableArgs,
}

/// Options of all tables.
#[derive(clap::Args)]
pub struct TableArgs {
    /// The column that is to be predicted
    #[arg(long, value_name = "COLUMN")]
    label: String,
    /// What the label is [default: a number if it is one with many values, else a class]
    #[arg(long)]
    task: Option<Task>,
    /// Sizes of the hidden layers; "" for a linear model
    #[arg(long, value_name = "SIZES", default_value = "16,16")]
    hidden: String,
    /// The share of rows that is held back for validation, at most a half
    #[arg(long, value_name = "SHARE", default_value_t = 0.2)]
    validation: f64,
    /// Columns that are not used
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    ignore: Vec<String>,
    /// Columns of numbers that are names, such as postcodes
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    categorical: Vec<String>,
    /// Leave out rows that cannot be read, instead of stopping at the first
    #[arg(long)]
    skip_bad_rows: bool,
    // Before `run`, whose last options are under headings of their own.
    #[command(flatten)]
    pub batches: BatchArgs,
    #[command(flatten)]
    pub run: RunArgs,
}

/// The format of a CSV file.
#[derive(clap::Args)]
pub struct FormatArgs {
    /// Between two fields [default: the one of , ; | and tab that the first line has most of]
    #[arg(long, value_name = "CHAR", value_parser = delimiter)]
    delimiter: Option<u8>,
    /// The first line is data: columns are column1, column2, ..
    #[arg(long)]
    no_header: bool,
}

impl FormatArgs {
    pub fn format(&self) -> CsvFormat {
        CsvFormat { delimiter: self.delimiter, header: !self.no_header }
    }

    /// An error about the first of these flags, for data of another kind.
    pub fn check_unused(&self, kind: &str) -> Result<()> {
        let given = [(self.delimiter.is_some(), "--delimiter"), (self.no_header, "--no-header")];
        match given.iter().find(|(is, _)| *is) {
            Some((_, flag)) => Err(invalid!("{flag} has no effect on {kind}")),
            None => Ok(()),
        }
    }
}

fn delimiter(text: &str) -> std::result::Result<u8, String> {
    match text.as_bytes() {
        [one] if one.is_ascii() && !b"\"\r\n".contains(one) => Ok(*one),
        b"\\t" | b"tab" => Ok(b'\t'),
        _ => Err("it must be one character, or tab".into()),
    }
}

pub struct OwnTable {
    data: Encoded,
    schema: Schema,
    /// The table of columns and the balance of classes, printed first.
    preface: String,
    name: String,
    /// The confusion matrix, made with the results.
    details: RefCell<String>,
}

/// Rows of a validation batch.
const HELD_BATCH: usize = 1000;
const MOST_LAYERS: usize = 64;
const WIDEST_LAYER: usize = 1 << 16;
/// Epochs of a run by default, within these steps.
const EPOCHS: u64 = 50;
const STEPS: (u64, u64) = (500, 20_000);

impl OwnTable {
    /// From a CSV file.
    pub fn csv(args: &CsvArgs) -> Result<OwnTable> {
        let open = || Ok(Box::new(CsvReader::open(&args.data, args.format.format())?) as Box<dyn RowReader>);
        OwnTable::load(&args.table, &open)
    }

    /// From TFRecord files.
    pub fn records(args: &RecordsArgs) -> Result<OwnTable> {
        let layout = Arc::new(Layout::of(&args.data)?);
        let open = || Ok(Box::new(ExampleReader::open(&args.data, layout.clone())) as Box<dyn RowReader>);
        let mut all = OwnTable::load(&args.table, &open)?;
        all.leaves_out("features whose number of values changes", &layout.left_out);
        Ok(all)
    }

    /// From Parquet files.
    #[cfg(feature = "parquet")]
    pub fn parquet(args: &ParquetArgs) -> Result<OwnTable> {
        let left_out = ParquetReader::open(&args.data)?.left_out;
        let open = || Ok(Box::new(ParquetReader::open(&args.data)?) as Box<dyn RowReader>);
        let mut all = OwnTable::load(&args.table, &open)?;
        all.leaves_out("columns of lists, maps and structs", &left_out);
        Ok(all)
    }

    fn leaves_out(&mut self, what: &str, names: &[String]) {
        if !names.is_empty() {
            self.preface.push_str(&format!("{what} are left out: {}\n", names.join(", ")));
        }
    }

    fn load(args: &TableArgs, open: &dyn Fn() -> Result<Box<dyn RowReader>>) -> Result<OwnTable> {
        let hidden = hidden(&args.hidden)?;
        let split = Split { every: Split::every(args.validation)?, seed: args.run.seed };
        let choices = Choices {
            ignore: args.ignore.clone(),
            categorical: args.categorical.clone(),
            skip_bad_rows: args.skip_bad_rows,
        };
        let mut reader = open()?;
        let scan = Scan::of(&mut *reader, &args.label, split, &choices)?;
        let task = args.task.unwrap_or(scan.task());
        let classes = if task == Task::Classify { scan.classes()? } else { Vec::new() };
        let schema = Schema {
            task,
            label: args.label.clone(),
            columns: scan.features(&choices)?,
            classes: classes.iter().map(|c| c.0.clone()).collect(),
            label_scale: if task == Task::Regress { scan.label_number()? } else { (0.0, 1.0) },
            hidden,
        };
        let data = Encoded::read(&mut *open()?, &scan, &schema, split, &choices)?;
        let preface = preface(&scan, &schema, &classes);
        Ok(OwnTable { data, schema, preface, name: reader.name().to_string(), details: RefCell::default() })
    }

    /// The rows that results are about: those held back, or all if none is.
    fn judged(&self) -> (&Part, &'static str) {
        if self.data.held.len() > 0 {
            (&self.data.held, "validation")
        } else {
            (&self.data.train, "training")
        }
    }

    /// The values of the model's feeds for these rows.
    fn feeds(&self, part: &Part, rows: &[usize]) -> Result<Vec<Tensor>> {
        let mut feeds = part.rows(rows)?;
        let label = |row: &usize| part.labels.get(*row).copied().unwrap_or(f32::NAN);
        feeds.push(match self.schema.task {
            Task::Regress => Tensor::vector(&rows.iter().map(label).collect::<Vec<f32>>())?,
            Task::Classify => {
                let class =
                    |row: &usize| self.schema.classes.get(label(row) as usize).map_or("", |c| c.as_str());
                rows.iter().map(class).collect::<Vec<&str>>().into_tensor()?
            }
        });
        Ok(feeds)
    }

    fn held_batch(&self, part: &Part, number: usize) -> Result<Option<Held>> {
        let first = number.saturating_mul(HELD_BATCH).min(part.len());
        let rows: Vec<usize> = (first..first.saturating_add(HELD_BATCH).min(part.len())).collect();
        if rows.is_empty() {
            return Ok(None);
        }
        Ok(Some(Held { examples: rows.len(), feeds: self.feeds(part, &rows)? }))
    }

    /// What the model says about each of the judged rows.
    fn predicted(&self, t: &Trained<'_>) -> Result<Vec<f32>> {
        let (part, _) = self.judged();
        let (Some(output), inputs) = (t.model.outputs.first(), t.model.feeds.split_last()) else {
            return Err(internal("a model without outputs"));
        };
        let inputs = inputs.map_or(&[][..], |(_, inputs)| inputs);
        let run = t.session.callable(&inputs.iter().collect::<Vec<_>>(), &vec![output.clone()])?;
        let mut all = thalweg_core::reserve::with_capacity(part.len())?;
        let mut number = 0;
        while let Some(Held { mut feeds, .. }) = self.held_batch(part, number)? {
            feeds.pop();
            for found in run.run(feeds)? {
                match self.schema.task {
                    Task::Classify => all.extend(found.as_slice::<i64>()?.iter().map(|id| *id as f32)),
                    Task::Regress => all.extend_from_slice(found.as_slice::<f32>()?),
                }
            }
            number += 1;
        }
        Ok(all)
    }

    fn classified(&self, found: &[f32]) -> Vec<[String; 2]> {
        let (part, name) = self.judged();
        let ids = |all: &[f32]| all.iter().map(|id| *id as usize).collect::<Vec<usize>>();
        let (train, labels, found) = (ids(&self.data.train.labels), ids(&part.labels), ids(found));
        let judged =
            Classified { classes: &self.schema.classes, train: &train, labels: &labels, found: &found };
        *self.details.borrow_mut() = judged.confusion();
        judged.rows(name)
    }

    fn regressed(&self, found: &[f32]) -> Vec<[String; 2]> {
        let (part, name) = self.judged();
        let train = &self.data.train.labels;
        let mean = train.iter().map(|y| f64::from(*y)).sum::<f64>() / train.len().max(1) as f64;
        let pairs = || part.labels.iter().zip(found).map(|(y, p)| (f64::from(*y), f64::from(*p)));
        let n = part.len().max(1) as f64;
        let squared = pairs().map(|(y, p)| (y - p).powi(2)).sum::<f64>() / n;
        let absolute = pairs().map(|(y, p)| (y - p).abs()).sum::<f64>() / n;
        let baseline = pairs().map(|(y, _)| (y - mean).powi(2)).sum::<f64>() / n;
        let explained = if baseline > 0.0 { 1.0 - squared / baseline } else { 0.0 };
        vec![
            [format!("{name} RMSE"), format!("{:.5} (mean absolute error {absolute:.5})", squared.sqrt())],
            ["always the mean".into(), format!("{:.5} (the mean is {mean:.5})", baseline.sqrt())],
            ["R squared".into(), format!("{explained:.4}")],
        ]
    }
}

/// `16,16` as sizes.
fn hidden(text: &str) -> Result<Vec<usize>> {
    let sizes = text.split(',').map(str::trim).filter(|s| !s.is_empty());
    let sizes: Vec<usize> = sizes
        .map(|s| match s.parse::<usize>() {
            Ok(n) if (1..=WIDEST_LAYER).contains(&n) => Ok(n),
            _ => Err(invalid!(
                "--hidden has '{s}'; sizes of layers are numbers from 1 to {WIDEST_LAYER}, as in 16,16"
            )),
        })
        .collect::<Result<_>>()?;
    match sizes.len() {
        n if n > MOST_LAYERS => Err(invalid!("--hidden has {n} layers; at most {MOST_LAYERS}")),
        _ => Ok(sizes),
    }
}

/// The columns as a table, and the balance of the classes.
fn preface(scan: &Scan, schema: &Schema, classes: &[(String, usize)]) -> String {
    let head = ["column", "used as", "missing", "values"].map(str::to_string).to_vec();
    let width = output::width().saturating_sub(1);
    let most = 60;
    let mut rows = vec![head];
    rows.extend(schema.columns.iter().take(most).map(|c| scan.shown(c)));
    let all = [Align::Left, Align::Left, Align::Right, Align::Left];
    let lines = table(&rows, &all, 30);
    let mut text: String = lines.lines().map(|line| output::cut(line, width) + "\n").collect();
    if schema.columns.len() > most {
        text.push_str(&format!(".. and {} more columns\n", schema.columns.len() - most));
    }
    text.push('\n');
    if !classes.is_empty() {
        text.push_str(&format!("{}: {}\n", schema.label, judge::balance(classes)));
    }
    if scan.without_label > 0 {
        text.push_str(&format!("{} rows without a label are left out\n", scan.without_label));
    }
    if scan.bad.0 > 0 {
        text.push_str(&format!(
            "{} rows that cannot be read are left out: {}\n",
            scan.bad.0,
            scan.bad.1.join("; ")
        ));
    }
    text
}

impl Program for OwnTable {
    fn title(&self) -> String {
        let (train, held) = (self.data.train.len() as i64, self.data.held.len() as i64);
        format!(
            "{}: {} by a {} net, {} rows to learn from, {} for validation",
            self.name,
            self.schema.label,
            self.schema.layers(),
            grouped(train),
            grouped(held)
        )
    }

    fn preface(&self) -> String {
        self.preface.clone()
    }

    fn own_settings(&self) -> Vec<(&'static str, String)> {
        let hidden: Vec<String> = self.schema.hidden.iter().map(usize::to_string).collect();
        vec![("hidden", hidden.join(","))]
    }

    fn defaults(&self) -> Defaults {
        let batch = match self.data.train.len() {
            n if n < 20_000 => 32,
            _ => 256,
        };
        let steps = (self.data.train.len() as u64).div_ceil(batch as u64).saturating_mul(EPOCHS);
        Defaults {
            steps: steps.clamp(STEPS.0, STEPS.1),
            batch,
            rate: 0.005,
            falls_over: None,
            optimizer: optimizer::Kind::Adam,
        }
    }

    fn examples(&self) -> usize {
        self.data.train.len()
    }

    fn model(&self, g: &Scope, settings: &Settings) -> Result<Model> {
        let nodes = self.schema.build(g)?;
        let is_class = self.schema.task == Task::Classify;
        let dtype = if is_class { DataType::String } else { DataType::Float };
        let labels = g.placeholder_named("label", dtype, Some(&[-1]));
        let training: RefCell<Option<Training>> = RefCell::new(None);
        let spec = self.schema.head(g, &nodes, Some(&labels), &|loss| {
            let made = settings.minimize(g, loss, None)?;
            let step = made.step.clone();
            *training.borrow_mut() = Some(made);
            Ok(step)
        })?;
        let (Some(loss), Some(train)) = (spec.loss, training.into_inner()) else {
            return Err(internal("a head without a loss"));
        };
        let of = |name: &str| spec.predictions.iter().find(|(n, _)| n == name).map(|(_, o)| o.clone());
        let missing = || internal("a head without predictions");
        let (shown, output) = match is_class {
            true => {
                let classes = of("classes").ok_or_else(missing)?;
                let right = g.equal(g.reshape(&classes, &[-1]), &labels);
                let accuracy = g.reduce_mean(g.cast(&right, DataType::Float), &[]);
                (("accuracy", accuracy), of("class_ids").ok_or_else(missing)?)
            }
            false => (("rmse", g.sqrt(&loss)), of("predictions").ok_or_else(missing)?),
        };
        let mut feeds = nodes.inputs;
        feeds.push(labels);
        Ok(Model { train, loss, shown: Some(shown), feeds, outputs: vec![output] })
    }

    fn batch(&self, step: u64, settings: &Settings) -> Result<Vec<Tensor>> {
        let rows = shuffled::batch(step, settings.batch, settings.seed, self.data.train.len());
        self.feeds(&self.data.train, &rows)
    }

    fn validation_batch(&self, number: usize, _: &Settings) -> Result<Option<Held>> {
        self.held_batch(&self.data.held, number)
    }

    fn serving(&self, g: &Scope) -> Result<Option<Serving>> {
        let nodes = self.schema.build(g)?;
        let spec = self.schema.head(g, &nodes, None, &|_| Err(internal("what is served does not train")))?;
        let names = self.schema.used().map(|c| c.name.clone());
        Ok(Some(Serving { inputs: names.zip(nodes.inputs).collect(), outputs: spec.predictions }))
    }

    fn description(&self) -> Result<Option<String>> {
        Description::Table(self.schema.clone()).to_json().map(Some)
    }

    fn results(&self, t: &Trained<'_>) -> Result<Vec<[String; 2]>> {
        let found = self.predicted(t)?;
        Ok(match self.schema.task {
            Task::Classify => self.classified(&found),
            Task::Regress => self.regressed(&found),
        })
    }

    fn details(&self) -> String {
        self.details.borrow().clone()
    }
}
