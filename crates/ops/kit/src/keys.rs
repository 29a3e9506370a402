//! Elements as integer keys, equal where the elements are: for ops that search duplicates.

use crate::prelude::*;
use std::collections::HashMap;

/// A number for each element of each tensor, in order. Zeros of both signs are equal; a NaN equals nothing, not even itself.
pub fn keys(tensors: &[&Tensor]) -> Result<Vec<Vec<u128>>> {
    let Some(first) = tensors.first() else { return Ok(Vec::new()) };
    match first.dtype() {
        DataType::String => string_keys(tensors),
        DataType::Float => float_keys::<f32>(tensors),
        DataType::Double => float_keys::<f64>(tensors),
        DataType::Half => float_keys::<f16>(tensors),
        DataType::Bfloat16 => float_keys::<bf16>(tensors),
        DataType::Complex64 => complex_keys::<Complex32>(tensors),
        DataType::Complex128 => complex_keys::<ComplexDouble>(tensors),
        DataType::Resource | DataType::Variant => {
            Err(unimplemented(format_args!("elements of type {} cannot be looked up", first.dtype())))
        }
        plain => {
            let key = |b: &[u8]| b.iter().rev().fold(0u128, |k, b| k << 8 | *b as u128);
            tensors.iter().map(|t| reserve::collect(t.bytes()?.chunks_exact(plain.size()).map(key))).collect()
        }
    }
}

fn float_keys<T: Float>(tensors: &[&Tensor]) -> Result<Vec<Vec<u128>>> {
    let mut unequal = 1u128 << 64;
    let mut key = |v: &T| {
        if v.is_nan() {
            unequal += 1;
            return unequal;
        }
        // Widening is injective, and adding zero makes the sign of zero positive.
        (v.to_f64() + 0.0).to_bits() as u128
    };
    tensors.iter().map(|t| reserve::collect(t.as_slice::<T>()?.iter().map(&mut key))).collect()
}

fn complex_keys<T: ComplexNumber<Part: Float>>(tensors: &[&Tensor]) -> Result<Vec<Vec<u128>>> {
    let (mut seen, mut next) = (HashMap::new(), 0u128);
    let mut key = |v: &T| {
        let (re, im) = (v.re(), v.im());
        next += 1;
        if re.is_nan() || im.is_nan() {
            return Ok(next);
        }
        let bits = |part: f64| (part + 0.0).to_bits();
        reserve::room(&mut seen, 1)?;
        Ok(*seen.entry((bits(re.to_f64()), bits(im.to_f64()))).or_insert(next))
    };
    tensors.iter().map(|t| reserve::try_collect(t.as_slice::<T>()?.iter().map(&mut key))).collect()
}

fn string_keys(tensors: &[&Tensor]) -> Result<Vec<Vec<u128>>> {
    let mut seen = HashMap::new();
    let mut all = Vec::new();
    for t in tensors {
        let mut keys = reserve::with_capacity(t.elements())?;
        for s in t.strings()? {
            reserve::room(&mut seen, 1)?;
            let next = seen.len() as u128;
            keys.push(*seen.entry(s.as_ref()).or_insert(next));
        }
        all.push(keys);
    }
    Ok(all)
}
