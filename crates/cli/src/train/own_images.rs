//! Images of one's own, in a folder for each class, by a small convolutional net.

use super::args::{BatchArgs, RunArgs};
use super::judge::{self, Classified};
use super::optimizer;
use super::program::{Held, Model, Program, Serving, Trained};
use super::settings::{Defaults, Settings};
use super::shuffled;
use crate::images::{CHANNELS, Decoder, ImageModel, files, folders};
use crate::model_description::Description;
use crate::table::Split;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use thalweg::prelude::*;
use thalweg::train::losses;
use thalweg_core::error::internal;
use thalweg_core::{invalid, memory, reserve};

#[derive(clap::Args)]
pub struct Args {
    /// A folder with a folder of images (PNG, JPEG, GIF, BMP) for each class
    #[arg(value_name = "DIR")]
    data: PathBuf,
    /// Height and width that images are resized to
    #[arg(long, value_name = "PIXELS", default_value_t = 32)]
    size: usize,
    /// The share of images that is held back for validation, at most a half
    #[arg(long, value_name = "SHARE", default_value_t = 0.2)]
    validation: f64,
    /// Leave out files that cannot be decoded, instead of stopping at the first
    #[arg(long)]
    skip_bad_images: bool,
    // Before `run`, whose last options are under headings of their own.
    #[command(flatten)]
    pub batches: BatchArgs,
    #[command(flatten)]
    pub run: RunArgs,
}

/// Images of equal size, one after another, and their classes.
#[derive(Default)]
struct Part {
    pixels: Vec<u8>,
    labels: Vec<i32>,
}

pub struct OwnImages {
    model: ImageModel,
    train: Part,
    held: Part,
    preface: String,
    name: String,
    details: RefCell<String>,
}

const SIZES: std::ops::RangeInclusive<usize> = 8..=1024;
const HELD_BATCH: usize = 100;
const EPOCHS: u64 = 20;
const STEPS: (u64, u64) = (200, 5000);

impl OwnImages {
    pub fn load(args: &Args) -> Result<OwnImages> {
        if !SIZES.contains(&args.size) {
            return Err(invalid!("--size {} must be from {} to {}", args.size, SIZES.start(), SIZES.end()));
        }
        let split = Split { every: Split::every(args.validation)?, seed: args.run.seed };
        let classes = classes(&args.data)?;
        let model = ImageModel { classes: classes.iter().map(|c| c.0.clone()).collect(), size: args.size };
        let count: usize = classes.iter().map(|c| c.1.len()).sum();
        let bytes = count.saturating_mul(model.bytes());
        memory::check(bytes).map_err(|e| {
            e.context(format_args!("{count} images of {} bytes", model.bytes()))
                .hint("choose a smaller --size")
        })?;
        let name = args.data.display().to_string();
        let (train, held, preface) = (Part::default(), Part::default(), String::new());
        let mut all = OwnImages { model, train, held, preface, name, details: RefCell::default() };
        let bad = all.read(&classes, split, args)?;
        all.preface = preface_of(&classes, &bad);
        if all.train.labels.is_empty() {
            return Err(invalid!("{} has no image that can be read", args.data.display()));
        }
        Ok(all)
    }

    /// Returns messages about the files that were left out.
    fn read(&mut self, classes: &[(String, Vec<PathBuf>)], split: Split, args: &Args) -> Result<Vec<String>> {
        let decoder = Decoder::new(&self.model, args.run.threads)?;
        let (mut bad, mut number) = (Vec::new(), 0u64);
        for (label, (_, paths)) in (0..).zip(classes) {
            for path in paths {
                let image = match decoder.read(path) {
                    Ok(image) => image,
                    Err(e) if args.skip_bad_images => {
                        bad.push(e.message().to_string());
                        continue;
                    }
                    Err(e) => return Err(e.hint("remove it, or leave out such files with --skip-bad-images")),
                };
                let part = if split.holds_back(number) { &mut self.held } else { &mut self.train };
                number += 1;
                reserve::extend(&mut part.pixels, image.as_slice::<u8>()?)?;
                reserve::push(&mut part.labels, label)?;
            }
        }
        Ok(bad)
    }

    fn feeds(&self, part: &Part, rows: &[usize]) -> Result<Vec<Tensor>> {
        let bytes = self.model.bytes();
        let mut pixels = reserve::with_capacity(rows.len().saturating_mul(bytes))?;
        let mut labels = reserve::with_capacity(rows.len())?;
        for row in rows {
            let start = row.saturating_mul(bytes);
            let image = part.pixels.get(start..start.saturating_add(bytes));
            let (Some(image), Some(label)) = (image, part.labels.get(*row)) else {
                return Err(internal("an image that is not there"));
            };
            pixels.extend_from_slice(image);
            labels.push(*label);
        }
        let shape = Shape::new(&[rows.len(), self.model.size, self.model.size, CHANNELS])?;
        Ok(vec![Tensor::from_slice(shape, &pixels)?, Tensor::vector(&labels)?])
    }

