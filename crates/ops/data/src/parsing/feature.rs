//! `Feature` messages: a list of floats, of integers or of strings, counted and then copied to where they are needed.

use super::wire::{Field, Fields, Malformed, Wire, for_varints};
use crate::prelude::*;
use bytes::Bytes;

/// A feature on the wire.
#[derive(Clone, Copy, Default)]
pub struct Feature<'a> {
    /// Float, Int64 or String; `None` where no list is set.
    pub dtype: Option<DataType>,
    list: &'a [u8],
}

impl<'a> Feature<'a> {
    pub fn of(message: &'a [u8]) -> Wire<Feature<'a>> {
        let mut feature = Feature::default();
        let mut fields = Fields(message);
        while let Some((number, contents)) = fields.next()? {
            let dtype = match number {
                1 => DataType::String,
                2 => DataType::Float,
                3 => DataType::Int64,
                _ => continue,
            };
            let Field::Bytes(list) = contents else { return Err(Malformed) };
            feature = Feature { dtype: Some(dtype), list };
        }
        Ok(feature)
    }

    /// How many values it has.
    pub fn len(&self) -> Wire<usize> {
        let (mut n, mut fields) = (0, Fields(self.list));
        while let Some((number, contents)) = fields.next()? {
            if number != 1 {
                continue;
            }
            n += match (self.dtype, contents) {
                (Some(DataType::Float), Field::Bytes(packed)) if packed.len() % 4 == 0 => packed.len() / 4,
                (Some(DataType::Float), Field::Fixed32(_)) => 1,
                (Some(DataType::Int64), Field::Bytes(packed)) => packed.iter().filter(|b| **b < 0x80).count(),
                (Some(DataType::Int64), Field::Varint(_)) => 1,
                (Some(DataType::String), Field::Bytes(_)) => 1,
                _ => return Err(Malformed),
            };
        }
        Ok(n)
    }

    /// Writes the values, of which there must be as many as slots. Strings are slices of `whole`, the message around.
    pub fn write(&self, whole: &Bytes, slots: Slots<'_>) -> Wire<()> {
        match slots {
            Slots::Float(out) => self.write_floats(out),
            Slots::Int64(out) => self.write_ints(out),
            Slots::Strings(out) => self.write_strings(whole, out),
        }
    }

    fn write_floats(&self, out: &mut [f32]) -> Wire<()> {
        let (mut out, mut fields) = (out, Fields(self.list));
        while let Some((number, contents)) = fields.next()? {
            let packed = match &contents {
                _ if number != 1 => continue,
                Field::Bytes(packed) => *packed,
                Field::Fixed32(one) => &one[..],
                _ => return Err(Malformed),
            };
            let (now, later) = out.split_at_mut_checked(packed.len() / 4).ok_or(Malformed)?;
            for (out, bytes) in now.iter_mut().zip(packed.as_chunks::<4>().0) {
                *out = f32::from_le_bytes(*bytes);
            }
            out = later;
        }
        Ok(())
    }

    fn write_ints(&self, out: &mut [i64]) -> Wire<()> {
        let (mut out, mut fields) = (out.iter_mut(), Fields(self.list));
        let mut put = |v: u64| {
            if let Some(slot) = out.next() {
                *slot = v as i64;
            }
        };
        while let Some((number, contents)) = fields.next()? {
            match contents {
                _ if number != 1 => {}
                Field::Bytes(packed) => for_varints(packed, &mut put)?,
                Field::Varint(one) => put(one),
                _ => return Err(Malformed),
            }
        }
        Ok(())
    }

    fn write_strings(&self, whole: &Bytes, out: &mut [Bytes]) -> Wire<()> {
        let (mut out, mut fields) = (out.iter_mut(), Fields(self.list));
        while let Some((number, contents)) = fields.next()? {
            if let (1, Field::Bytes(text)) = (number, contents)
                && let Some(slot) = out.next()
            {
                *slot = whole.slice_ref(text);
            }
        }
        Ok(())
    }
}

/// Where values go.
pub enum Slots<'a> {
    Float(&'a mut [f32]),
    Int64(&'a mut [i64]),
    Strings(&'a mut [Bytes]),
}

impl<'a> Slots<'a> {
    /// The first `n` slots; those after stay here.
    pub fn take(&mut self, n: usize) -> Result<Slots<'a>> {
        fn cut<'a, T>(all: &mut &'a mut [T], n: usize) -> Result<&'a mut [T]> {
            let missing = || internal("fewer slots than values");
            all.split_off_mut(..n).ok_or_else(missing)
        }
        Ok(match self {
            Slots::Float(all) => Slots::Float(cut(all, n)?),
            Slots::Int64(all) => Slots::Int64(cut(all, n)?),
            Slots::Strings(all) => Slots::Strings(cut(all, n)?),
        })
    }

