//! What columns hold, found by reading all rows once.

use super::Split;
use super::column::{Column, Kind, is_missing, number};
use super::csv::{Record, RowReader, text};
use std::collections::HashMap;
use thalweg_core::error::Result;
use thalweg_core::{invalid, reserve};

/// More different texts than this are hashed.
pub const MOST_WORDS: usize = 1000;
/// A label of whole numbers with more values than this is a quantity.
const MOST_NUMBERED_CLASSES: usize = 20;
const HASH_BUCKETS: usize = 1000;
/// Longer texts are no categories.
const LONGEST_WORD: usize = 256;
/// Bad rows that are named.
const NAMED_BAD_ROWS: usize = 5;

/// What the user says about columns.
#[derive(Default)]
pub struct Choices {
    pub ignore: Vec<String>,
    /// Numbers that are names, such as postcodes.
    pub categorical: Vec<String>,
    pub skip_bad_rows: bool,
}

/// What is learned.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// One of a few classes
    Classify,
    /// A number
    Regress,
}

/// What one reading of a table found.
pub struct Scan {
    pub names: Vec<String>,
    columns: Vec<Found>,
    /// Rows that can be used: those with a label, in training and held back.
    pub rows: [usize; 2],
    pub without_label: usize,
    /// Rows that were skipped, and the first messages.
    pub bad: (usize, Vec<String>),
    pub label: usize,
}

/// What the fields of a column have in common.
struct Found {
    missing: usize,
    not_missing: usize,
    all_numbers: bool,
    all_whole: bool,
    /// Of numbers in training rows.
    count: f64,
    mean: f64,
    squares: f64,
    low: f64,
    high: f64,
    /// The different texts with their counts; `None` if there are too many.
    words: Option<HashMap<Vec<u8>, usize>>,
    /// Whether the words were all different until there were too many.
    all_unlike: bool,
    bytes: usize,
}

impl Found {
    fn new() -> Found {
        Found {
            missing: 0,
            not_missing: 0,
            all_numbers: true,
            all_whole: true,
            count: 0.0,
            mean: 0.0,
            squares: 0.0,
            low: f64::INFINITY,
            high: f64::NEG_INFINITY,
            words: Some(HashMap::new()),
            all_unlike: true,
            bytes: 0,
        }
    }

    fn add(&mut self, field: &[u8], held_back: bool) -> Result<()> {
        if is_missing(field) {
            self.missing += 1;
            return Ok(());
        }
        self.not_missing += 1;
        self.bytes += field.len();
        if self.all_numbers {
            match number(field) {
                Some(x) => self.add_number(x, held_back),
                None => self.all_numbers = false,
            }
        }
        self.add_word(field.trim_ascii())
    }

    /// Welford's update of mean and variance.
    fn add_number(&mut self, x: f64, held_back: bool) {
        self.all_whole &= x.fract() == 0.0;
        (self.low, self.high) = (self.low.min(x), self.high.max(x));
        if held_back {
            return;
        }
        self.count += 1.0;
        let from_mean = x - self.mean;
        self.mean += from_mean / self.count;
        self.squares += from_mean * (x - self.mean);
    }

    fn add_word(&mut self, word: &[u8]) -> Result<()> {
        let Some(words) = &mut self.words else { return Ok(()) };
        if let Some(count) = words.get_mut(word) {
            *count += 1;
            self.all_unlike = false;
            return Ok(());
        }
        if words.len() >= MOST_WORDS || word.len() > LONGEST_WORD {
            self.words = None;
            return Ok(());
        }
        words.insert(reserve::copied(word)?, 1);
        Ok(())
    }

    /// The words, the most frequent first.
    fn sorted_words(&self) -> Vec<(String, usize)> {
        let words = self.words.iter().flatten();
        let mut all: Vec<(String, usize)> = words.map(|(word, n)| (text(word), *n)).collect();
        all.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        all
    }

    fn number_kind(&self) -> Kind {
        let variance = if self.count > 1.0 { self.squares / self.count } else { 0.0 };
        let deviation = variance.sqrt();
        let deviation = if deviation.is_normal() { deviation } else { 1.0 };
        Kind::Number { mean: self.mean, deviation, has_missing: self.missing > 0 }
    }

