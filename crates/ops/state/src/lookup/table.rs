//! `Table`: the entries of one lookup table.

use super::dense::Dense;
use crate::prelude::*;
use crate::rows::{join, row, unstack};
use bytes::Bytes;
use std::any::Any;
use std::collections::HashMap;
use std::sync::Mutex;
use thalweg_core::resource::Resource;
use thalweg_core::sync::lock;

pub struct Table {
    pub name: String,
    pub key: DataType,
    pub value: DataType,
    /// The shape of one value.
    pub value_shape: Shape,
    /// Immutable once filled by an initializer; or mutable at any time.
    pub fixed: bool,
    /// The entries of a MutableDenseHashTable; `entries` are those of all others.
    dense: Option<Dense>,
    /// `None` until a fixed table is filled.
    entries: Mutex<Option<HashMap<Bytes, Tensor>>>,
}

impl Table {
    pub fn new(name: &str, key: DataType, value: DataType, value_shape: Shape, fixed: bool) -> Table {
        let entries = Mutex::new(if fixed { None } else { Some(HashMap::new()) });
        Table { name: name.into(), key, value, value_shape, fixed, dense: None, entries }
    }

    pub fn dense(name: &str, key: DataType, value: DataType, value_shape: Shape, dense: Dense) -> Table {
        Table { dense: Some(dense), ..Table::new(name, key, value, value_shape, false) }
    }

    pub fn is_dense(&self) -> bool {
        self.dense.is_some()
    }

    pub(crate) fn len(&self) -> usize {
        match &self.dense {
            Some(dense) => dense.len(),
            None => lock(&self.entries).as_ref().map_or(0, HashMap::len),
        }
    }

    pub fn is_initialized(&self) -> bool {
        lock(&self.entries).is_some()
    }

    pub fn check_keys(&self, keys: &Tensor) -> Result<()> {
        if keys.dtype() == self.key {
            return Ok(());
        }
        Err(invalid!(
            "Signature mismatch: keys of table {} are {}, got {}",
            self.name,
            self.key,
            keys.dtype()
        ))
    }

    fn check_values(&self, dtype: DataType) -> Result<()> {
        if dtype == self.value {
            return Ok(());
        }
        Err(invalid!("Signature mismatch: values of table {} are {}, got {dtype}", self.name, self.value))
    }

    /// The shape of the values for keys of this shape.
    fn values_shape(&self, keys: &Shape) -> Result<Shape> {
        let each = self.dense.as_ref().map_or(&[][..], |d| d.key_shape.dims());
        let Some(rest) = keys.dims().strip_suffix(each) else {
            return Err(invalid!("Input key shape {keys} must end with the table's key shape {each:?}"));
        };
        Shape::new(&[rest, self.value_shape.dims()].concat())
    }

    /// The value of each key; `default` is one value for all missing keys, or one per key.
    pub fn find(&self, keys: &Tensor, default: &Tensor) -> Result<Tensor> {
        self.check_keys(keys)?;
        self.check_values(default.dtype())?;
        let shape = self.values_shape(keys.shape())?;
        let one = *default.shape() == self.value_shape;
        if !one && *default.shape() != shape {
            return Err(invalid!(
                "Expected shape {} or {shape} for default value, got {}",
                self.value_shape,
                default.shape()
            ));
        }
        if let Some(dense) = &self.dense {
            return dense.find(keys, default, shape);
        }
        // A default for each key, as rows.
        let defaults = if one { default.clone() } else { self.by_key(default, keys)? };
        let entries = lock(&self.entries);
        let entries = entries.as_ref().ok_or_else(|| failed_precondition("Table not initialized."))?;
        let find = |(i, key): (usize, &Bytes)| match entries.get(key) {
            Some(value) => Ok(value.clone()),
            None if one => Ok(default.clone()),
            None => row(&defaults, i),
        };
        let found = reserve::try_collect(keys_of(keys)?.iter().enumerate().map(find))?;
        join(self.value, shape, &found)
    }

    /// Pairs of keys and values, checked.
    fn pairs(&self, keys: &Tensor, values: &Tensor) -> Result<Vec<(Bytes, Tensor)>> {
        self.check_keys(keys)?;
        self.check_values(values.dtype())?;
        let shape = self.values_shape(keys.shape())?;
        if *values.shape() != shape {
            return Err(invalid!("Expected shape {shape} for value, got {}", values.shape()));
        }
        reserve::collect(keys_of(keys)?.into_iter().zip(unstack(&self.by_key(values, keys)?)?))
    }

