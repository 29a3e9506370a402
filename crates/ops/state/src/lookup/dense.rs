//! `Dense`: the entries of a MutableDenseHashTable, in buckets with open addressing. Which bucket an entry is in is part of what
//! LookupTableExport gives and LookupTableImport takes, so hashes and probes are TensorFlow's. Empty buckets take no memory.

use crate::prelude::*;
use crate::rows::{join, row, unstack};
use bytes::Bytes;
use std::collections::HashMap;
use std::sync::Mutex;
use thalweg_core::sync::lock;
use thalweg_math::hash::murmur64;

/// What a dense table is made with.
#[derive(Clone)]
pub struct DenseSpec {
    pub key: DataType,
    pub value: DataType,
    pub value_shape: Shape,
    pub buckets: i64,
    pub max_load: f32,
}

pub struct Dense {
    key: DataType,
    value: DataType,
    pub key_shape: Shape,
    value_shape: Shape,
    max_load: f32,
    empty: Key,
    deleted: Key,
    buckets: Mutex<Buckets>,
}

#[derive(Clone, PartialEq)]
struct Key {
    hash: u64,
    bytes: Bytes,
}

#[derive(Default)]
struct Buckets {
    count: usize,
    entries: usize,
    /// By bucket.
    held: HashMap<usize, Slot>,
}

enum Slot {
    Held(Key, Tensor),
    /// Held an entry: look-ups go on past it.
    Deleted,
}

impl Dense {
    pub fn new(spec: &DenseSpec, empty: &Tensor, deleted: &Tensor) -> Result<Dense> {
        let DenseSpec { key, value, ref value_shape, buckets, max_load } = *spec;
        if !matches!(key, DataType::Int32 | DataType::Int64 | DataType::String) {
            return Err(unimplemented(format_args!("dense tables with keys of type {key}")));
        }
        if !(max_load > 0.0 && max_load < 1.0) {
            return Err(invalid!("max_load_factor must be between 0 and 1, got: {max_load}"));
        }
        if value_shape.rank() > 1 {
            return Err(invalid!("Empty value must be a scalar or a vector, got shape {value_shape}"));
        }
        if empty.rank() > 1 {
            return Err(invalid!("Empty key must be a scalar or a vector, got shape {}", empty.shape()));
        }
        if empty.shape() != deleted.shape() {
            return Err(invalid!(
                "Empty and deleted keys must have same shape, got shapes: {} and {}",
                empty.shape(),
                deleted.shape()
            ));
        }
        let key_shape = empty.shape().clone();
        if key == DataType::String && key_shape.elements() != 1 {
            return Err(unimplemented("dense tables whose keys are vectors of strings"));
        }
        let one = |t: &Tensor| {
            let key = keys_of(t, &key_shape)?.pop();
            key.ok_or_else(|| invalid!("the keys of a dense table must not be empty"))
        };
        let (empty, deleted) = (one(empty)?, one(deleted)?);
        if empty == deleted {
            return Err(invalid!("Empty and deleted keys cannot be equal"));
        }
        let count = usize::try_from(buckets).ok().filter(|n| *n >= 4 && n.is_power_of_two());
        let count = count.ok_or_else(|| {
            invalid!("Number of buckets must be at least 4 and a power of 2, got: {buckets}")
        })?;
        let buckets = Mutex::new(Buckets { count, ..Buckets::default() });
        let value_shape = value_shape.clone();
        Ok(Dense { key, value, key_shape, value_shape, max_load, empty, deleted, buckets })
    }

    pub fn len(&self) -> usize {
        lock(&self.buckets).entries
    }

    /// The keys: one for each row of their first dimension, none of them one of the two special ones.
    fn keys(&self, keys: &Tensor) -> Result<Vec<Key>> {
        let rows = keys.shape().first().copied().unwrap_or(1);
        if rows.checked_mul(self.key_shape.elements()) != Some(keys.elements()) {
            let expected = Shape::new(&[&[rows], self.key_shape.dims()].concat())?;
            return Err(invalid!("Expected key shape {expected} got {}", keys.shape()));
        }
        let keys = keys_of(keys, &self.key_shape)?;
        for (what, special) in [("empty_key", &self.empty), ("deleted_key", &self.deleted)] {
            if keys.contains(special) {
                return Err(invalid!("Using the {what} as a table key is not allowed"));
            }
        }
        Ok(keys)
    }