    fn kind(&self, is_name: bool) -> Kind {
        let ignored = |reason: &str| Kind::Ignored { reason: reason.into() };
        if self.not_missing == 0 {
            return ignored("empty");
        }
        if self.words.as_ref().is_some_and(|w| w.len() == 1) && self.missing == 0 {
            return ignored("always the same");
        }
        if self.all_numbers && !is_name {
            return self.number_kind();
        }
        if self.all_unlike && self.not_missing > 2 && !is_name {
            return ignored("never the same: a name or number of the row");
        }
        match &self.words {
            Some(_) => Kind::Vocabulary { words: self.sorted_words().into_iter().map(|w| w.0).collect() },
            None => Kind::Hash { buckets: HASH_BUCKETS },
        }
    }

    /// What the table of columns says of its values.
    fn shown(&self, kind: &Kind) -> String {
        match kind {
            Kind::Number { mean, .. } => {
                format!("{} to {}, mean {}", brief(self.low), brief(self.high), brief(*mean))
            }
            Kind::Vocabulary { words } => {
                let few: Vec<&str> = words.iter().take(4).map(String::as_str).collect();
                let more = if words.len() > few.len() { ", .." } else { "" };
                format!("{}{more}", few.join(", "))
            }
            Kind::Hash { .. } => format!("more than {MOST_WORDS} texts"),
            Kind::Ignored { reason } => reason.clone(),
        }
    }
}

