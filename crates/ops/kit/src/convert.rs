//! Loops that convert a run of elements of one type to another, for all pairs of types.
//!
//! A float out of range of an integer type converts as on x86: for int32 and int64 to the least
//! value, for narrower types and uint32 the low bits of the next wider conversion, for uint64 2^63. (TensorFlow's own
//! vector loops saturate some of these, so there the result depends on the place in the tensor; here it does not.)

use crate::prelude::*;
use bytemuck::{Pod, Zeroable, cast_slice, cast_slice_mut};
use thalweg_core::float8;

pub type Loop = fn(&[u8], &mut [u8]);

/// The loop from one type to another, both plain.
pub fn loop_for(from: DataType, to: DataType) -> Option<Loop> {
    match from {
        DataType::Float => loop_from::<f32>(to),
        DataType::Double => loop_from::<f64>(to),
        DataType::Half => loop_from::<f16>(to),
        DataType::Bfloat16 => loop_from::<bf16>(to),
        DataType::Int8 => loop_from::<i8>(to),
        DataType::Int16 => loop_from::<i16>(to),
        DataType::Int32 => loop_from::<i32>(to),
        DataType::Int64 => loop_from::<i64>(to),
        DataType::Uint8 => loop_from::<u8>(to),
        DataType::Uint16 => loop_from::<u16>(to),
        DataType::Uint32 => loop_from::<u32>(to),
        DataType::Uint64 => loop_from::<u64>(to),
        DataType::Complex64 => loop_from::<Complex32>(to),
        DataType::Complex128 => loop_from::<ComplexDouble>(to),
        DataType::Bool => loop_from::<Truth>(to),
        DataType::Float8E5m2 => loop_from::<Float8E5m2>(to),
        DataType::Float8E4m3fn => loop_from::<Float8E4m3fn>(to),
        DataType::Int4 => loop_from::<Int4>(to),
        DataType::Uint4 => loop_from::<Uint4>(to),
        // Quantised types are their integers here: scale and zero point are not the type's.
        quantised => loop_for(integer_of(quantised)?, to),
    }
}

/// The integer type with the elements of a quantised one.
fn integer_of(quantised: DataType) -> Option<DataType> {
    Some(match quantised {
        DataType::Qint8 => DataType::Int8,
        DataType::Quint8 => DataType::Uint8,
        DataType::Qint16 => DataType::Int16,
        DataType::Quint16 => DataType::Uint16,
        DataType::Qint32 => DataType::Int32,
        _ => return None,
    })
}

/// The tensor in another type; unchanged if it has it.
pub fn converted(x: &Tensor, to: DataType) -> Result<Tensor> {
    if x.dtype() == to {
        return Ok(x.clone());
    }
    let convert = loop_for(x.dtype(), to)
        .ok_or_else(|| unimplemented(format_args!("Cast {} to {to} is not supported", x.dtype())))?;
    let mut y = Tensor::uninit(to, x.shape().clone())?;
    convert(x.bytes()?, y.bytes_mut()?);
    Ok(y)
}

fn loop_from<S: Convert>(to: DataType) -> Option<Loop> {
    Some(match to {
        DataType::Float => run::<S, f32>,
        DataType::Double => run::<S, f64>,
        DataType::Half => run::<S, f16>,
        DataType::Bfloat16 => run::<S, bf16>,
        DataType::Int8 => run::<S, i8>,
        DataType::Int16 => run::<S, i16>,
        DataType::Int32 => run::<S, i32>,
        DataType::Int64 => run::<S, i64>,
        DataType::Uint8 => run::<S, u8>,
        DataType::Uint16 => run::<S, u16>,
        DataType::Uint32 => run::<S, u32>,
        DataType::Uint64 => run::<S, u64>,
        DataType::Complex64 => run::<S, Complex32>,
        DataType::Complex128 => run::<S, ComplexDouble>,
        DataType::Bool => run::<S, Truth>,
        DataType::Float8E5m2 => run::<S, Float8E5m2>,
        DataType::Float8E4m3fn => run::<S, Float8E4m3fn>,
        DataType::Int4 => run::<S, Int4>,
        DataType::Uint4 => run::<S, Uint4>,
        quantised => return loop_from::<S>(integer_of(quantised)?),
    })
}