    /// Copies a default into them: all its elements, or its only one into each.
    pub fn fill_from(self, default: &Tensor) -> Result<()> {
        fn copy<T: Clone>(out: &mut [T], from: &[T]) {
            match from {
                [one] => out.fill(one.clone()),
                all => out.iter_mut().zip(all).for_each(|(o, v)| *o = v.clone()),
            }
        }
        match self {
            Slots::Float(out) => copy(out, default.as_slice()?),
            Slots::Int64(out) => copy(out, default.as_slice()?),
            Slots::Strings(out) => copy(out, default.strings()?),
        }
        Ok(())
    }
}

/// Values of one of the three types.
#[derive(Clone, Debug)]
pub enum Values {
    Float(Vec<f32>),
    Int64(Vec<i64>),
    Strings(Vec<Bytes>),
}

impl Values {
    /// `n` zeros or empty strings.
    pub fn new(dtype: DataType, n: usize) -> Result<Values> {
        Ok(match dtype {
            DataType::Float => Values::Float(reserve::filled(n, 0.0)?),
            DataType::Int64 => Values::Int64(reserve::filled(n, 0)?),
            DataType::String => Values::Strings(reserve::filled(n, Bytes::new())?),
            other => return Err(invalid!("features are float, int64 or string, not {other}")),
        })
    }

    pub fn len(&self) -> usize {
        match self {
            Values::Float(v) => v.len(),
            Values::Int64(v) => v.len(),
            Values::Strings(v) => v.len(),
        }
    }

    pub fn slots(&mut self) -> Slots<'_> {
        match self {
            Values::Float(v) => Slots::Float(v),
            Values::Int64(v) => Slots::Int64(v),
            Values::Strings(v) => Slots::Strings(v),
        }
    }

    /// `n` slots more at the end.
    pub fn grow(&mut self, n: usize) -> Result<Slots<'_>> {
        fn more<T: Clone>(v: &mut Vec<T>, n: usize, zero: T) -> Result<&mut [T]> {
            let start = v.len();
            reserve::room(v, n)?;
            v.resize(start + n, zero);
            Ok(&mut v[start..])
        }
        Ok(match self {
            Values::Float(v) => Slots::Float(more(v, n, 0.0)?),
            Values::Int64(v) => Slots::Int64(more(v, n, 0)?),
            Values::Strings(v) => Slots::Strings(more(v, n, Bytes::new())?),
        })
    }

    /// Appends others of the same type.
    pub fn append(&mut self, other: &Values) -> Result<()> {
        match (self, other) {
            (Values::Float(a), Values::Float(b)) => reserve::extend(a, b),
            (Values::Int64(a), Values::Int64(b)) => reserve::extend(a, b),
            (Values::Strings(a), Values::Strings(b)) => reserve::extend(a, b),
            _ => Err(internal("values of two types")),
        }
    }

    pub fn into_tensor(self, shape: Shape) -> Result<Tensor> {
        match self {
            Values::Float(v) => Tensor::from_slice(shape, &v),
            Values::Int64(v) => Tensor::from_slice(shape, &v),
            Values::Strings(v) => Tensor::from_objects(shape, v),
        }
    }

    /// Rows of `counts` values each as rows of `width` values, the rest of each filled with the only element of `default`.
    pub fn padded(&self, counts: &[usize], width: usize, default: &Tensor) -> Result<Values> {
        fn rows<T: Clone>(from: &[T], counts: &[usize], width: usize, out: &mut [T]) {
            let mut rest = from;
            for (row, n) in out.chunks_exact_mut(width).zip(counts) {
                let (now, later) = rest.split_at((*n).min(rest.len()));
                row.iter_mut().zip(now).for_each(|(o, v)| *o = v.clone());
                rest = later;
            }
        }
        let total = counts.len().checked_mul(width).ok_or_else(|| invalid!("too many values to pad"))?;
        let dtype = match self {
            Values::Float(_) => DataType::Float,
            Values::Int64(_) => DataType::Int64,
            Values::Strings(_) => DataType::String,
        };
        let mut out = Values::new(dtype, total)?;
        out.slots().fill_from(default)?;
        if width > 0 {
            match (self, &mut out) {
                (Values::Float(v), Values::Float(out)) => rows(v, counts, width, out),
                (Values::Int64(v), Values::Int64(out)) => rows(v, counts, width, out),
                (Values::Strings(v), Values::Strings(out)) => rows(v, counts, width, out),
                _ => return Err(internal("values of two types")),
            }
        }
        Ok(out)
    }
}