    /// `default` is one value, or a row for each key.
    pub fn find(&self, keys: &Tensor, default: &Tensor, shape: Shape) -> Result<Tensor> {
        let keys = self.keys(keys)?;
        let one = *default.shape() == self.value_shape;
        let by_key = Shape::new(&[&[keys.len()], self.value_shape.dims()].concat())?;
        let defaults = if one { default.clone() } else { default.clone().reshape(by_key)? };
        let buckets = lock(&self.buckets);
        let find = |(i, key): (usize, &Key)| match buckets.find(key)? {
            Some(Slot::Held(_, value)) => Ok(value.clone()),
            _ if one => Ok(default.clone()),
            _ => row(&defaults, i),
        };
        let found = reserve::try_collect(keys.iter().enumerate().map(find))?;
        join(self.value, shape, &found)
    }

    pub fn insert(&self, keys: &Tensor, values: &Tensor) -> Result<()> {
        let keys = self.keys(keys)?;
        let by_key = Shape::new(&[&[keys.len()], self.value_shape.dims()].concat())?;
        let values = unstack(&values.clone().reshape(by_key)?)?;
        let mut buckets = lock(&self.buckets);
        buckets.make_room(keys.len(), self.max_load)?;
        reserve::room(&mut buckets.held, keys.len())?;
        keys.into_iter().zip(values).try_for_each(|(key, value)| buckets.insert(key, value))
    }

    pub fn remove(&self, keys: &Tensor) -> Result<()> {
        let keys = self.keys(keys)?;
        let mut buckets = lock(&self.buckets);
        keys.iter().try_for_each(|key| buckets.remove(key))
    }

    /// All buckets, with the empty key in those that hold nothing.
    pub fn export(&self) -> Result<(Tensor, Tensor)> {
        let buckets = lock(&self.buckets);
        let n = buckets.count;
        let zeros = Tensor::zeros(self.value, self.value_shape.clone())?;
        let (mut keys, mut values) = (reserve::with_capacity(n)?, reserve::with_capacity(n)?);
        for i in 0..n {
            let (key, value) = match buckets.held.get(&i) {
                Some(Slot::Held(key, value)) => (key, value),
                Some(Slot::Deleted) => (&self.deleted, &zeros),
                None => (&self.empty, &zeros),
            };
            keys.push(key.bytes.clone());
            values.push(value.clone());
        }
        let key_rows = Shape::new(&[n, self.key_shape.elements()])?;
        let keys = match self.key {
            DataType::String => Tensor::from_objects(key_rows, keys)?,
            plain => Tensor::from_bytes(plain, key_rows, &reserve::join(keys.iter().map(|k| &k[..]), b"")?)?,
        };
        Ok((keys, join(self.value, Shape::new(&[n, self.value_shape.elements()])?, &values)?))
    }

    /// Replaces all buckets by exported ones.
    pub fn import(&self, keys: &Tensor, values: &Tensor) -> Result<()> {
        let (n, rest) = match keys.shape().dims() {
            [n, rest] => (*n, *rest),
            _ => {
                return Err(invalid!(
                    "Expected key shape [?,{}] got {}",
                    self.key_shape.elements(),
                    keys.shape()
                ));
            }
        };
        let want = Shape::new(&[n, self.value_shape.elements()])?;
        if rest != self.key_shape.elements() || *values.shape() != want {
            return Err(invalid!("Expected shape {want} for value, got {}", values.shape()));
        }
        let keys = keys_of(keys, &self.key_shape)?;
        let by_key = Shape::new(&[&[n], self.value_shape.dims()].concat())?;
        let values = unstack(&values.clone().reshape(by_key)?)?;
        let mut new = Buckets { count: n, ..Buckets::default() };
        reserve::room(&mut new.held, n)?;
        for (i, (key, value)) in keys.into_iter().zip(values).enumerate() {
            if key == self.deleted {
                new.held.insert(i, Slot::Deleted);
            } else if key != self.empty {
                new.entries += 1;
                new.held.insert(i, Slot::Held(key, value));
            }
        }
        *lock(&self.buckets) = new;
        Ok(())
    }
}