fn run<S: Convert, D: Convert>(from: &[u8], to: &mut [u8]) {
    for (x, y) in cast_slice::<u8, S>(from).iter().zip(cast_slice_mut::<u8, D>(to)) {
        *y = x.to();
    }
}

/// Clears the bits that the narrower float type lacks, so that the conversion truncates. As in
/// TensorFlow, double to bfloat16 rounds nevertheless.
pub fn truncate(from: DataType, to: DataType) -> Option<fn(&mut Tensor) -> Result<()>> {
    match (from, to) {
        (DataType::Float, DataType::Half) => Some(clear_f32::<13>),
        (DataType::Float, DataType::Bfloat16) => Some(clear_f32::<16>),
        (DataType::Double, DataType::Half) => Some(clear_f64::<42>),
        (DataType::Double, DataType::Float) => Some(clear_f64::<29>),
        (DataType::Complex64, DataType::Half) => Some(clear_complex64::<13>),
        (DataType::Complex128, DataType::Half) => Some(clear_complex128::<42>),
        (DataType::Complex128, DataType::Float | DataType::Complex64) => Some(clear_complex128::<29>),
        _ => None,
    }
}

fn truncate_f32<const BITS: u32>(x: f32) -> f32 {
    if x.is_nan() { x } else { f32::from_bits(x.to_bits() >> BITS << BITS) }
}

fn truncate_f64<const BITS: u32>(x: f64) -> f64 {
    if x.is_nan() { x } else { f64::from_bits(x.to_bits() >> BITS << BITS) }
}

fn clear_f32<const BITS: u32>(x: &mut Tensor) -> Result<()> {
    x.as_mut_slice::<f32>()?.iter_mut().for_each(|x| *x = truncate_f32::<BITS>(*x));
    Ok(())
}

fn clear_f64<const BITS: u32>(x: &mut Tensor) -> Result<()> {
    x.as_mut_slice::<f64>()?.iter_mut().for_each(|x| *x = truncate_f64::<BITS>(*x));
    Ok(())
}

fn clear_complex64<const BITS: u32>(x: &mut Tensor) -> Result<()> {
    for x in x.as_mut_slice::<Complex32>()? {
        *x = Complex32::new(truncate_f32::<BITS>(x.re), truncate_f32::<BITS>(x.im));
    }
    Ok(())
}

fn clear_complex128<const BITS: u32>(x: &mut Tensor) -> Result<()> {
    for x in x.as_mut_slice::<ComplexDouble>()? {
        *x = ComplexDouble::new(truncate_f64::<BITS>(x.re), truncate_f64::<BITS>(x.im));
    }
    Ok(())
}

/// A value that converts to others through the widest type of its kind.
trait Convert: Pod {
    fn of_f64(v: f64) -> Self;
    fn of_i64(v: i64) -> Self;
    fn of_u64(v: u64) -> Self;
    fn of_complex(v: ComplexDouble) -> Self {
        Self::of_f64(v.re)
    }
    fn to<D: Convert>(self) -> D;
}

fn to_i32(v: f64) -> i32 {
    if v > -2147483649.0 && v < 2147483648.0 { v as i32 } else { i32::MIN }
}

fn to_i64(v: f64) -> i64 {
    if (-9223372036854775808.0..9223372036854775808.0).contains(&v) { v as i64 } else { i64::MIN }
}

fn to_u64(v: f64) -> u64 {
    if (9223372036854775808.0..18446744073709551616.0).contains(&v) { v as u64 } else { to_i64(v) as u64 }
}

macro_rules! integers {
    ($($t:ty, $from_float:ident, $wide:ty, $of_wide:ident;)*) => { $(
        impl Convert for $t {
            #[inline] fn of_f64(v: f64) -> Self { $from_float(v) as $t }
            #[inline] fn of_i64(v: i64) -> Self { v as $t }
            #[inline] fn of_u64(v: u64) -> Self { v as $t }
            #[inline] fn to<D: Convert>(self) -> D { D::$of_wide(self as $wide) }
        }
    )* };
}
integers! {
    i8, to_i32, i64, of_i64;
    i16, to_i32, i64, of_i64;
    i32, to_i32, i64, of_i64;
    i64, to_i64, i64, of_i64;
    u8, to_i32, i64, of_i64;
    u16, to_i32, i64, of_i64;
    u32, to_i64, i64, of_i64;
    u64, to_u64, u64, of_u64;
}

