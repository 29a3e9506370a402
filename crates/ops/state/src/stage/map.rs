//! `StagingMap`: tuples by key, which may be put in and taken out in parts.

use super::area::{Limits, bytes_of};
use crate::prelude::*;
use std::collections::BTreeMap;

/// A tuple, some of whose tensors are not there yet, or no more.
type Parts = Vec<Option<Tensor>>;

/// Keys are in order: that of an unordered map is unspecified.
#[derive(Default)]
pub struct StagingMap {
    complete: BTreeMap<i64, Parts>,
    incomplete: BTreeMap<i64, Parts>,
    bytes: usize,
}

/// Tensors for some places of the tuple of a key.
pub struct Addition {
    pub key: i64,
    pub places: Vec<i64>,
    pub tensors: Vec<Tensor>,
    /// The length of a tuple.
    pub of: usize,
}

impl StagingMap {
    pub fn len(&self) -> usize {
        self.complete.len()
    }

    pub fn incomplete_len(&self) -> usize {
        self.incomplete.len()
    }

    pub fn clear(&mut self) {
        *self = StagingMap::default();
    }

    /// Adds tensors if there is room. The tuple of a key that is there already stays.
    pub fn put(&mut self, add: &Addition, limits: Limits) -> Option<Result<()>> {
        let more = bytes_of(&add.tensors);
        if !limits.allow(self.complete.len(), self.bytes, more) {
            return None;
        }
        Some(self.insert(add).map(|()| self.bytes = self.bytes.saturating_add(more)))
    }

    fn insert(&mut self, add: &Addition) -> Result<()> {
        // All places: the tensors are the tuple.
        if add.places.len() >= add.of {
            let tuple = reserve::collect(add.tensors.iter().take(add.of).cloned().map(Some))?;
            self.complete.entry(add.key).or_insert(tuple);
            return Ok(());
        }
        let mut parts = match self.incomplete.get(&add.key) {
            Some(parts) => reserve::copied(parts)?,
            None => reserve::filled(add.of, None)?,
        };
        for (place, t) in add.places.iter().zip(&add.tensors) {
            let part = usize::try_from(*place).ok().and_then(|p| parts.get_mut(p));
            let part = part.ok_or_else(|| out_of_bounds(*place, add.key, add.of))?;
            if part.is_some() {
                return Err(invalid!(
                    "The tensor for index '{place}' for key '{}' was already initialized '{}'.",
                    add.key,
                    add.of
                ));
            }
            *part = Some(t.clone());
        }
        if parts.iter().all(Option::is_some) {
            self.incomplete.remove(&add.key);
            self.complete.entry(add.key).or_insert(parts);
        } else {
            self.incomplete.insert(add.key, parts);
        }
        Ok(())
    }

    pub fn first_key(&self) -> Option<i64> {
        self.complete.keys().next().copied()
    }

    /// Takes these places of the tuple of a key, or copies them; `None` while there is no such tuple.
    pub fn get(&mut self, key: i64, places: &[i64], take: bool) -> Option<Result<Vec<Tensor>>> {
        let parts = self.complete.get_mut(&key)?;
        let found = reserve::try_collect(places.iter().map(|place| {
            let part = usize::try_from(*place).ok().and_then(|p| parts.get(p));
            match part {
                Some(Some(t)) => Ok(t.clone()),
                Some(None) => {
                    Err(invalid!("Tensor at index '{place}' for key '{key}' has already been removed."))
                }
                None => Err(out_of_bounds(*place, key, parts.len())),
            }
        }));
        if let (Ok(found), true) = (&found, take) {
            self.bytes = self.bytes.saturating_sub(bytes_of(found));
            for place in places {
                if let Some(part) = usize::try_from(*place).ok().and_then(|p| parts.get_mut(p)) {
                    *part = None;
                }
            }
            if parts.iter().all(Option::is_none) {
                self.complete.remove(&key);
            }
        }
        Some(found)
    }
}

fn out_of_bounds(place: i64, key: i64, of: usize) -> Error {
    invalid!("Index '{place}' for key '{key}' was out of bounds '{of}'.")
}