    fn held_batch(&self, part: &Part, number: usize) -> Result<Option<Held>> {
        let first = number.saturating_mul(HELD_BATCH).min(part.labels.len());
        let rows: Vec<usize> = (first..first.saturating_add(HELD_BATCH).min(part.labels.len())).collect();
        if rows.is_empty() {
            return Ok(None);
        }
        Ok(Some(Held { examples: rows.len(), feeds: self.feeds(part, &rows)? }))
    }
}

/// The classes with their files.
fn classes(folder: &Path) -> Result<Vec<(String, Vec<PathBuf>)>> {
    let mut found = Vec::new();
    for class in folders(folder)? {
        let images = files(&class)?;
        let name = class.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        if !images.is_empty() {
            found.push((name, images));
        }
    }
    match found.len() {
        0 | 1 => Err(invalid!(
            "{} has {} folders with images (PNG, JPEG, GIF, BMP); at least 2 are needed, one for each class",
            folder.display(),
            found.len()
        )),
        _ => Ok(found),
    }
}

fn preface_of(classes: &[(String, Vec<PathBuf>)], bad: &[String]) -> String {
    let counts: Vec<(String, usize)> =
        classes.iter().map(|(name, files)| (name.clone(), files.len())).collect();
    let mut text = format!("images: {}\n", judge::balance(&counts));
    if !bad.is_empty() {
        let few: Vec<&str> = bad.iter().take(5).map(String::as_str).collect();
        text.push_str(&format!(
            "{} files that cannot be decoded are left out: {}\n",
            bad.len(),
            few.join("; ")
        ));
    }
    text
}

impl Program for OwnImages {
    fn title(&self) -> String {
        format!(
            "{}: {} classes of images of {size} x {size}, {} to learn from, {} for validation",
            self.name,
            self.model.classes.len(),
            self.train.labels.len(),
            self.held.labels.len(),
            size = self.model.size,
        )
    }

    fn own_settings(&self) -> Vec<(&'static str, String)> {
        vec![("size", self.model.size.to_string())]
    }

    fn preface(&self) -> String {
        self.preface.clone()
    }

    fn defaults(&self) -> Defaults {
        let batch = 32;
        let steps = (self.train.labels.len() as u64).div_ceil(batch as u64).saturating_mul(EPOCHS);
        let steps = steps.clamp(STEPS.0, STEPS.1);
        Defaults { steps, batch, rate: 0.001, falls_over: None, optimizer: optimizer::Kind::Adam }
    }

    fn examples(&self) -> usize {
        self.train.labels.len()
    }

    fn model(&self, g: &Scope, settings: &Settings) -> Result<Model> {
        let (images, logits) = self.model.build(g)?;
        let labels = g.placeholder_named("labels", DataType::Int32, Some(&[-1]));
        let loss = losses::sparse_softmax_cross_entropy(g, &labels, &logits, None);
        let train = settings.minimize(g, &loss, None)?;
        let class = g.cast(g.argmax(&logits, 1), DataType::Int32);
        let right = g.cast(g.equal(&class, &labels), DataType::Float);
        let shown = Some(("accuracy", g.reduce_mean(right, &[])));
        Ok(Model { train, loss, shown, feeds: vec![images, labels], outputs: vec![class] })
    }

    fn batch(&self, step: u64, settings: &Settings) -> Result<Vec<Tensor>> {
        let rows = shuffled::batch(step, settings.batch, settings.seed, self.train.labels.len());
        self.feeds(&self.train, &rows)
    }

    fn validation_batch(&self, number: usize, _: &Settings) -> Result<Option<Held>> {
        self.held_batch(&self.held, number)
    }

    fn serving(&self, g: &Scope) -> Result<Option<Serving>> {
        let (images, logits) = self.model.build(g)?;
        let names = g.constant(self.model.classes.clone());
        let classes = g.gather(names, g.argmax(&logits, 1), 0);
        let outputs = vec![("probabilities".into(), g.softmax(&logits)), ("classes".into(), classes)];
        Ok(Some(Serving { inputs: vec![("images".into(), images)], outputs }))
    }

    fn description(&self) -> Result<Option<String>> {
        Description::Images(self.model.clone()).to_json().map(Some)
    }

    fn results(&self, t: &Trained<'_>) -> Result<Vec<[String; 2]>> {
        let none_held = self.held.labels.is_empty();
        let (part, name) = if none_held { (&self.train, "training") } else { (&self.held, "validation") };
        let (Some(output), Some(input)) = (t.model.outputs.first(), t.model.feeds.first()) else {
            return Err(internal("a model without outputs"));
        };
        let run = t.session.callable(&[input], &vec![output.clone()])?;
        let (mut found, mut number) = (Vec::new(), 0);
        while let Some(Held { mut feeds, .. }) = self.held_batch(part, number)? {
            feeds.truncate(1);
            for classes in run.run(feeds)? {
                found.extend(classes.as_slice::<i32>()?.iter().map(|c| *c as usize));
            }
            number += 1;
        }
        let ids = |part: &Part| part.labels.iter().map(|l| *l as usize).collect::<Vec<usize>>();
        let (train, labels) = (ids(&self.train), ids(part));
        let judged =
            Classified { classes: &self.model.classes, train: &train, labels: &labels, found: &found };
        *self.details.borrow_mut() = judged.confusion();
        Ok(judged.rows(name))
    }

    fn details(&self) -> String {
        self.details.borrow().clone()
    }
}
