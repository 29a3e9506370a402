//! numpy's `.npz` files: zip archives of `.npy` files, stored or deflated.
//!
//! The central directory at the end is what counts: local headers may lack sizes. Every offset and size is checked against the bytes there
//! are, and no entry is inflated beyond the size that the directory gives it.

use crate::{bounded_read, durable, npy};
use flate2::Crc;
use flate2::read::DeflateDecoder;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use thalweg_core::error::{Error, Result, data_loss, unimplemented};
use thalweg_core::invalid;
use thalweg_core::reserve;
use thalweg_core::tensor::Tensor;

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
const END_64: u32 = 0x0606_4b50;
const LOCATOR_64: u32 = 0x0706_4b50;
const ZIP_64: u16 = 1;

const STORED: u16 = 0;
const DEFLATED: u16 = 8;

const END_BYTES: usize = 22;
const LOCATOR_BYTES: usize = 20;
const LOCAL_BYTES: usize = 30;
const CENTRAL_BYTES: usize = 46;

/// The arrays of a file by name, in order.
pub fn read_file(path: &Path) -> Result<Vec<(String, Tensor)>> {
    let bytes = bounded_read::read(path)?;
    read(&bytes).map_err(|e| durable::with_path(path, e))
}

/// Writes arrays, stored uncompressed as numpy's `savez` does.
pub fn write_file(path: &Path, arrays: &[(String, Tensor)]) -> Result<()> {
    let bytes = write(arrays).map_err(|e| durable::with_path(path, e))?;
    durable::write(path, &bytes)
}

/// Parses a file's bytes.
pub fn read(bytes: &[u8]) -> Result<Vec<(String, Tensor)>> {
    let mut arrays = BTreeMap::new();
    for entry in entries(bytes)? {
        let Some(name) = entry.name.strip_suffix(".npy") else { continue };
        let content = entry.content(bytes).map_err(|e| e.context(format_args!("'{}'", entry.name)))?;
        let tensor = npy::read(&content).map_err(|e| e.context(format_args!("'{}'", entry.name)))?;
        arrays.insert(name.to_string(), tensor);
    }
    Ok(arrays.into_iter().collect())
}

/// A file of the archive, as the central directory has it.
struct Entry {
    name: String,
    method: u16,
    crc: u32,
    stored: usize,
    size: usize,
    offset: usize,
}

fn entries(bytes: &[u8]) -> Result<Vec<Entry>> {
    let (count, mut at) = directory(bytes)?;
    let mut found = Vec::new();
    for _ in 0..count {
        let (entry, next) = entry(bytes, at)?;
        reserve::push(&mut found, entry)?;
        at = next;
    }
    Ok(found)
}

/// How many entries the central directory has, and where it starts.
fn directory(bytes: &[u8]) -> Result<(u64, usize)> {
    // A comment of up to 64 KiB may follow the end record.
    let first = bytes.len().saturating_sub(END_BYTES + usize::from(u16::MAX));
    let last = bytes.len().checked_sub(END_BYTES).ok_or_else(|| data_loss("too short for a zip archive"))?;
    let end = (first..=last).rev().find(|at| word(bytes, *at).is_ok_and(|w| w == END));
    let end = end.ok_or_else(|| data_loss("not a zip archive: it has no end record"))?;
    let (count, offset) = (u64::from(half(bytes, end + 10)?), u64::from(word(bytes, end + 16)?));
    let whole = u64::from(u32::MAX);
    if offset != whole && count != u64::from(u16::MAX) {
        return Ok((count, place(offset)?));
    }
    let locator = end.checked_sub(LOCATOR_BYTES).filter(|at| word(bytes, *at).is_ok_and(|w| w == LOCATOR_64));
    let Some(locator) = locator else { return Ok((count, place(offset)?)) };
    let record = place(long(bytes, locator + 8)?)?;
    if word(bytes, record)? != END_64 {
        return Err(data_loss("the zip64 end record is not where its locator says"));
    }
    Ok((long(bytes, after(record, 32)?)?, place(long(bytes, after(record, 48)?)?)?))
}

