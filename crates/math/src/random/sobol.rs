//! Sobol's sequence of evenly distributed points (1967), with the direction numbers of Joe and Kuo (2008).

/// Dimensions of a point at most.
pub const MAX_SOBOL_DIM: usize = POLYNOMIALS.len() + 1;

/// Binary digits of a coordinate.
const DIGITS: usize = 32;

/// The direction numbers of one dimension.
#[derive(Clone, Copy)]
pub struct Sobol([u32; DIGITS]);

impl Sobol {
    /// Of dimension `dim`, below `MAX_SOBOL_DIM`.
    pub fn new(dim: usize) -> Sobol {
        let mut m = [1u64; DIGITS];
        if let Some((degree, inner, first)) = dim.checked_sub(1).and_then(|d| POLYNOMIALS.get(d)) {
            for (m, first) in m.iter_mut().zip(*first) {
                *m = *first;
            }
            for k in *degree..DIGITS {
                m[k] = m[k - degree] ^ (m[k - degree] << degree);
                for i in (1..*degree).filter(|i| inner >> (degree - 1 - i) & 1 == 1) {
                    m[k] ^= m[k - i] << i;
                }
            }
        }
        Sobol(std::array::from_fn(|k| (m[k] << (DIGITS - 1 - k)) as u32))
    }

    /// Point `n`, from 0, as a fraction of 2^32.
    pub fn point(&self, n: u32) -> u32 {
        let gray = n ^ (n >> 1);
        (0..DIGITS).filter(|k| gray >> k & 1 == 1).fold(0, |sum, k| sum ^ self.0[k])
    }

    /// Point `n + 1`, from point `n`: one digit of the Gray code changes.
    pub fn next(&self, point: u32, n: u32) -> u32 {
        point ^ self.0[n.trailing_ones().min(31) as usize]
    }
}

/// For each dimension from the second on: the degree of a primitive polynomial, its inner coefficients, and the first
/// direction numbers.
#[rustfmt::skip]
const POLYNOMIALS: [(usize, u32, &[u64]); 39] = [
    (1, 0, &[1]),
    (2, 1, &[1, 3]),
    (3, 1, &[1, 3, 1]),
    (3, 2, &[1, 1, 1]),
    (4, 1, &[1, 1, 3, 3]),
    (4, 4, &[1, 3, 5, 13]),
    (5, 2, &[1, 1, 5, 5, 17]),
    (5, 4, &[1, 1, 5, 5, 5]),
    (5, 7, &[1, 1, 7, 11, 19]),
    (5, 11, &[1, 1, 5, 1, 1]),
    (5, 13, &[1, 1, 1, 3, 11]),
    (5, 14, &[1, 3, 5, 5, 31]),
    (6, 1, &[1, 3, 3, 9, 7, 49]),
    (6, 13, &[1, 1, 1, 15, 21, 21]),
    (6, 16, &[1, 3, 1, 13, 27, 49]),
    (6, 19, &[1, 1, 1, 15, 7, 5]),
    (6, 22, &[1, 3, 1, 15, 13, 25]),
    (6, 25, &[1, 1, 5, 5, 19, 61]),
    (7, 1, &[1, 3, 7, 11, 23, 15, 103]),
    (7, 4, &[1, 3, 7, 13, 13, 15, 69]),
    (7, 7, &[1, 1, 3, 13, 7, 35, 63]),
    (7, 8, &[1, 3, 5, 9, 1, 25, 53]),
    (7, 14, &[1, 3, 1, 13, 9, 35, 107]),
    (7, 19, &[1, 3, 1, 5, 27, 61, 31]),
    (7, 21, &[1, 1, 5, 11, 19, 41, 61]),
    (7, 28, &[1, 3, 5, 3, 3, 13, 69]),
    (7, 31, &[1, 1, 7, 13, 1, 19, 1]),
    (7, 32, &[1, 3, 7, 5, 13, 19, 59]),
    (7, 37, &[1, 1, 3, 9, 25, 29, 41]),
    (7, 41, &[1, 3, 5, 13, 23, 1, 55]),
    (7, 42, &[1, 3, 7, 3, 13, 59, 17]),
    (7, 50, &[1, 3, 1, 3, 5, 53, 69]),
    (7, 55, &[1, 1, 5, 5, 23, 33, 13]),
    (7, 56, &[1, 1, 7, 7, 1, 61, 123]),
    (7, 59, &[1, 1, 7, 9, 13, 61, 49]),
    (7, 62, &[1, 3, 3, 5, 3, 55, 33]),
    (8, 14, &[1, 3, 1, 15, 31, 13, 49, 245]),
    (8, 21, &[1, 3, 5, 15, 31, 59, 63, 97]),
    (8, 22, &[1, 3, 1, 11, 11, 11, 77, 249]),
];
