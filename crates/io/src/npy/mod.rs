//! numpy's `.npy` files, versions 1 to 3: one array each.
//!
//! Arrays in Fortran order are transposed, foreign byte order is swapped, `S` and `U` arrays become strings (text as
//! UTF-8). numpy has no bfloat16: like `ml_dtypes` it is written as two opaque bytes, `<V2`. Arrays of Python objects and
//! of records are rejected.
//!
//! ```
//! use thalweg_core::tensor::Tensor;
//! use thalweg_io::npy;
//!
//! let t = Tensor::vector(&[1f32, 2.5])?;
//! assert!(npy::read(&npy::write(&t)?)?.same_bits(&t));
//! # Ok::<(), thalweg_core::error::Error>(())
//! ```

mod descr;
mod header;
#[cfg(test)]
mod tests;

use crate::{bounded_read, durable};
use bytes::Bytes;
use descr::{Descr, Kind};
use header::Header;
use std::path::Path;
use thalweg_core::dtype::DataType;
use thalweg_core::error::{Result, data_loss};
use thalweg_core::invalid;
use thalweg_core::reserve;
use thalweg_core::shape::Shape;
use thalweg_core::tensor::Tensor;

/// Parses a file's bytes.
pub fn read(bytes: &[u8]) -> Result<Tensor> {
    let (header, data) = header::split(bytes)?;
    let Header { descr, fortran_order, shape } = Header::parse(header)?;
    let descr = Descr::parse(&descr)?;
    let shape = Shape::from_i64(&shape)?;
    let need = shape.elements().checked_mul(descr.size);
    if need != Some(data.len()) {
        return Err(data_loss(format_args!(
            "the header promises shape {shape} of {} bytes each, but {} bytes follow it",
            descr.size,
            data.len()
        )));
    }
    let turned;
    let data = if fortran_order && shape.rank() > 1 {
        turned = from_fortran(data, &shape, descr.size)?;
        &turned
    } else {
        data
    };
    match descr.kind {
        Kind::Plain(dtype) => plain(dtype, shape, data, &descr),
        Kind::Bytes => strings(shape, data, &descr, |item| reserve::copied(trim_zeros(item))),
        Kind::Text => strings(shape, data, &descr, |item| text(item, descr.swapped)),
    }
}

/// Encodes a tensor, in version 1 of the format.
pub fn write(t: &Tensor) -> Result<Vec<u8>> {
    let strings;
    let (descr, data) = match t.dtype() {
        DataType::String => {
            strings = fixed_strings(t)?;
            (strings.0, &strings.1[..])
        }
        _ => (descr::of(t.dtype())?, t.bytes()?),
    };
    let mut out = header::make(&descr, t.shape());
    reserve::extend(&mut out, data)?;
    Ok(out)
}

pub fn read_file(path: &Path) -> Result<Tensor> {
    let bytes = bounded_read::read(path)?;
    read(&bytes).map_err(|e| durable::with_path(path, e))
}

pub fn write_file(path: &Path, t: &Tensor) -> Result<()> {
    let bytes = write(t).map_err(|e| durable::with_path(path, e))?;
    std::fs::write(path, bytes).map_err(|e| durable::with_path(path, e))
}

fn plain(dtype: DataType, shape: Shape, data: &[u8], descr: &Descr) -> Result<Tensor> {
    if !descr.swapped {
        return Tensor::from_bytes(dtype, shape, data);
    }
    // The byte order of each part of a complex number is swapped.
    let word = if dtype.is_complex() { descr.size / 2 } else { descr.size };
    let mut data = reserve::copied(data)?;
    data.chunks_exact_mut(word).for_each(<[u8]>::reverse);
    Tensor::from_bytes(dtype, shape, &data)
}

fn strings(
    shape: Shape,
    data: &[u8],
    descr: &Descr,
    item: impl Fn(&[u8]) -> Result<Vec<u8>>,
) -> Result<Tensor> {
    let items = data.chunks_exact(descr.size).map(|c| item(c).map(Bytes::from));
    Tensor::from_objects(shape, reserve::try_collect(items)?)
}

fn trim_zeros(item: &[u8]) -> &[u8] {
    &item[..item.iter().rposition(|b| *b != 0).map_or(0, |last| last + 1)]
}

/// UTF-32 to UTF-8.
fn text(item: &[u8], swapped: bool) -> Result<Vec<u8>> {
    let codes = item.as_chunks::<4>().0.iter().map(|b| {
        let code = u32::from_ne_bytes(*b);
        if swapped { code.swap_bytes() } else { code }
    });
    let mut text = reserve::with_capacity(item.len())?;
    for code in codes {
        let c =
            char::from_u32(code).ok_or_else(|| data_loss("a text holds a number that is no character"))?;
        text.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    }
    text.truncate(trim_zeros(&text).len());
    Ok(text)
}

/// Contiguous strings, padded with zeros to the longest.
fn fixed_strings(t: &Tensor) -> Result<(String, Vec<u8>)> {
    let items = t.strings()?;
    let size = items.iter().map(|s| s.len()).max().unwrap_or(0).max(1);
    let mut data = reserve::filled(items.len().saturating_mul(size), 0)?;
    for (slot, item) in data.chunks_exact_mut(size).zip(items) {
        if item.last() == Some(&0) {
            return Err(invalid!("a string that ends in a zero byte cannot be kept in an .npy file"));
        }
        slot[..item.len()].copy_from_slice(item);
    }
    Ok((format!("|S{size}"), data))
}

/// Transposes column-major (Fortran order) elements to row-major.
fn from_fortran(data: &[u8], shape: &Shape, size: usize) -> Result<Vec<u8>> {
    let mut out = reserve::with_capacity(data.len())?;
    let mut strides = Vec::with_capacity(shape.rank());
    let mut step = size;
    for d in shape.iter() {
        strides.push(step);
        step *= d;
    }
    let mut index = vec![0usize; shape.rank()];
    let mut from = 0;
    while out.len() < data.len() {
        out.extend_from_slice(&data[from..from + size]);
        for axis in (0..index.len()).rev() {
            index[axis] += 1;
            from += strides[axis];
            if index[axis] < shape[axis] {
                break;
            }
            from -= strides[axis] * shape[axis];
            index[axis] = 0;
        }
    }
    Ok(out)
}
