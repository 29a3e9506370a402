//! The sets in a tensor: its elements by all dimensions but the last.

use crate::prelude::*;
use crate::sparse::entries::{Entries, check_ranks};
use bytes::Bytes;
use std::ops::Range;

/// Elements of sets.
pub trait Item: Ord + Clone + 'static {
    fn all(t: &Tensor) -> Result<&[Self]>;
    fn tensor(items: Vec<Self>) -> Result<Tensor>;
}

macro_rules! plain_items {
    ($($t:ty),*) => { $(
        impl Item for $t {
            fn all(t: &Tensor) -> Result<&[Self]> { t.as_slice() }
            fn tensor(items: Vec<Self>) -> Result<Tensor> { Tensor::vector(&items) }
        }
    )* };
}
plain_items!(i8, i16, i32, i64, u8, u16);

impl Item for Bytes {
    fn all(t: &Tensor) -> Result<&[Self]> {
        t.strings()
    }
    fn tensor(items: Vec<Self>) -> Result<Tensor> {
        Tensor::from_objects(Shape::vector(items.len()), items)
    }
}

/// Sets in a tensor. Those without elements may be left out.
pub struct Sets<'a, T> {
    items: &'a [T],
    /// The row-major number of a set, and its elements.
    pub groups: Vec<(usize, Range<usize>)>,
    /// All dimensions but the last.
    pub outer: Shape,
}

impl<'a, T: Item> Sets<'a, T> {
    pub fn dense(t: &'a Tensor) -> Result<Sets<'a, T>> {
        let (outer, last) = outer_dims(t.shape())?;
        let count = if last == 0 { 0 } else { outer.elements() };
        let groups = reserve::collect((0..count).map(|i| (i, i * last..(i + 1) * last)))?;
        Ok(Sets { items: T::all(t)?, groups, outer })
    }

    /// Of the sparse tensor in the three inputs from `first` on; `ordered`: its indices are checked to ascend.
    pub fn sparse(c: &'a OpCall<'_>, first: usize, ordered: bool) -> Result<Sets<'a, T>> {
        check_ranks(c.input(first)?, c.input(first + 1)?, c.input(first + 2)?)?;
        let all = Entries::of(c, first)?;
        let (outer, _) = outer_dims(&Shape::from_i64(all.dims)?)?;
        if ordered {
            all.check_order()?
        } else {
            all.check_bounds()?
        };
        let number =
            |i: usize| all.row(i).iter().zip(outer.iter()).fold(0, |p, (at, n)| p * n + *at as usize);
        let mut groups: Vec<(usize, Range<usize>)> = Vec::new();
        for i in 0..all.count() {
            let at = number(i);
            match groups.last_mut() {
                Some((last, range)) if *last == at => range.end = i + 1,
                _ => reserve::push(&mut groups, (at, i..i + 1))?,
            }
        }
        Ok(Sets { items: T::all(all.values)?, groups, outer })
    }

    /// The elements of a range, sorted, each once.
    pub fn sorted(&self, range: Range<usize>) -> Result<Vec<&'a T>> {
        let mut set = reserve::collect(&self.items[range])?;
        set.sort_unstable();
        set.dedup();
        Ok(set)
    }
}

fn outer_dims(shape: &Shape) -> Result<(Shape, usize)> {
    match shape.split_last() {
        Some((last, outer @ [_, ..])) => Ok((Shape::new(outer)?, *last)),
        _ => Err(invalid!("Shape {shape} has rank {} < 2", shape.rank())),
    }
}
