//! `TensorMap`: the variant value of this family.

use crate::by_value::ByValue;
use crate::prelude::*;
use crate::variants;
use bytes::Bytes;
use std::collections::HashMap;

/// A map by value, from tensors to tensors.
#[derive(Default)]
pub struct TensorMap(HashMap<Bytes, Entry>);

#[derive(Clone)]
struct Entry {
    key: Tensor,
    value: Tensor,
}

impl TensorMap {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn has(&self, key: &Tensor) -> Result<bool> {
        Ok(self.0.contains_key(&contents(key)?))
    }

    /// `purpose`: what for, in the error when there is none.
    pub fn value(&self, key: &Tensor, purpose: &str) -> Result<&Tensor> {
        let entry = self.0.get(&contents(key)?);
        entry.map(|e| &e.value).ok_or_else(|| missing(key, purpose))
    }

    pub fn insert(&mut self, key: Tensor, value: Tensor) -> Result<()> {
        let at = contents(&key)?;
        reserve::room(&mut self.0, 1)?;
        self.0.insert(at, Entry { key, value });
        Ok(())
    }

    pub fn erase(&mut self, key: &Tensor) -> Result<()> {
        match self.0.remove(&contents(key)?) {
            Some(_) => Ok(()),
            None => Err(missing(key, "erase non-existent item")),
        }
    }

    /// The keys, in an order that depends on nothing else.
    pub fn keys(&self) -> Result<Vec<Tensor>> {
        let mut entries = reserve::collect(self.0.iter())?;
        entries.sort_unstable_by_key(|(at, _)| *at);
        reserve::collect(entries.into_iter().map(|(_, e)| e.key.clone()))
    }
}

fn missing(key: &Tensor, purpose: &str) -> Error {
    invalid!("Trying to {purpose}. Could not find key of type {} and shape {}.", key.dtype(), key.shape())
}

/// Bytes that are the same for the same tensor.
fn contents(key: &Tensor) -> Result<Bytes> {
    let mut out = Vec::new();
    let mut put = |bytes: &[u8]| reserve::extend(&mut out, bytes);
    put(&key.dtype().wire().to_le_bytes())?;
    put(&(key.rank() as u64).to_le_bytes())?;
    for n in key.shape().iter() {
        put(&(*n as u64).to_le_bytes())?;
    }
    match key.dtype() {
        DataType::String => {
            for text in key.strings()? {
                put(&(text.len() as u64).to_le_bytes())?;
                put(&text[..])?;
            }
        }
        DataType::Variant | DataType::Resource => {
            return Err(unimplemented(format_args!("keys of type {} in a map", key.dtype())));
        }
        _ => put(key.bytes()?)?,
    }
    Ok(out.into())
}

impl ByValue for TensorMap {
    const TYPE_NAME: &'static str = "tensorflow::TensorMap";
    const NAME: &'static str = "map";

    fn copied(&self) -> Result<TensorMap> {
        let mut copy = HashMap::new();
        reserve::room(&mut copy, self.0.len())?;
        copy.extend(self.0.iter().map(|(at, e)| (at.clone(), e.clone())));
        Ok(TensorMap(copy))
    }

    fn moved(&mut self) -> TensorMap {
        std::mem::take(self)
    }

    fn zeros(&self, _: u32) -> Result<TensorMap> {
        Ok(TensorMap::default())
    }

    /// All keys of both; the sums of values that both have.
    fn plus(mut self, other: TensorMap, depth: u32) -> Result<TensorMap> {
        for (at, Entry { key, value }) in other.0 {
            let value = match self.0.remove(&at) {
                Some(mine) => variants::sum(mine.value, value, depth)?,
                None => value,
            };
            reserve::room(&mut self.0, 1)?;
            self.0.insert(at, Entry { key, value });
        }
        Ok(self)
    }
}
