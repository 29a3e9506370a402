//! Vocabulary columns: the index of a value in a list, or in a file.

use super::{CategoricalColumn, Column, Features, SparseTensor, invalid};
use crate::tables::IndexTable;
use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::panic::Location;
use std::path::{Path, PathBuf};
use thalweg_client::{DataType, Error, IntoTensor, Result, Scope, Tensor};
use thalweg_io::durable;

/// What both kinds share.
#[derive(Clone)]
struct Lookup {
    key: String,
    default: Option<i64>,
    oov_buckets: usize,
    place: &'static Location<'static>,
}

/// A value of a vocabulary.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// For a vocabulary of strings.
    Text(String),
    /// For a vocabulary of integers.
    Number(i64),
}

impl From<&str> for Key {
    fn from(text: &str) -> Key {
        Key::Text(text.to_string())
    }
}

impl From<String> for Key {
    fn from(text: String) -> Key {
        Key::Text(text)
    }
}

impl From<i64> for Key {
    fn from(number: i64) -> Key {
        Key::Number(number)
    }
}

/// See [`categorical_column_with_vocabulary_list`].
#[derive(Clone)]
pub struct VocabularyListColumn {
    lookup: Lookup,
    vocabulary: Vec<Key>,
}

/// Strings or integers of a list: the id of each is its index.
#[track_caller]
pub fn categorical_column_with_vocabulary_list<K: Into<Key>>(
    key: &str,
    vocabulary: impl IntoIterator<Item = K>,
) -> VocabularyListColumn {
    let lookup = Lookup::new(key, Location::caller());
    VocabularyListColumn { lookup, vocabulary: vocabulary.into_iter().map(Into::into).collect() }
}

/// See [`categorical_column_with_vocabulary_file`].
#[derive(Clone)]
pub struct VocabularyFileColumn {
    lookup: Lookup,
    file: PathBuf,
    size: Option<usize>,
}

/// Strings or integers of a text file, one per line: the id of each is its line number, from 0.
#[track_caller]
pub fn categorical_column_with_vocabulary_file(key: &str, file: impl AsRef<Path>) -> VocabularyFileColumn {
    let lookup = Lookup::new(key, Location::caller());
    VocabularyFileColumn { lookup, file: file.as_ref().to_path_buf(), size: None }
}

impl VocabularyListColumn {
    /// The id of values that are not in the list; without one, and without OOV buckets, they count as missing.
    pub fn default_value(mut self, id: i64) -> Self {
        self.lookup.default = Some(id);
        self
    }

    /// Out-of-vocabulary values are hashed into this many ids after the last.
    pub fn num_oov_buckets(mut self, buckets: usize) -> Self {
        self.lookup.oov_buckets = buckets;
        self
    }

    /// The vocabulary as a tensor: all strings or all integers, each once.
    fn keys(&self) -> Result<Tensor> {
        let mut seen = HashSet::new();
        if let Some(twice) = self.vocabulary.iter().find(|key| !seen.insert(*key)) {
            return Err(self.lookup.wrong(format!("has {twice:?} twice in its vocabulary")));
        }
        let texts: Vec<String> = self
            .vocabulary
            .iter()
            .filter_map(|k| if let Key::Text(t) = k { Some(t.clone()) } else { None })
            .collect();
        let numbers: Vec<i64> = self
            .vocabulary
            .iter()
            .filter_map(|k| if let Key::Number(n) = k { Some(*n) } else { None })
            .collect();
        match (texts.is_empty(), numbers.is_empty()) {
            (true, true) => Err(self.lookup.wrong("has an empty vocabulary")),
            (false, false) => {
                Err(self.lookup.wrong("has strings and integers in its vocabulary; make them all strings"))
            }
            (false, true) => texts.into_tensor(),
            (true, false) => numbers.into_tensor(),
        }
    }
}

impl VocabularyFileColumn {
    /// The id of values that are not in the file; without one, and without OOV buckets, they count as missing.
    pub fn default_value(mut self, id: i64) -> Self {
        self.lookup.default = Some(id);
        self
    }

    /// Out-of-vocabulary values are hashed into this many ids after the last.
    pub fn num_oov_buckets(mut self, buckets: usize) -> Self {
        self.lookup.oov_buckets = buckets;
        self
    }

    /// How many lines of the file are read; all by default.
    pub fn vocabulary_size(mut self, lines: usize) -> Self {
        self.size = Some(lines);
        self
    }