macro_rules! floats {
    ($($t:ty, $via:ty, $down:expr, $up:expr;)*) => { $(
        impl Convert for $t {
            #[inline] fn of_f64(v: f64) -> Self { $down(v as $via) }
            #[inline] fn of_i64(v: i64) -> Self { $down(v as $via) }
            #[inline] fn of_u64(v: u64) -> Self { $down(v as $via) }
            #[inline] fn to<D: Convert>(self) -> D { D::of_f64($up(self) as f64) }
        }
    )* };
}
floats! {
    f32, f32, |v| v, |v| v;
    f64, f64, |v| v, |v| v;
    f16, f32, f16::from_f32, f16::to_f32;
    bf16, f32, bf16::from_f32, bf16::to_f32;
}

macro_rules! complexes {
    ($($t:ty, $part:ty;)*) => { $(
        impl Convert for $t {
            #[inline] fn of_f64(v: f64) -> Self { <$t>::new(v as $part, 0.0) }
            #[inline] fn of_i64(v: i64) -> Self { <$t>::new(v as $part, 0.0) }
            #[inline] fn of_u64(v: u64) -> Self { <$t>::new(v as $part, 0.0) }
            #[inline] fn of_complex(v: ComplexDouble) -> Self { <$t>::new(v.re as $part, v.im as $part) }
            #[inline] fn to<D: Convert>(self) -> D { D::of_complex(ComplexDouble::new(self.re as f64, self.im as f64)) }
        }
    )* };
}
complexes! { Complex32, f32; ComplexDouble, f64; }

/// A bool as tensors hold it: one byte, 0 or 1.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(transparent)]
struct Truth(u8);

impl Convert for Truth {
    fn of_f64(v: f64) -> Self {
        Truth((v != 0.0) as u8)
    }
    fn of_i64(v: i64) -> Self {
        Truth((v != 0) as u8)
    }
    fn of_u64(v: u64) -> Self {
        Truth((v != 0) as u8)
    }
    fn to<D: Convert>(self) -> D {
        D::of_i64(self.0 as i64)
    }
}

/// Types of one byte whose values are those of a wider type: `of` encodes, `to` decodes.
macro_rules! bytes {
    ($($t:ident: $wide:ty, $of_wide:ident, $of:expr, $to:expr;)*) => { $(
        #[derive(Clone, Copy, Pod, Zeroable)]
        #[repr(transparent)]
        struct $t(u8);

        impl Convert for $t {
            #[inline] fn of_f64(v: f64) -> Self { $t($of(<$wide as Convert>::of_f64(v))) }
            #[inline] fn of_i64(v: i64) -> Self { $t($of(<$wide as Convert>::of_i64(v))) }
            #[inline] fn of_u64(v: u64) -> Self { $t($of(<$wide as Convert>::of_u64(v))) }
            #[inline] fn to<D: Convert>(self) -> D { D::$of_wide($to(self.0)) }
        }
    )* };
}
bytes! {
    Float8E5m2: f64, of_f64, float8::e5m2_from_f64, float8::e5m2_to_f64;
    Float8E4m3fn: f64, of_f64, float8::e4m3fn_from_f64, float8::e4m3fn_to_f64;
    Int4: i32, of_i64, |v| v as u8 & 15, |b: u8| i64::from((b << 4) as i8 >> 4);
    Uint4: i32, of_i64, |v| v as u8 & 15, |b: u8| i64::from(b & 15);
}

/// A vector of sizes in the integer type asked for; a size that does not fit is an error.
pub fn int_tensor(dtype: DataType, values: &[i64]) -> Result<Tensor> {
    if dtype == DataType::Int64 {
        return Tensor::vector(values);
    }
    let mut narrow = Tensor::uninit(DataType::Int32, Shape::vector(values.len()))?;
    // Without a way out of the loop, which would keep it from being vectorised.
    let mut fits = true;
    for (narrow, v) in narrow.as_mut_slice::<i32>()?.iter_mut().zip(values) {
        *narrow = *v as i32;
        fits &= i64::from(*narrow) == *v;
    }
    match values.iter().find(|v| !fits && i32::try_from(**v).is_err()) {
        Some(v) => Err(invalid!("size {v} does not fit int32; ask for out_type int64")),
        None => Ok(narrow),
    }
}
