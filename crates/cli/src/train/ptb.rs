//! A language model: an LSTM that predicts the next word of a text. The last tenth of the text is the test set.

use super::args::{BatchArgs, RunArgs};
use super::board::Shown;
use super::optimizer;
use super::program::{Held, Model, Program, Trained};
use super::settings::{Defaults, Settings};
use super::story;
use std::collections::HashMap;
use std::path::PathBuf;
use thalweg::prelude::*;
use thalweg::train::layers::{Dense, Embedding};
use thalweg::train::rnn::{Cell, Lstm, Sequence, Stacked, dynamic_rnn};
use thalweg::train::summary::{self, write_projector};
use thalweg::train::{initializers, losses};
use thalweg_core::invalid;
use thalweg_io::durable;

#[derive(clap::Args)]
pub struct Args {
    /// A text file; without one, a built-in story is read
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    // Before `run`, whose last options are under headings of their own.
    #[command(flatten)]
    pub batches: BatchArgs,
    #[command(flatten)]
    pub run: RunArgs,
}

pub struct Ptb {
    train: Vec<i32>,
    test: Vec<i32>,
    vocabulary: usize,
    /// The vocabulary, with the count of each word in the text.
    words: Vec<(String, usize)>,
    units: usize,
    source: String,
}

/// Length of a window of words.
const STEPS: usize = 20;
/// The size of the vocabulary: other words are `<unk>`.
const MAX_WORDS: usize = 10_000;
const LAYERS: usize = 2;

impl Ptb {
    pub fn load(args: &Args) -> Result<Ptb> {
        let (text, source) = match &args.data {
            None => (story::text(20_000), "the built-in story".to_string()),
            Some(path) => {
                let name = path.display().to_string();
                let bytes = std::fs::read(path).map_err(|e| {
                    let hint = "--data names a text file; without it, the built-in story is read";
                    durable::with_path(path, e).hint(hint)
                })?;
                (String::from_utf8_lossy(&bytes).into_owned(), name)
            }
        };
        let mut counts: HashMap<&str, usize> = HashMap::new();
        let mut words: Vec<&str> = Vec::new();
        for line in text.lines() {
            words.extend(line.split_whitespace());
            words.push("<eos>");
        }
        words.iter().for_each(|w| *counts.entry(*w).or_default() += 1);
        let mut known: Vec<(&str, usize)> = counts.into_iter().collect();
        known.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        known.truncate(MAX_WORDS - 1);
        // Id 0 is for out-of-vocabulary words.
        let ids: HashMap<&str, i32> =
            known.iter().enumerate().map(|(i, (w, _))| (*w, i as i32 + 1)).collect();
        let numbers: Vec<i32> = words.iter().map(|w| ids.get(w).copied().unwrap_or(0)).collect();
        let (train, test) = numbers.split_at(numbers.len() * 9 / 10);
        if test.len() < 2 * STEPS {
            return Err(invalid!("{source} has {} words; a few hundred are needed", words.len()));
        }
        let vocabulary = ids.len() + 1;
        let unknown = numbers.iter().filter(|id| **id == 0).count();
        let known = known.iter().map(|(word, count)| (word.to_string(), *count));
        let words = std::iter::once(("<unk>".to_string(), unknown)).chain(known).collect();
        let units = if vocabulary > 2000 { 200 } else { 64 };
        Ok(Ptb { train: train.to_vec(), test: test.to_vec(), vocabulary, words, units, source })
    }

    /// Start positions of windows in the training text.
    fn places(&self) -> usize {
        self.train.len() - STEPS - 1
    }

    /// Windows from each start, and the same shifted by one word.
    fn windows(words: &[i32], starts: impl Iterator<Item = usize>) -> Result<Vec<Tensor>> {
        let (mut given, mut next) = (Vec::new(), Vec::new());
        for start in starts {
            given.extend_from_slice(&words[start..start + STEPS]);
            next.extend_from_slice(&words[start + 1..start + STEPS + 1]);
        }
        let shape = Shape::new(&[given.len() / STEPS, STEPS])?;
        Ok(vec![Tensor::from_slice(shape.clone(), &given)?, Tensor::from_slice(shape, &next)?])
    }

