//! Conversions of 16-bit floats without branches, so that loops vectorise.

use half::{bf16, f16};

#[inline(always)]
pub(crate) fn f16_to_f32(x: f16) -> f32 {
    let bits = u32::from(x.to_bits());
    // Exponent and fraction moved into place; the product corrects the bias and
    // makes subnormals normal.
    let magnitude = f32::from_bits((bits & 0x7fff) << 13) * f32::from_bits((254 - 15) << 23);
    let special = if bits & 0x7c00 == 0x7c00 { 0xff << 23 } else { 0 };
    f32::from_bits(magnitude.to_bits() | special | (bits & 0x8000) << 16)
}

#[inline(always)]
pub(crate) fn bf16_to_f32(x: bf16) -> f32 {
    f32::from_bits(u32::from(x.to_bits()) << 16)
}

/// Rounds to nearest, ties to even; NaN stays NaN.
#[inline(always)]
pub(crate) fn f32_to_bf16(x: f32) -> bf16 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    let quiet_nan = bits >> 16 | 0x40;
    bf16::from_bits(if x.is_nan() { quiet_nan } else { rounded } as u16)
}

/// Rounds to nearest, ties to even; NaN stays NaN.
#[inline(always)]
pub(crate) fn f32_to_f16(x: f32) -> f16 {
    let (magnitude, sign) = (x.to_bits() & 0x7fff_ffff, x.to_bits() >> 16 & 0x8000);
    // Adding this number shifts the bits below a subnormal's precision out
    // of the fraction, with the rounding of the addition.
    let pusher = f32::from_bits(126 << 23);
    let subnormal = (f32::from_bits(magnitude) + pusher).to_bits().wrapping_sub(pusher.to_bits());
    let odd = magnitude >> 13 & 1;
    let normal = magnitude.wrapping_sub((127 - 15) << 23).wrapping_add(0xfff + odd) >> 13;
    let finite = if magnitude < (127 - 14) << 23 { subnormal } else { normal };
    let bits = if magnitude >= (127 + 16) << 23 { 0x7c00 } else { finite };
    let bits = if magnitude > 0xff << 23 { 0x7e00 | magnitude >> 13 & 0x3ff } else { bits };
    f16::from_bits((bits | sign) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_becomes_the_same_float_and_back() {
        for bits in 0..=u16::MAX {
            let (x, y) = (f16::from_bits(bits), bf16::from_bits(bits));
            assert!(same(f16_to_f32(x), x.to_f32()), "{bits:x}");
            assert!(same(bf16_to_f32(y), y.to_f32()), "{bits:x}");
        }
    }

    #[test]
    fn rounding_is_that_of_the_half_crate() {
        for step in 0..=u32::MAX / 251 {
            let x = f32::from_bits(step * 251);
            assert!(same(f32_to_f16(x).to_f32(), f16::from_f32(x).to_f32()), "{x:e}");
            assert!(same(f32_to_bf16(x).to_f32(), bf16::from_f32(x).to_f32()), "{x:e}");
        }
    }

    fn same(a: f32, b: f32) -> bool {
        a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
    }
}
