//! Spectra of real signals whose length is a power of two.

use crate::scratch;
use num_complex::Complex64;

/// The transform of signals of one length.
pub struct RealTransform {
    length: usize,
    /// exp(-2 pi i k / length).
    roots: Vec<Complex64>,
}

impl RealTransform {
    /// For a power of two of at least 2. Unwinds with `scratch::NoMemory` if memory ends.
    pub fn new(length: usize) -> RealTransform {
        assert!(length >= 2 && length.is_power_of_two());
        let step = -std::f64::consts::TAU / length as f64;
        let root = |k: usize| Complex64::cis(step * k as f64);
        RealTransform { length, roots: scratch::collect((0..length / 2).map(root)) }
    }

    /// Working memory of `powers`.
    pub fn scratch(&self) -> Vec<Complex64> {
        scratch::filled(self.length / 2, Complex64::default())
    }

    /// The squared magnitudes of frequencies 0 to half the length. The signal is packed as complex numbers of half as many.
    pub fn powers<'a>(&'a self, signal: &[f64], work: &'a mut [Complex64]) -> impl Iterator<Item = f64> + 'a {
        let half = self.length / 2;
        let bits = half.trailing_zeros();
        for (i, pair) in signal.as_chunks::<2>().0.iter().enumerate().take(half) {
            let at = if bits == 0 { 0 } else { i.reverse_bits() >> (usize::BITS - bits) };
            work[at] = Complex64::new(pair[0], pair[1]);
        }
        let mut size = 2;
        while size <= half {
            let stride = self.length / size;
            for part in work[..half].chunks_exact_mut(size) {
                let (low, high) = part.split_at_mut(size / 2);
                for (k, (a, b)) in low.iter_mut().zip(high).enumerate() {
                    let turned = *b * self.roots[k * stride];
                    (*a, *b) = (*a + turned, *a - turned);
                }
            }
            size *= 2;
        }
        let work = &*work;
        (0..=half).map(move |k| {
            // Even and odd samples apart, and together again.
            let (z, mirrored) = (work[k % half], work[(half - k) % half].conj());
            let (even, odd) = ((z + mirrored) * 0.5, (z - mirrored) * Complex64::new(0.0, -0.5));
            let root = if k == half { Complex64::new(-1.0, 0.0) } else { self.roots[k] };
            (even + odd * root).norm_sqr()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_those_of_the_definition() {
        for length in [2usize, 4, 8, 64] {
            let signal: Vec<f64> = (0..length).map(|i| ((i * i * 7 + 3) % 11) as f64 - 4.0).collect();
            let transform = RealTransform::new(length);
            let got: Vec<f64> = transform.powers(&signal, &mut transform.scratch()).collect();
            for (k, got) in got.iter().enumerate() {
                let turn = |i: usize| Complex64::cis(-std::f64::consts::TAU * (i * k) as f64 / length as f64);
                let want: Complex64 = signal.iter().enumerate().map(|(i, v)| turn(i) * *v).sum();
                assert!((got - want.norm_sqr()).abs() < 1e-9, "{length} {k}");
            }
        }
    }
}
