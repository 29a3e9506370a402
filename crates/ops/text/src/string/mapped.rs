//! Helpers of string ops.

use crate::prelude::*;
use bytes::Bytes;

/// Output 0 = `f` of each string of input 0.
pub fn map_strings(c: &mut OpCall<'_>, f: impl Fn(&Bytes) -> Result<Bytes>) -> Result<()> {
    let x = c.input(0)?;
    let items = reserve::try_collect(x.strings()?.iter().map(f))?;
    let out = Tensor::from_objects(x.shape().clone(), items)?;
    c.set(0, out);
    Ok(())
}

/// Output 0 = `f` of each string of input 0, as numbers or flags.
pub fn map_to<T: Element>(c: &mut OpCall<'_>, f: impl Fn(&Bytes) -> Result<T>) -> Result<()> {
    let x = c.input(0)?;
    let mut out = Tensor::uninit(T::DTYPE, x.shape().clone())?;
    for (out, s) in out.as_mut_slice::<T>()?.iter_mut().zip(x.strings()?) {
        *out = f(s)?;
    }
    c.set(0, out);
    Ok(())
}

/// The string of input `i`, which must be a scalar.
pub fn one_string<'a>(c: &'a OpCall<'_>, i: usize, name: &str) -> Result<&'a Bytes> {
    let t = c.input(i)?;
    match t.strings()? {
        [one] if t.shape().is_scalar() => Ok(one),
        _ => Err(invalid!("{name} must be scalar, but received {}", t.shape())),
    }
}

/// Whether a byte starts a UTF-8 character.
pub fn begins_char(b: &u8) -> bool {
    b & 0xC0 != 0x80
}

/// A string tensor, for cases.
pub fn words(dims: &[usize], items: &[&'static str]) -> Tensor {
    let items = items.iter().map(|s| Bytes::from_static(s.as_bytes())).collect();
    let shape = Shape::new(dims).unwrap_or_default();
    Tensor::from_objects(shape, items).unwrap_or_else(|_| Tensor::string(""))
}
