//! Rounding to integers without branches and calls: x86-64's first instruction set has none for it, so the standard library's functions
//! are called element by element, several times slower than the rest of a loop.

use std::ops::{Add, Sub};

pub trait Round: Copy + PartialOrd + Add<Output = Self> + Sub<Output = Self> {
    const ONE: Self;
    const HALF: Self;
    /// From here on, all numbers are integers; added to a smaller one, it leaves no place for a fraction.
    const INTEGERS: Self;
    fn magnitude(self) -> Self;
    fn with_sign_of(self, other: Self) -> Self;

    /// The nearest integer; halves go to the even one.
    #[inline(always)]
    fn nearest(self) -> Self {
        let magnitude = self.magnitude();
        let rounded = (magnitude + Self::INTEGERS - Self::INTEGERS).with_sign_of(self);
        if magnitude < Self::INTEGERS { rounded } else { self }
    }

    /// The nearest integer; halves go away from zero.
    #[inline(always)]
    fn half_away(self) -> Self {
        let magnitude = self.magnitude();
        let below = magnitude.down();
        // Exact: both have the same exponent, or the difference is a fraction that is there.
        let rounded = if magnitude - below >= Self::HALF { below + Self::ONE } else { below };
        rounded.with_sign_of(self)
    }

    /// The largest integer not above.
    #[inline(always)]
    fn down(self) -> Self {
        let nearest = self.nearest();
        if nearest > self { (nearest - Self::ONE).with_sign_of(self) } else { nearest }
    }

    /// The smallest integer not below.
    #[inline(always)]
    fn up(self) -> Self {
        let nearest = self.nearest();
        if nearest < self { (nearest + Self::ONE).with_sign_of(self) } else { nearest }
    }

    /// Without the fraction.
    #[inline(always)]
    fn towards_zero(self) -> Self {
        self.magnitude().down().with_sign_of(self)
    }
}

impl Round for f32 {
    const ONE: f32 = 1.0;
    const HALF: f32 = 0.5;
    const INTEGERS: f32 = (1 << 23) as f32;
    #[inline(always)]
    fn magnitude(self) -> f32 {
        self.abs()
    }
    #[inline(always)]
    fn with_sign_of(self, other: f32) -> f32 {
        self.copysign(other)
    }
}

impl Round for f64 {
    const ONE: f64 = 1.0;
    const HALF: f64 = 0.5;
    const INTEGERS: f64 = (1u64 << 52) as f64;
    #[inline(always)]
    fn magnitude(self) -> f64 {
        self.abs()
    }
    #[inline(always)]
    fn with_sign_of(self, other: f64) -> f64 {
        self.copysign(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_number_is_rounded_as_the_standard_library_does() {
        let edges = [0.5f32, 1.5, 2.5, 0.499_999_97, 8_388_607.5, 8_388_608.0, 8_388_609.0, f32::MAX];
        let edges = edges.iter().flat_map(|x| [x.to_bits(), (-x).to_bits()]);
        for bits in edges.chain((0..=u32::MAX).step_by(997)) {
            let x = f32::from_bits(bits);
            let pairs = [
                (x.nearest(), x.round_ties_even()),
                (x.down(), x.floor()),
                (x.up(), x.ceil()),
                (x.towards_zero(), x.trunc()),
                (x.half_away(), x.round()),
            ];
            for (got, wanted) in pairs {
                assert!(
                    got.to_bits() == wanted.to_bits() || (got.is_nan() && x.is_nan()),
                    "{x}: {got}, {wanted}"
                );
            }
        }
    }

    #[test]
    fn doubles_too() {
        let mut bits = 1u64;
        for _ in 0..1_000_000 {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // All exponents, and those around the last fractions.
            for x in [f64::from_bits(bits), bits as i64 as f64 / 4096.0, bits as i64 as f64 * 1e-18] {
                let pairs = [
                    (x.nearest(), x.round_ties_even()),
                    (x.down(), x.floor()),
                    (x.up(), x.ceil()),
                    (x.towards_zero(), x.trunc()),
                    (x.half_away(), x.round()),
                    (x.half_away(), x.round()),
                ];
                for (got, wanted) in pairs {
                    assert!(got.to_bits() == wanted.to_bits() || (got.is_nan() && x.is_nan()), "{x}");
                }
            }
        }
    }
}