/// The entry of the central directory at a place, and where the next one is.
fn entry(bytes: &[u8], at: usize) -> Result<(Entry, usize)> {
    if word(bytes, at)? != CENTRAL {
        return Err(data_loss("the zip directory is damaged"));
    }
    let name_bytes = usize::from(half(bytes, at + 28)?);
    let extra_bytes = usize::from(half(bytes, at + 30)?);
    let comment_bytes = usize::from(half(bytes, at + 32)?);
    let name_at = after(at, CENTRAL_BYTES)?;
    let extra_at = after(name_at, name_bytes)?;
    let name = String::from_utf8_lossy(slice(bytes, name_at, name_bytes)?).into_owned();
    let mut wide = Wide { extra: slice(bytes, extra_at, extra_bytes)?, at: None };
    // In this order in the zip64 field, and only those that do not fit.
    let size = wide.or(word(bytes, at + 24)?)?;
    let stored = wide.or(word(bytes, at + 20)?)?;
    let offset = wide.or(word(bytes, at + 42)?)?;
    let entry = Entry {
        name,
        method: half(bytes, at + 10)?,
        crc: word(bytes, at + 16)?,
        stored: place(stored)?,
        size: place(size)?,
        offset: place(offset)?,
    };
    Ok((entry, after(after(extra_at, extra_bytes)?, comment_bytes)?))
}

/// The 64-bit values of an entry whose 32-bit fields are all ones.
struct Wide<'a> {
    extra: &'a [u8],
    /// Where the next value is, once the zip64 field has been found.
    at: Option<usize>,
}

impl Wide<'_> {
    fn or(&mut self, short: u32) -> Result<u64> {
        if short != u32::MAX {
            return Ok(u64::from(short));
        }
        let at = match self.at {
            Some(at) => at,
            None => self.field()?,
        };
        self.at = Some(after(at, 8)?);
        long(self.extra, at)
    }

    fn field(&self) -> Result<usize> {
        let mut at = 0;
        while at < self.extra.len() {
            let (id, size) = (half(self.extra, at)?, usize::from(half(self.extra, at + 2)?));
            if id == ZIP_64 {
                return Ok(at + 4);
            }
            at = after(at + 4, size)?;
        }
        Err(data_loss("a size of the zip directory is missing"))
    }
}

impl Entry {
    fn content(&self, bytes: &[u8]) -> Result<Vec<u8>> {
        if word(bytes, self.offset)? != LOCAL {
            return Err(data_loss("its zip header is not where the directory says"));
        }
        let name = usize::from(half(bytes, after(self.offset, 26)?)?);
        let extra = usize::from(half(bytes, after(self.offset, 28)?)?);
        let start = after(after(self.offset, LOCAL_BYTES)?, name + extra)?;
        let stored = slice(bytes, start, self.stored)?;
        let content = match self.method {
            STORED => reserve::copied(stored)?,
            DEFLATED => {
                let mut out = Vec::new();
                let mut input = DeflateDecoder::new(stored).take((self.size as u64).saturating_add(1));
                bounded_read::read_up_to(&mut input, usize::MAX, &mut out).map_err(Error::from)?;
                out
            }
            other => return Err(unimplemented(format_args!("zip compression method {other}"))),
        };
        if content.len() != self.size {
            return Err(data_loss(format_args!(
                "holds {} bytes, the directory says {}",
                content.len(),
                self.size
            )));
        }
        let mut crc = Crc::new();
        crc.update(&content);
        if crc.sum() != self.crc {
            return Err(data_loss("its checksum differs: the file is damaged"));
        }
        Ok(content)
    }
}