    fn lines(&self) -> Result<usize> {
        let counted = || -> Result<usize> {
            let file = std::fs::File::open(&self.file).map_err(|e| durable::with_path(&self.file, e))?;
            let file = BufReader::new(file);
            let mut lines = 0;
            for line in file.split(b'\n') {
                line.map_err(|e| durable::with_path(&self.file, e))?;
                lines += 1;
            }
            Ok(lines)
        };
        let lines = counted().map_err(|e| {
            e.context(format_args!("vocabulary file of column '{}'", self.lookup.key))
                .at(Some(self.lookup.place))
        })?;
        let size = self.size.unwrap_or(lines);
        if size == 0 {
            return Err(self.lookup.wrong(format!("has no lines of {}", self.file.display())));
        }
        if size > lines {
            let text = format!("wants {size} lines of {}, which has {lines}", self.file.display());
            return Err(self.lookup.wrong(text));
        }
        Ok(size)
    }
}

impl Lookup {
    fn new(key: &str, place: &'static Location<'static>) -> Lookup {
        Lookup { key: key.to_string(), default: None, oov_buckets: 0, place }
    }

    fn wrong(&self, what: impl AsRef<str>) -> Error {
        invalid(format!("column '{}' {}", self.key, what.as_ref())).at(Some(self.place))
    }

    /// The default id, validated against the size of the vocabulary.
    fn default_of(&self, size: usize) -> Result<i64> {
        match self.default {
            Some(_) if self.oov_buckets > 0 => {
                Err(self.wrong("has both a default_value and num_oov_buckets; give one of them"))
            }
            Some(id) if id < -1 || id >= size as i64 => {
                Err(self.wrong(format!("has default_value {id}, which is not in [-1, {size})")))
            }
            id => Ok(id.unwrap_or(-1)),
        }
    }

    /// The feature, in the type of the vocabulary.
    fn feature(&self, g: &Scope, features: &Features, keys: DataType) -> Result<SparseTensor> {
        let x = SparseTensor::of_feature(g, features, &self.key).map_err(|e| e.at(Some(self.place)))?;
        match (x.values.dtype(), keys) {
            (have, want) if have == want => Ok(x),
            (DataType::String, _) => {
                Err(self.wrong("has a vocabulary of integers, but the feature is string"))
            }
            (have, DataType::String) => Err(self.wrong(format!(
                "has a vocabulary of strings, but the feature is {have}; list integers instead"
            ))),
            (_, want) => Ok(x.with_values(g.cast(&x.values, want))),
        }
    }
}

impl Column for VocabularyListColumn {
    fn name(&self) -> String {
        self.lookup.key.clone()
    }

    fn place(&self) -> &'static Location<'static> {
        self.lookup.place
    }

    fn as_categorical(&self) -> Option<&dyn CategoricalColumn> {
        Some(self)
    }
}

impl CategoricalColumn for VocabularyListColumn {
    fn buckets(&self) -> Result<usize> {
        Ok(self.vocabulary.len().saturating_add(self.lookup.oov_buckets))
    }

    fn ids(&self, g: &Scope, features: &Features) -> Result<SparseTensor> {
        let keys = self.keys()?;
        let x = self.lookup.feature(g, features, keys.dtype())?;
        let default = self.lookup.default_of(keys.elements())?;
        let g = g.name_scope(&format!("{}_lookup", super::scope_name(&self.lookup.key)));
        let table = IndexTable::from_tensor(&g, keys, default, self.lookup.oov_buckets);
        Ok(x.with_values(table.lookup(&g, &x.values)))
    }
}

impl Column for VocabularyFileColumn {
    fn name(&self) -> String {
        self.lookup.key.clone()
    }

    fn place(&self) -> &'static Location<'static> {
        self.lookup.place
    }

    fn as_categorical(&self) -> Option<&dyn CategoricalColumn> {
        Some(self)
    }
}

impl CategoricalColumn for VocabularyFileColumn {
    fn buckets(&self) -> Result<usize> {
        Ok(self.lines()?.saturating_add(self.lookup.oov_buckets))
    }

    fn ids(&self, g: &Scope, features: &Features) -> Result<SparseTensor> {
        let size = self.lines()?;
        let default = self.lookup.default_of(size)?;
        let raw = features.get(&self.lookup.key).map_err(|e| e.at(Some(self.lookup.place)))?;
        let keys = if raw.dtype() == DataType::String { DataType::String } else { DataType::Int64 };
        let x = self.lookup.feature(g, features, keys)?;
        let g = g.name_scope(&format!("{}_lookup", super::scope_name(&self.lookup.key)));
        let table = IndexTable::from_file(&g, &self.file, size, keys, default, self.lookup.oov_buckets);
        Ok(x.with_values(table.lookup(&g, &x.values)))
    }
}