fn brief(x: f64) -> String {
    let text = format!("{x:.3}");
    if x.abs() >= 1e6 || (x != 0.0 && x.abs() < 1e-3) {
        return format!("{x:.2e}");
    }
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

impl Scan {
    /// Reads all rows.
    pub fn of(reader: &mut dyn RowReader, label: &str, split: Split, choices: &Choices) -> Result<Scan> {
        let names = reader.names().to_vec();
        let label = position(&names, label, "--label", reader.name())?;
        for name in choices.ignore.iter().chain(&choices.categorical) {
            position(&names, name, "--ignore or --categorical", reader.name())?;
        }
        let mut columns: Vec<Found> = names.iter().map(|_| Found::new()).collect();
        let mut record = Record::default();
        let (mut rows, mut without_label, mut bad) = ([0, 0], 0, (0, Vec::new()));
        loop {
            match reader.next(&mut record) {
                Ok(true) => {}
                Ok(false) => break,
                Err(e) if choices.skip_bad_rows => {
                    bad.0 += 1;
                    if bad.1.len() < NAMED_BAD_ROWS {
                        bad.1.push(e.message().to_string());
                    }
                    continue;
                }
                Err(e) => return Err(e.hint("correct the row, or leave out such rows with --skip-bad-rows")),
            }
            if is_missing(record.field(label)) {
                without_label += 1;
                continue;
            }
            let number: usize = rows.iter().sum();
            let held_back = split.holds_back(number as u64);
            if let Some(count) = rows.get_mut(usize::from(held_back)) {
                *count += 1;
            }
            for (found, field) in columns.iter_mut().zip(record.fields()) {
                found.add(field, held_back)?;
            }
        }
        if rows.first() == Some(&0) {
            return Err(invalid!("{} has no row with a label to learn from", reader.name()));
        }
        Ok(Scan { names, columns, rows, without_label, bad, label })
    }

    /// What the label says about the task: a few classes, or a number.
    pub fn task(&self) -> Task {
        let Some(label) = self.columns.get(self.label) else { return Task::Classify };
        let few = label.words.as_ref().is_some_and(|w| w.len() <= MOST_NUMBERED_CLASSES);
        if label.all_numbers && !(label.all_whole && few) { Task::Regress } else { Task::Classify }
    }

    /// The classes in order, with their counts.
    pub fn classes(&self) -> Result<Vec<(String, usize)>> {
        let name = self.names.get(self.label).map_or("", String::as_str);
        let Some(label) = self.columns.get(self.label).filter(|c| c.words.is_some()) else {
            return Err(invalid!(
                "the label '{name}' has more than {MOST_WORDS} different values; for a number use --task regress"
            ));
        };
        let mut words = label.sorted_words();
        if label.all_numbers {
            words.sort_by(|a, b| a.0.parse::<f64>().unwrap_or(0.0).total_cmp(&b.0.parse().unwrap_or(0.0)));
        } else {
            words.sort();
        }
        match words.as_slice() {
            [] | [_] => Err(invalid!("the label '{name}' is always the same: there is nothing to learn")),
            _ => Ok(words),
        }
    }

    /// Mean and deviation of a label that is a number.
    pub fn label_number(&self) -> Result<(f64, f64)> {
        let name = self.names.get(self.label).map_or("", String::as_str);
        match self.columns.get(self.label) {
            Some(found) if found.all_numbers => match found.number_kind() {
                Kind::Number { mean, deviation, .. } => Ok((mean, deviation)),
                _ => Ok((0.0, 1.0)),
            },
            _ => Err(invalid!("the label '{name}' has values that are no numbers; use --task classify")),
        }
    }

    /// The columns as a model uses them, without the label.
    pub fn features(&self, choices: &Choices) -> Result<Vec<Column>> {
        let mut all = Vec::new();
        for (i, (name, found)) in self.names.iter().zip(&self.columns).enumerate() {
            if i == self.label {
                continue;
            }
            let kind = match choices.ignore.contains(name) {
                true => Kind::Ignored { reason: "as asked".into() },
                false => found.kind(choices.categorical.contains(name)),
            };
            all.push(Column { name: name.clone(), kind });
        }
        if !all.iter().any(|c| c.kind.is_used()) {
            return Err(invalid!("there is no column to learn from beside the label"));
        }
        Ok(all)
    }

    /// A row of the table of columns: name, kind, missing values, values.
    pub fn shown(&self, column: &Column) -> Vec<String> {
        let found = self.names.iter().position(|n| *n == column.name).and_then(|i| self.columns.get(i));
        let Some(found) = found else { return Vec::new() };
        let kind = match &column.kind {
            Kind::Number { .. } => "number".to_string(),
            Kind::Vocabulary { words } => format!("{} words", words.len()),
            Kind::Hash { buckets } => format!("{buckets} hashes"),
            Kind::Ignored { .. } => "ignored".to_string(),
        };
        let missing = if found.missing == 0 { String::new() } else { found.missing.to_string() };
        vec![column.name.clone(), kind, missing, found.shown(&column.kind)]
    }

    /// Bytes of texts in a column, at most.
    pub fn text_bytes(&self, name: &str) -> usize {
        let at = self.names.iter().position(|n| n == name);
        at.and_then(|i| self.columns.get(i)).map_or(0, |found| found.bytes)
    }
}

fn position(names: &[String], name: &str, flag: &str, file: &str) -> Result<usize> {
    names.iter().position(|n| n == name).ok_or_else(|| {
        let few: Vec<&str> = names.iter().take(30).map(String::as_str).collect();
        let more = names.len() - few.len();
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        invalid!("{flag} names '{name}', but {file} has: {}{rest}", few.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::super::csv::of_text;
    use super::*;

    const SPLIT: Split = Split { every: 0, seed: 1 };

    fn scan(text: &str, label: &str) -> Result<Scan> {
        Scan::of(&mut of_text(text).unwrap(), label, SPLIT, &Choices::default())
    }

    #[test]
    fn columns_are_told_apart() {
        let text = "id,age,city,same,empty,kind\na1,3,Rome,x,,yes\na2,NA,Oslo,x,,no\na3,5,Rome,x,,yes\n";
        let found = scan(text, "kind").unwrap();
        let kinds: Vec<Kind> =
            found.features(&Choices::default()).unwrap().into_iter().map(|c| c.kind).collect();
        assert!(matches!(&kinds[0], Kind::Ignored { reason } if reason.starts_with("never the same")));
        assert_eq!(kinds[1], Kind::Number { mean: 4.0, deviation: 1.0, has_missing: true });
        assert_eq!(kinds[2], Kind::Vocabulary { words: vec!["Rome".into(), "Oslo".into()] });
        assert!(kinds[3..].iter().all(|k| !k.is_used()));
        assert_eq!(found.task(), Task::Classify);
        assert_eq!(found.classes().unwrap(), [("no".to_string(), 1), ("yes".into(), 2)]);
        assert_eq!(scan("x,y\n1,0.5\n2,0.25\n", "y").unwrap().task(), Task::Regress);
        assert_eq!(scan("x,y\n1,0\n2,1\n", "y").unwrap().task(), Task::Classify);
    }

    #[test]
    fn mistakes_are_told() {
        let message = |text, label| match scan(text, label) {
            Err(e) => e.to_string(),
            Ok(found) => found.classes().unwrap_err().to_string(),
        };
        assert!(message("x,y\n1,2\n", "z").contains("--label names 'z', but data.csv has: x, y"));
        assert!(message("x,y\n1,\n", "y").contains("no row with a label"));
        assert!(message("x,y\n1,a\n2,a\n", "y").contains("always the same"));
        let bad = message("x,y\n1,a\n2\n", "y");
        assert!(bad.contains("line 3: 1 fields") && bad.contains("--skip-bad-rows"), "{bad}");
    }
}
