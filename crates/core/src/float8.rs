//! Floats of eight bits: `float8_e5m2`, which has infinities, and `float8_e4m3fn`, which has one NaN of each sign and no infinity.

/// A format by its numbers of bits.
struct Format {
    mantissa: u32,
    bias: i32,
    has_infinity: bool,
}

const E5M2: Format = Format { mantissa: 2, bias: 15, has_infinity: true };
const E4M3FN: Format = Format { mantissa: 3, bias: 7, has_infinity: false };

pub fn e5m2_to_f64(bits: u8) -> f64 {
    E5M2.decode(bits)
}

/// Rounds to nearest, ties to even; what is too large becomes infinite.
pub fn e5m2_from_f64(x: f64) -> u8 {
    E5M2.encode(x)
}

pub fn e4m3fn_to_f64(bits: u8) -> f64 {
    E4M3FN.decode(bits)
}

/// Rounds to nearest, ties to even; what is too large becomes NaN.
pub fn e4m3fn_from_f64(x: f64) -> u8 {
    E4M3FN.encode(x)
}

impl Format {
    /// The bits of what is too large: infinity, or the NaN.
    fn overflow(&self) -> u8 {
        if self.has_infinity { 0x7f >> self.mantissa << self.mantissa } else { 0x7f }
    }

    fn nan(&self) -> u8 {
        if self.has_infinity { self.overflow() | 1 << (self.mantissa - 1) } else { 0x7f }
    }

    fn decode(&self, bits: u8) -> f64 {
        let magnitude = bits & 0x7f;
        let fraction = f64::from(magnitude & ((1 << self.mantissa) - 1));
        let exponent = i32::from(magnitude >> self.mantissa);
        let unit = (-(self.mantissa as f64)).exp2();
        let value = if magnitude >= self.overflow() {
            if self.has_infinity && fraction == 0.0 { f64::INFINITY } else { f64::NAN }
        } else if exponent == 0 {
            fraction * unit * f64::from(1 - self.bias).exp2()
        } else {
            (1.0 + fraction * unit) * f64::from(exponent - self.bias).exp2()
        };
        if bits & 0x80 == 0 { value } else { -value }
    }

    fn encode(&self, x: f64) -> u8 {
        let sign = u8::from(x.is_sign_negative()) << 7;
        if x.is_nan() {
            return sign | self.nan();
        }
        let x = x.abs();
        let least = 1 - self.bias;
        // The exponent of the result's last bit; below the least normal number all are spaced alike.
        let exponent = ((x.to_bits() >> 52) as i32 - 1023).max(least);
        let last_bit = f64::from(exponent - self.mantissa as i32).exp2();
        let steps = (x / last_bit).round_ties_even();
        // Exponent and mantissa as one number: a mantissa that rounds up carries into the exponent.
        let encoded = f64::from((exponent - least) << self.mantissa) + steps;
        let largest = f64::from(self.overflow());
        sign | if encoded < largest { encoded as u8 } else { self.overflow() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_survives_and_halfway_points_go_to_even() {
        for format in [E5M2, E4M3FN] {
            for bits in 0..=255u8 {
                let x = format.decode(bits);
                if x.is_nan() {
                    assert!(format.decode(format.encode(x)).is_nan());
                    continue;
                }
                assert_eq!(format.encode(x), bits, "{x}");
                let next = format.decode(bits.wrapping_add(1));
                if next.is_finite() && bits & 0x7f < 0x7f {
                    let even = if bits % 2 == 0 { bits } else { bits + 1 };
                    assert_eq!(format.encode((x + next) / 2.0), even, "between {x} and {next}");
                }
            }
        }
    }

    #[test]
    fn large_and_small_values_are_tensorflows() {
        let x = [448., 464., 480., 500., 1e9, f64::INFINITY, f64::NAN, -0., 1e-3, 0.001953125, 0.0009765625];
        assert_eq!(x.map(e4m3fn_from_f64), [0x7e, 0x7e, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x80, 1, 1, 0]);
        let x = [57344., 61439., 61440., 1e9, f64::INFINITY, f64::NAN, -0., 2f64.powi(-16), 2f64.powi(-17)];
        assert_eq!(x.map(e5m2_from_f64), [0x7b, 0x7b, 0x7c, 0x7c, 0x7c, 0x7e, 0x80, 1, 0]);
    }
}