    /// Values with one row for each key.
    fn by_key(&self, values: &Tensor, keys: &Tensor) -> Result<Tensor> {
        values.clone().reshape(self.values_shape(&Shape::vector(keys.elements()))?)
    }

    /// Adds or replaces entries; with `replace_all`, drops all others first.
    pub fn insert(&self, keys: &Tensor, values: &Tensor, replace_all: bool) -> Result<()> {
        if let Some(dense) = &self.dense {
            return self.change_dense(dense, keys, values, replace_all);
        }
        let pairs = self.pairs(keys, values)?;
        let mut entries = lock(&self.entries);
        let entries = entries.get_or_insert_default();
        reserve::room(entries, pairs.len())?;
        if replace_all {
            entries.clear();
        }
        entries.extend(pairs);
        Ok(())
    }

    fn change_dense(&self, dense: &Dense, keys: &Tensor, values: &Tensor, replace_all: bool) -> Result<()> {
        self.check_keys(keys)?;
        self.check_values(values.dtype())?;
        if replace_all {
            return dense.import(keys, values);
        }
        let shape = self.values_shape(keys.shape())?;
        if *values.shape() != shape {
            return Err(invalid!("Expected shape {shape} for value, got {}", values.shape()));
        }
        dense.insert(keys, values)
    }

    /// Fills a fixed table. One that is initialized is unchanged.
    pub fn initialize(&self, keys: &Tensor, values: &Tensor) -> Result<()> {
        if !self.fixed {
            return Err(invalid!("Table {} is not initializable", self.name));
        }
        if keys.elements() != values.elements() && self.value_shape.is_scalar() {
            return Err(invalid!(
                "Keys and values must have the same size {} vs {}",
                keys.elements(),
                values.elements()
            ));
        }
        let pairs = self.pairs(keys, values)?;
        let mut new: HashMap<Bytes, Tensor> = HashMap::new();
        reserve::room(&mut new, pairs.len())?;
        for (i, (key, value)) in pairs.into_iter().enumerate() {
            if let Some(old) = new.get(&key).filter(|old| !old.same_bits(&value)) {
                return Err(failed_precondition(format_args!(
                    "HashTable has different value for same key. Key {} has {old} and trying to add value {value}",
                    keys.element_text(i)
                )));
            }
            new.insert(key, value);
        }
        lock(&self.entries).get_or_insert(new);
        Ok(())
    }

    pub fn remove(&self, keys: &Tensor) -> Result<()> {
        self.check_keys(keys)?;
        if let Some(dense) = &self.dense {
            return dense.remove(keys);
        }
        let keys = keys_of(keys)?;
        if let Some(entries) = lock(&self.entries).as_mut() {
            keys.iter().for_each(|k| drop(entries.remove(k)));
        }
        Ok(())
    }

    /// All keys and values, in a deterministic order.
    pub fn export(&self) -> Result<(Tensor, Tensor)> {
        if let Some(dense) = &self.dense {
            return dense.export();
        }
        let mut all: Vec<(Bytes, Tensor)> = match lock(&self.entries).as_ref() {
            Some(entries) => reserve::collect(entries.iter().map(|(k, v)| (k.clone(), v.clone())))?,
            None => vec![],
        };
        // Keys are unique.
        all.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let n = Shape::vector(all.len());
        let keys = reserve::collect(all.iter().map(|(key, _)| key.clone()))?;
        let values = reserve::collect(all.into_iter().map(|(_, value)| value))?;
        let values = join(self.value, self.values_shape(&n)?, &values)?;
        let keys = match self.key {
            DataType::String => Tensor::from_objects(n, keys)?,
            plain => Tensor::from_bytes(plain, n, &reserve::join(keys.iter().map(|k| &k[..]), b"")?)?,
        };
        Ok((keys, values))
    }
}

/// Keys by their bytes.
fn keys_of(keys: &Tensor) -> Result<Vec<Bytes>> {
    match keys.dtype() {
        DataType::String => reserve::copied(keys.strings()?),
        plain => reserve::collect(keys.bytes()?.chunks_exact(plain.size()).map(Bytes::copy_from_slice)),
    }
}

impl Resource for Table {
    fn kind(&self) -> &'static str {
        match (self.fixed, self.is_dense()) {
            (true, _) => "HashTable",
            (false, true) => "MutableDenseHashTable",
            (false, false) => "MutableHashTable",
        }
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}
