//! Normals in f32, by the Box-Muller transform.
//!
//! The bits depend on how logarithm, sine and cosine are rounded.
//! TensorFlow calls the C library for them; here are the same steps as in glibc
//! (2.28 and later; the constants are those of Arm's optimized routines), so that
//! the bits agree on every platform, and the loops vectorise.

use crate::simd::{Loop, mul_add_f64, widest};

/// Pairs of normals generated at a time.
const PAIRS: usize = 256;

/// Uniform numbers are clamped to this before the logarithm.
const SMALLEST: f32 = 1.0e-7;

/// Fills `out` with normals, from as many words.
pub(super) fn fill(words: &[u32], out: &mut [f32]) {
    assert_eq!(words.len(), out.len());
    widest(Fill { words, out });
}

struct Fill<'a> {
    words: &'a [u32],
    out: &'a mut [f32],
}

impl Loop for Fill<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (mut radius, mut sine, mut cosine) = ([0.0; PAIRS], [0.0; PAIRS], [0.0; PAIRS]);
        for (words, out) in self.words.chunks(2 * PAIRS).zip(self.out.chunks_mut(2 * PAIRS)) {
            let (words, out) = (words.as_chunks::<2>().0, out.as_chunks_mut::<2>().0);
            for (radius, [word, _]) in radius.iter_mut().zip(words) {
                let u = super::real::unit_f32(*word);
                *radius = (-2.0 * log::<FMA>(if u < SMALLEST { SMALLEST } else { u })).sqrt();
            }
            for ((sine, cosine), [_, word]) in sine.iter_mut().zip(&mut cosine).zip(words) {
                // The angle is rounded once, from a product in f64.
                let angle = (std::f64::consts::TAU * f64::from(super::real::unit_f32(*word))) as f32;
                (*sine, *cosine) = sin_cos::<FMA>(angle);
            }
            for (n, pair) in out.iter_mut().enumerate() {
                *pair = [sine[n] * radius[n], cosine[n] * radius[n]];
            }
        }
    }
}

/// Inverses of numbers in the middle of sixteenths, and their logarithms.
const INVERSES: [f64; 16] = [
    1.398907162146528,
    1.3403141896637998,
    1.286432210124115,
    1.2367150214269895,
    1.1906977166711752,
    1.1479821020556429,
    1.1082251448272158,
    1.0711297413057381,
    1.036437278977283,
    1.0,
    0.9492859795739057,
    0.8951049428609004,
    0.8476821620351103,
    0.8050314851692001,
    0.7664671008843108,
    0.731428603316328,
];
const LOGS: [f64; 16] = [
    -0.33569133332882284,
    -0.2929040563774074,
    -0.2518726580937369,
    -0.21245868807117255,
    -0.17453945183745634,
    -0.1380057072319758,
    -0.10275976698545139,
    -0.06871392447020525,
    -0.0357891387398228,
    0.0,
    0.05204517742929496,
    0.11081431298787942,
    0.1652495223695143,
    0.21687389031699977,
    0.2659635028121397,
    0.3127556664073557,
];

/// Logarithm of a normal, positive number other than one.
#[inline(always)]
fn log<const FMA: bool>(x: f32) -> f32 {
    let bits = x.to_bits();
    let shifted = bits.wrapping_sub(0x3f33_0000);
    let sixteenth = (shifted >> 19 & 15) as usize;
    let exponent = shifted as i32 >> 23;
    let z = f64::from(f32::from_bits(bits.wrapping_sub(shifted & 0xff80_0000)));
    let r = mul_add_f64::<FMA>(z, INVERSES[sixteenth], -1.0);
    let start = mul_add_f64::<FMA>(f64::from(exponent), std::f64::consts::LN_2, LOGS[sixteenth]);
    let square = r * r;
    let y = mul_add_f64::<FMA>(0.333456765744066, r, -0.4999997485802103);
    let y = mul_add_f64::<FMA>(-0.25089342214237154, square, y);
    mul_add_f64::<FMA>(y, square, start + r) as f32
}

/// Sine and cosine of an angle in 0..=2π.
#[inline(always)]
fn sin_cos<const FMA: bool>(angle: f32) -> (f32, f32) {
    let x = f64::from(angle);
    let quarters = (x * std::f64::consts::FRAC_2_PI + 0.5).floor();
    let x = mul_add_f64::<FMA>(-quarters, std::f64::consts::FRAC_PI_2, x);
    let x2 = x * x;
    let x4 = x2 * x2;
    let x3 = x2 * x;
    let s = mul_add_f64::<FMA>(x3, -0.16666654943701084, x);
    let s1 = mul_add_f64::<FMA>(x2, -0.00019517298981385725, 0.008332178146138854);
    let sine = mul_add_f64::<FMA>(x3 * x2, s1, s) as f32;
    let c1 = mul_add_f64::<FMA>(x2, -0.49999999725108224, 1.0);
    let c2 = mul_add_f64::<FMA>(x2, 2.4390450703564542e-05, -0.001388676379437604);
    let c = mul_add_f64::<FMA>(x4, 0.041666623324344516, c1);
    let cosine = mul_add_f64::<FMA>(x4 * x2, c2, c) as f32;
    // The quadrant. Rounding is symmetric, so signs may be applied last.
    let odd = quarters == 1.0 || quarters == 3.0;
    let (sine, cosine) = if odd { (cosine, -sine) } else { (sine, cosine) };
    if quarters == 2.0 || quarters == 3.0 { (-sine, -cosine) } else { (sine, cosine) }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Worst;

    impl Loop for Worst {
        type Output = [u32; 3];

        /// How far logarithm, sine and cosine are from the nearest float at most, in floats, over a sample of all inputs.
        #[inline(always)]
        fn run<const FMA: bool>(self) -> [u32; 3] {
            let mut worst = [0; 3];
            for word in (0..1 << 23).step_by(61) {
                let unit = crate::random::real::unit_f32(word);
                let (u, angle) = (unit.max(SMALLEST), (std::f64::consts::TAU * f64::from(unit)) as f32);
                let (sine, cosine) = sin_cos::<FMA>(angle);
                let exact = f64::from(angle);
                let pairs = [(log::<FMA>(u), f64::from(u).ln()), (sine, exact.sin()), (cosine, exact.cos())];
                for (worst, (got, want)) in worst.iter_mut().zip(pairs) {
                    *worst = got.to_bits().abs_diff((want as f32).to_bits()).max(*worst);
                }
            }
            worst
        }
    }

    /// The functions are glibc 2.36's to the bit, on which TensorFlow's results were recorded; what can be tested anywhere is
    /// that they round well.
    #[test]
    fn the_functions_are_right_to_the_last_place() {
        assert!(widest(Worst).iter().all(|w| *w <= 1), "{:?}", widest(Worst));
    }
}
