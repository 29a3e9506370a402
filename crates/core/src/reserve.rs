//! Fallible allocation of vectors, strings and maps of untrusted size: out of memory is ResourceExhausted, not an abort.
//!
//! `Vec::with_capacity`, `vec![x; n]`, `collect` and `to_vec` abort when allocation fails. Kernels, parsers and
//! file formats use these instead wherever the size comes from input. Tensors have `buffer`; loops in `math`
//! have `scratch`.

use crate::buffer::limit;
use crate::error::{Error, Result, resource_exhausted};
use crate::memory;
use std::collections::{HashMap, HashSet, TryReserveError, VecDeque};
use std::hash::{BuildHasher, Hash};
use std::io::ErrorKind;

/// Collections that can reserve fallibly.
pub trait Room {
    /// Bytes that one item takes.
    const ITEM: usize;
    fn held(&self) -> usize;
    fn try_room(&mut self, more: usize) -> std::result::Result<(), TryReserveError>;
}

/// Reserves room for `more` items, growing at least by half, as `push` would.
#[inline]
pub fn room<R: Room>(items: &mut R, more: usize) -> Result<()> {
    let bytes = items.held().saturating_add(more).saturating_mul(R::ITEM);
    check(bytes)?;
    items.try_room(more).map_err(|_| no_memory(bytes))
}

/// Checks the budget before an allocation. Small ones are checked in sum, between nodes.
#[inline]
fn check(bytes: usize) -> Result<()> {
    if bytes > limit() {
        return Err(over_limit(bytes));
    }
    if bytes >= LARGE { memory::check(bytes) } else { Ok(()) }
}

const LARGE: usize = 64 << 10;

#[cold]
fn over_limit(bytes: usize) -> Error {
    resource_exhausted(format_args!(
        "{bytes} bytes are over the limit of {} bytes for one allocation",
        limit()
    ))
}

/// The error for a failed allocation.
#[cold]
pub fn no_memory(bytes: usize) -> Error {
    resource_exhausted(format_args!("out of memory: no {bytes} bytes"))
}

/// An empty vector with capacity for exactly `n`.
pub fn with_capacity<T>(n: usize) -> Result<Vec<T>> {
    let bytes = n.saturating_mul(size_of::<T>());
    check(bytes)?;
    let mut items = Vec::new();
    items.try_reserve_exact(n).map_err(|_| no_memory(bytes))?;
    Ok(items)
}

/// `vec![value; n]`.
pub fn filled<T: Clone>(n: usize, value: T) -> Result<Vec<T>> {
    let mut items = with_capacity(n)?;
    items.resize(n, value);
    Ok(items)
}

/// `items.to_vec()`.
pub fn copied<T: Clone>(items: &[T]) -> Result<Vec<T>> {
    let mut copy = with_capacity(items.len())?;
    copy.extend_from_slice(items);
    Ok(copy)
}

/// `collect()`, of any iterator.
pub fn collect<T>(from: impl IntoIterator<Item = T>) -> Result<Vec<T>> {
    let mut from = from.into_iter();
    let mut items = with_capacity(from.size_hint().0)?;
    // Apart from those beyond the hint, without a branch for errors in the loop.
    let room = items.capacity();
    items.extend(from.by_ref().take(room));
    from.try_for_each(|item| push(&mut items, item))?;
    Ok(items)
}

/// `collect()` of results: the first error ends it.
pub fn try_collect<T>(from: impl IntoIterator<Item = Result<T>>) -> Result<Vec<T>> {
    let mut from = from.into_iter();
    let mut items = with_capacity(from.size_hint().0)?;
    from.try_for_each(|item| push(&mut items, item?))?;
    Ok(items)
}

/// `items.push(item)`.
#[inline]
pub fn push<T>(items: &mut Vec<T>, item: T) -> Result<()> {
    if items.len() == items.capacity() {
        room(items, 1)?;
    }
    items.push(item);
    Ok(())
}

/// `items.extend_from_slice(more)`.
pub fn extend<T: Clone>(items: &mut Vec<T>, more: &[T]) -> Result<()> {
    room(items, more.len())?;
    items.extend_from_slice(more);
    Ok(())
}

/// `parts.join(separator)`.
pub fn join<'a>(parts: impl Iterator<Item = &'a [u8]> + Clone, separator: &[u8]) -> Result<Vec<u8>> {
    let lengths = parts.clone().map(|p| p.len().saturating_add(separator.len()));
    let total = lengths.fold(0, usize::saturating_add).saturating_sub(separator.len());
    let mut all = with_capacity(total)?;
    for (i, part) in parts.enumerate() {
        if i > 0 {
            all.extend_from_slice(separator);
        }
        all.extend_from_slice(part);
    }
    Ok(all)
}