impl Buckets {
    /// The buckets that an entry may be in, in order.
    fn probes(&self, key: &Key) -> impl Iterator<Item = usize> + use<> {
        let mask = self.count.saturating_sub(1);
        let first = key.hash as usize & mask;
        (0..self.count).scan(first, move |at, probe| {
            *at = at.wrapping_add(probe) & mask;
            Some(*at)
        })
    }

    /// `None`: there is no entry of that key.
    fn find(&self, key: &Key) -> Result<Option<&Slot>> {
        for at in self.probes(key) {
            match self.held.get(&at) {
                None => return Ok(None),
                Some(slot @ Slot::Held(other, _)) if other == key => return Ok(Some(slot)),
                Some(_) => {}
            }
        }
        Err(full("lookup"))
    }

    fn insert(&mut self, key: Key, value: Tensor) -> Result<()> {
        for at in self.probes(&key) {
            match self.held.get_mut(&at) {
                Some(Slot::Held(other, held)) if *other == key => {
                    *held = value;
                    return Ok(());
                }
                Some(Slot::Held(..)) => {}
                Some(Slot::Deleted) | None => {
                    self.entries += 1;
                    self.held.insert(at, Slot::Held(key, value));
                    return Ok(());
                }
            }
        }
        Err(full("insert"))
    }

    fn remove(&mut self, key: &Key) -> Result<()> {
        for at in self.probes(key) {
            match self.held.get(&at) {
                None => return Ok(()),
                Some(Slot::Held(other, _)) if other == key => {
                    self.held.insert(at, Slot::Deleted);
                    self.entries = self.entries.saturating_sub(1);
                    return Ok(());
                }
                Some(_) => {}
            }
        }
        Err(full("remove"))
    }

    /// Doubles the buckets until `more` entries are within the load factor.
    fn make_room(&mut self, more: usize, max_load: f32) -> Result<()> {
        let wanted = self.entries.saturating_add(more) as f64;
        let fits = |count: usize| wanted <= count as f64 * f64::from(max_load);
        if fits(self.count) {
            return Ok(());
        }
        let mut count = self.count.max(1);
        while !fits(count) {
            count = count.checked_mul(2).ok_or_else(|| resource_exhausted("a table of too many buckets"))?;
        }
        let mut new = Buckets { count, ..Buckets::default() };
        reserve::room(&mut new.held, self.entries.saturating_add(more))?;
        // In the order of the buckets.
        let mut old: Vec<usize> = reserve::collect(self.held.keys().copied())?;
        old.sort_unstable();
        for at in old {
            if let Some(Slot::Held(key, value)) = self.held.remove(&at) {
                new.insert(key, value)?;
            }
        }
        *self = new;
        Ok(())
    }
}

fn full(what: &str) -> Error {
    internal(format_args!("Internal error in MutableDenseHashTable {what}"))
}

/// Keys of this shape, with TensorFlow's hashes.
fn keys_of(keys: &Tensor, key_shape: &Shape) -> Result<Vec<Key>> {
    let each = key_shape.elements().max(1);
    match keys.dtype() {
        DataType::String => {
            reserve::collect(keys.strings()?.iter().map(|k| Key { hash: murmur64(k), bytes: k.clone() }))
        }
        plain => {
            let values = keys.to_i64s()?;
            let bytes = keys.bytes()?.chunks_exact(plain.size().saturating_mul(each));
            reserve::collect(values.chunks_exact(each).zip(bytes).map(|(values, bytes)| {
                let hash = match values {
                    [one] => *one as u64,
                    many => many.iter().fold(0, |hash, v| combine(hash, *v as u64)),
                };
                Key { hash, bytes: Bytes::copy_from_slice(bytes) }
            }))
        }
    }
}

/// The hash of a vector, from those of its elements.
fn combine(a: u64, b: u64) -> u64 {
    a ^ b.wrapping_add(0x9e37_79b9_7f4a_7800).wrapping_add(a << 10).wrapping_add(a >> 4)
}