/// Encodes arrays as an archive.
pub fn write(arrays: &[(String, Tensor)]) -> Result<Vec<u8>> {
    let (mut out, mut central) = (Vec::new(), Vec::new());
    for (name, tensor) in arrays {
        let content = npy::write(tensor).map_err(|e| e.context(format_args!("'{name}'")))?;
        let file = format!("{name}.npy");
        let header = Header::of(&file, &content)?;
        let offset = short(out.len())?;
        reserve::extend(&mut central, &CENTRAL.to_le_bytes())?;
        reserve::extend(&mut central, &header.made_by())?;
        reserve::extend(&mut central, &header.common)?;
        reserve::extend(&mut central, &[0; 10])?;
        reserve::extend(&mut central, &offset.to_le_bytes())?;
        reserve::extend(&mut central, file.as_bytes())?;
        reserve::extend(&mut out, &LOCAL.to_le_bytes())?;
        reserve::extend(&mut out, &header.common)?;
        reserve::extend(&mut out, file.as_bytes())?;
        reserve::extend(&mut out, &content)?;
    }
    let count = u16::try_from(arrays.len()).map_err(|_| invalid!("more than 65535 arrays"))?;
    let (start, size) = (short(out.len())?, short(central.len())?);
    reserve::extend(&mut out, &central)?;
    reserve::extend(&mut out, &END.to_le_bytes())?;
    reserve::extend(&mut out, &[0; 4])?;
    reserve::extend(&mut out, &[count.to_le_bytes(), count.to_le_bytes()].concat())?;
    reserve::extend(&mut out, &[size.to_le_bytes(), start.to_le_bytes()].concat())?;
    reserve::extend(&mut out, &[0; 2])?;
    Ok(out)
}

/// The fields that local and central headers share, from the version to the extra field's length.
struct Header {
    common: Vec<u8>,
}

impl Header {
    fn of(file: &str, content: &[u8]) -> Result<Header> {
        let mut crc = Crc::new();
        crc.update(content);
        let size = short(content.len())?;
        let name = u16::try_from(file.len()).map_err(|_| invalid!("a name of {} bytes", file.len()))?;
        // Version 2.0, the name is UTF-8, no compression, no time, the first day of 1980.
        let mut common = Vec::new();
        for field in [20u16, 1 << 11, STORED, 0, 0x21] {
            common.extend(field.to_le_bytes());
        }
        for field in [crc.sum(), size, size] {
            common.extend(field.to_le_bytes());
        }
        common.extend(name.to_le_bytes());
        common.extend([0; 2]);
        Ok(Header { common })
    }

    fn made_by(&self) -> [u8; 2] {
        20u16.to_le_bytes()
    }
}

fn short(size: usize) -> Result<u32> {
    let small = u32::try_from(size).ok().filter(|s| *s != u32::MAX);
    small.ok_or_else(|| unimplemented("an .npz file of 4 GiB or more; write .safetensors or a checkpoint"))
}

fn place(at: u64) -> Result<usize> {
    usize::try_from(at).map_err(|_| data_loss(format_args!("a zip offset of {at}")))
}

fn after(at: usize, more: usize) -> Result<usize> {
    at.checked_add(more).ok_or_else(|| data_loss("a zip offset past the end"))
}

fn slice(bytes: &[u8], at: usize, len: usize) -> Result<&[u8]> {
    let end = after(at, len)?;
    bytes.get(at..end).ok_or_else(|| data_loss(format_args!("the zip archive ends before byte {end}")))
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N]> {
    slice(bytes, at, N)?.try_into().map_err(|_| data_loss("a short field"))
}

fn half(bytes: &[u8], at: usize) -> Result<u16> {
    Ok(u16::from_le_bytes(array(bytes, at)?))
}

fn word(bytes: &[u8], at: usize) -> Result<u32> {
    Ok(u32::from_le_bytes(array(bytes, at)?))
}

fn long(bytes: &[u8], at: usize) -> Result<u64> {
    Ok(u64::from_le_bytes(array(bytes, at)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrays() -> Vec<(String, Tensor)> {
        let a = Tensor::vector(&[1f32, -2.5, 3.0]).unwrap();
        vec![("a".into(), a), ("b/c".into(), Tensor::scalar(7i64))]
    }

    #[test]
    fn what_is_written_is_read() {
        let found = read(&write(&arrays()).unwrap()).unwrap();
        assert_eq!(found.len(), 2);
        for ((a, x), (b, y)) in found.iter().zip(&arrays()) {
            assert!(a == b && x.same_bits(y));
        }
    }

    /// Every byte cut and every bit flipped is an error or the same arrays, never a panic.
    #[test]
    fn damage_is_an_error() {
        let whole = write(&arrays()).unwrap();
        for end in 0..whole.len() {
            assert!(read(&whole[..end]).is_err(), "cut at {end}");
        }
        for bit in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            drop(read(&bytes));
        }
    }
}