    /// The perplexity of a unigram model on the test text.
    fn unigram(&self) -> f64 {
        let mut counts = vec![1f64; self.vocabulary];
        self.train.iter().for_each(|w| counts[*w as usize] += 1.0);
        let total: f64 = counts.iter().sum();
        let surprise: f64 = self.test.iter().map(|w| -(counts[*w as usize] / total).ln()).sum();
        (surprise / self.test.len() as f64).exp()
    }
}

impl Program for Ptb {
    fn title(&self) -> String {
        format!(
            "language model, {LAYERS}-layer LSTM of {} units, {} words of {}, vocabulary of {}",
            self.units,
            self.train.len() + self.test.len(),
            self.source,
            self.vocabulary
        )
    }

    fn defaults(&self) -> Defaults {
        Defaults { steps: 600, batch: 20, rate: 0.005, falls_over: None, optimizer: optimizer::Kind::Adam }
    }

    fn show(&self, board: &mut Shown<'_>) -> Result<()> {
        let table = summary::Embedding::variable("embedding/embeddings");
        let (words, counts) = (self.words.iter().map(|w| &w.0), self.words.iter().map(|w| w.1.to_string()));
        let table = table.column("word", words).column("count", counts);
        write_projector(board.folder, &[table])
    }

    fn examples(&self) -> usize {
        self.places()
    }

    fn model(&self, g: &Scope, settings: &Settings) -> Result<Model> {
        let x = g.placeholder_named("words", DataType::Int32, Some(&[-1, STEPS as i64]));
        let y = g.placeholder_named("next_words", DataType::Int32, Some(&[-1, STEPS as i64]));
        let uniform = initializers::RandomUniform { low: -0.1, high: 0.1, seed: None };
        let inputs = Embedding::new(self.vocabulary, self.units).initializer(&uniform).apply(g, &x);
        let layers = (0..LAYERS).map(|_| Box::new(Lstm::new(self.units)) as Box<dyn Cell>).collect();
        let (outputs, _) = dynamic_rnn(g, &Stacked(layers), &Sequence::new(&inputs));
        let rows = g.reshape(&outputs, &[-1, self.units as i32]);
        let logits = Dense::new(self.vocabulary).name("softmax").kernel_initializer(&uniform).apply(g, &rows);
        let labels = g.reshape(&y, &[-1]);
        let loss = losses::sparse_softmax_cross_entropy(g, &labels, &logits, None);
        let train = settings.minimize(g, &loss, Some(5.0))?;
        let perplexity = g.exp(&loss);
        Ok(Model {
            train,
            loss: loss.clone(),
            shown: Some(("perplexity", perplexity)),
            feeds: vec![x, y],
            outputs: vec![loss],
        })
    }

    fn batch(&self, step: u64, settings: &Settings) -> Result<Vec<Tensor>> {
        let places = self.places() as u64;
        let first = step.wrapping_mul(settings.batch as u64);
        let start = |i: u64| {
            super::shuffled::position(first.wrapping_add(i) % places, places, settings.seed as u64) as usize
        };
        Ptb::windows(&self.train, (0..settings.batch as u64).map(start))
    }

    fn validation_batch(&self, number: usize, settings: &Settings) -> Result<Option<Held>> {
        let all = (0..self.test.len() - STEPS - 1).step_by(STEPS);
        let part: Vec<usize> = all.skip(number.saturating_mul(settings.batch)).take(settings.batch).collect();
        if part.is_empty() {
            return Ok(None);
        }
        Ok(Some(Held { examples: part.len(), feeds: Ptb::windows(&self.test, part.into_iter())? }))
    }

    fn results(&self, t: &Trained<'_>) -> Result<Vec<[String; 2]>> {
        let (mut surprise, mut windows, mut number) = (0.0, 0usize, 0);
        while let Some(Held { feeds: given, examples }) = self.validation_batch(number, t.settings)? {
            let feeds: Vec<_> = t.model.feeds.iter().zip(&given).map(|(o, t)| feed(o, t)).collect();
            let found = t.session.run(&t.model.outputs, &feeds)?;
            surprise += f64::from(found[0].to_scalar::<f32>()?) * examples as f64;
            windows += examples;
            number += 1;
        }
        let perplexity = (surprise / windows.max(1) as f64).exp();
        Ok(vec![
            ["test perplexity".into(), format!("{perplexity:.2}")],
            ["counting words alone".into(), format!("{:.2}", self.unigram())],
        ])
    }
}