/// Allocates and frees that many bytes: before a call of a library that aborts when allocation fails.
pub fn probe(bytes: usize) -> Result<()> {
    with_capacity::<u8>(bytes).map(drop)
}

/// A memory writer; out of memory is an error.
#[derive(Default)]
pub struct Written(pub Vec<u8>);

impl std::io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        extend(&mut self.0, bytes).map_err(as_io)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The same error as an `io::Error`, which becomes ResourceExhausted again.
pub fn as_io(e: Error) -> std::io::Error {
    std::io::Error::new(ErrorKind::OutOfMemory, e)
}

/// `format!`, of values whose text may be long: `reserve::text(format_args!("{x}"))`.
pub fn text(args: std::fmt::Arguments<'_>) -> Result<String> {
    let mut text = Text { written: String::new(), failed: None };
    match (std::fmt::write(&mut text, args), text.failed) {
        (_, Some(e)) => Err(e),
        _ => Ok(text.written),
    }
}

struct Text {
    written: String,
    failed: Option<Error>,
}

impl std::fmt::Write for Text {
    fn write_str(&mut self, s: &str) -> std::fmt::Result {
        room(&mut self.written, s.len()).map_err(|e| {
            self.failed = Some(e);
            std::fmt::Error
        })?;
        self.written.push_str(s);
        Ok(())
    }
}

impl<T> Room for Vec<T> {
    const ITEM: usize = size_of::<T>();
    fn held(&self) -> usize {
        self.len()
    }
    fn try_room(&mut self, more: usize) -> std::result::Result<(), TryReserveError> {
        self.try_reserve(more)
    }
}

impl<T> Room for VecDeque<T> {
    const ITEM: usize = size_of::<T>();
    fn held(&self) -> usize {
        self.len()
    }
    fn try_room(&mut self, more: usize) -> std::result::Result<(), TryReserveError> {
        self.try_reserve(more)
    }
}

impl Room for String {
    const ITEM: usize = 1;
    fn held(&self) -> usize {
        self.len()
    }
    fn try_room(&mut self, more: usize) -> std::result::Result<(), TryReserveError> {
        self.try_reserve(more)
    }
}

impl<K: Eq + Hash, V, S: BuildHasher> Room for HashMap<K, V, S> {
    const ITEM: usize = size_of::<(K, V)>();
    fn held(&self) -> usize {
        self.len()
    }
    fn try_room(&mut self, more: usize) -> std::result::Result<(), TryReserveError> {
        self.try_reserve(more)
    }
}

impl<K: Eq + Hash, S: BuildHasher> Room for HashSet<K, S> {
    const ITEM: usize = size_of::<K>();
    fn held(&self) -> usize {
        self.len()
    }
    fn try_room(&mut self, more: usize) -> std::result::Result<(), TryReserveError> {
        self.try_reserve(more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;

    #[test]
    fn sizes_that_no_memory_holds_are_errors() {
        let huge = usize::MAX / 4;
        let codes = [
            with_capacity::<u64>(huge).map(drop),
            filled(huge, 0u8).map(drop),
            room(&mut vec![0u8], huge),
            room(&mut String::new(), usize::MAX),
            room(&mut HashMap::<u64, u64>::new(), huge),
            room(&mut HashSet::<u64>::new(), huge),
            room(&mut VecDeque::<u64>::new(), huge),
            collect(0..huge).map(drop),
        ];
        for got in codes {
            assert_eq!(got.unwrap_err().code(), Code::ResourceExhausted);
        }
    }

    #[test]
    fn they_hold_what_std_would() {
        assert_eq!(
            collect((0..1000).filter(|i| i % 7 == 0)).unwrap(),
            (0..1000).step_by(7).collect::<Vec<_>>()
        );
        assert_eq!(copied(&[1, 2]).unwrap(), [1, 2]);
        let parts = [&b"a"[..], b"", b"bc"];
        assert_eq!(join(parts.into_iter(), b", ").unwrap(), parts.join(&b", "[..]));
        assert_eq!(join([].into_iter(), b", ").unwrap(), b"");
        assert_eq!(text(format_args!("{:5}|{}", 1.5, "x")).unwrap(), "  1.5|x");
        let mut grown = vec![1];
        extend(&mut grown, &[2, 3]).unwrap();
        push(&mut grown, 4).unwrap();
        assert_eq!(grown, [1, 2, 3, 4]);
    }

    #[test]
    fn the_first_error_ends_a_collection() {
        let from = (0..10).map(|i| if i == 3 { Err(crate::invalid!("three")) } else { Ok(i) });
        assert_eq!(try_collect(from).unwrap_err().message(), "three");
    }
}
