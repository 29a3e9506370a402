//! The passes of Stockham's algorithm: each combines `radix` transforms of a part of the length.

use super::roots::Roots;
use crate::decompose::{ComplexScalar, RealScalar, Scalar};
use crate::scratch;
use crate::simd::{Loop, widest};

/// The largest prime factor with a pass of its own.
const LARGEST_PRIME: usize = 31;
/// Half of it: pairs of elements that are each other's mirror image.
const MOST_PAIRS: usize = LARGEST_PRIME / 2;
/// Real numbers that a pass of an odd radix takes at a time.
const LANES: usize = 16;

pub struct Pass<R: RealScalar> {
    radix: usize,
    /// The length that later passes combine.
    rest: usize,
    /// The product of the radices before.
    done: usize,
    /// The twiddle factors: `radix - 1` for each of the `rest`.
    twiddles: Vec<R::Complex>,
    /// Cosines and sines of the multiples of the first root of unity of the radix.
    turns: Vec<[R; 2]>,
}

/// Factors of a length, 4 before 2; none if one is too large.
pub fn factors(len: usize) -> Option<Vec<usize>> {
    let (mut rest, mut found) = (len.max(1), scratch::with_capacity(64));
    for factor in std::iter::once(4).chain(2..=LARGEST_PRIME) {
        while rest % factor == 0 {
            found.push(factor);
            rest /= factor;
        }
    }
    (rest == 1).then_some(found)
}

pub fn passes<R: RealScalar>(len: usize, factors: &[usize]) -> Vec<Pass<R>> {
    let roots = Roots::new(len);
    let (mut rest, mut done) = (len, 1);
    scratch::collect(factors.iter().map(|&radix| {
        rest /= radix;
        let mut twiddles = scratch::with_capacity(rest * (radix - 1));
        for p in 0..rest {
            twiddles.extend((1..radix).map(|q| roots.get::<R>(p * q * done)));
        }
        let turn = |q: usize| {
            let root = Roots::new(radix).get::<R>(q);
            [root.re(), -root.im()]
        };
        let pass = Pass { radix, rest, done, twiddles, turns: scratch::collect((0..radix).map(turn)) };
        done *= radix;
        pass
    }))
}

/// Transforms vectors whose elements alternate.
pub fn run<R: RealScalar>(passes: &[Pass<R>], x: &mut [R::Complex], work: &mut [R::Complex], lanes: usize) {
    let (mut from, mut to) = (x, work);
    for pass in passes {
        widest(Step { pass, from, to, lanes });
        std::mem::swap(&mut from, &mut to);
    }
    if passes.len() % 2 == 1 {
        // The result is in `from`, the scratch memory.
        to.copy_from_slice(from);
    }
}

struct Step<'a, R: RealScalar> {
    pass: &'a Pass<R>,
    from: &'a [R::Complex],
    to: &'a mut [R::Complex],
    lanes: usize,
}

impl<R: RealScalar> Loop for Step<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        match self.pass.radix {
            2 => self.radix_2::<FMA>(),
            3 => self.odd::<FMA>(3),
            4 => self.radix_4::<FMA>(),
            5 => self.odd::<FMA>(5),
            radix => self.odd::<FMA>(radix),
        }
    }
}

/// The product with a root.
#[inline(always)]
fn times<R: RealScalar, const FMA: bool>(x: R::Complex, w: R::Complex) -> R::Complex {
    let re = (x.re() * w.re()).add_product::<FMA>(-x.im(), w.im());
    R::Complex::new(re, (x.re() * w.im()).add_product::<FMA>(x.im(), w.re()))
}

impl<R: RealScalar> Step<'_, R> {
    #[inline(always)]
    fn radix_2<const FMA: bool>(self) {
        let s = self.pass.done * self.lanes;
        let (low, high) = self.from.split_at(s * self.pass.rest);
        for (p, to) in self.to.chunks_exact_mut(2 * s).enumerate() {
            let w = self.pass.twiddles[p];
            let (y0, y1) = to.split_at_mut(s);
            let [x0, x1] = [low, high].map(|x| blocks::<R>(&x[p * s..(p + 1) * s]));
            let [y0, y1] = [y0, y1].map(blocks_mut::<R>);
            for ((x0, x1), (y0, y1)) in x0.0.iter().zip(x1.0).zip(y0.0.iter_mut().zip(y1.0)) {
                (*y0, *y1) = (add(x0, x1), turned::<R, FMA>(subtract(x0, x1), w));
            }
            let rest = x0.1.iter().zip(x1.1).zip(y0.1.iter_mut().zip(y1.1));
            for ((x0, x1), (y0, y1)) in rest {
                (*y0, *y1) = (*x0 + *x1, times::<R, FMA>(*x0 - *x1, w));
            }
        }
    }

    #[inline(always)]
    fn radix_4<const FMA: bool>(self) {
        let s = self.pass.done * self.lanes;
        let quarter = s * self.pass.rest;
        for (p, to) in self.to.chunks_exact_mut(4 * s).enumerate() {
            let Some(&[w1, w2, w3]) = self.pass.twiddles[p * 3..].first_chunk() else { return };
            let [x0, x1, x2, x3] = [0, 1, 2, 3].map(|i| blocks::<R>(&self.from[i * quarter + p * s..][..s]));
            let (y01, y23) = to.split_at_mut(2 * s);
            let ((y0, y1), (y2, y3)) = (y01.split_at_mut(s), y23.split_at_mut(s));
            let [y0, y1, y2, y3] = [y0, y1, y2, y3].map(blocks_mut::<R>);
            let inputs = x0.0.iter().zip(x1.0).zip(x2.0).zip(x3.0);
            let outputs = y0.0.iter_mut().zip(y1.0).zip(y2.0).zip(y3.0);
            for ((((x0, x1), x2), x3), (((y0, y1), y2), y3)) in inputs.zip(outputs) {
                let (a, b) = (add(x0, x2), subtract(x0, x2));
                let (c, d) = (add(x1, x3), quarter_turn(subtract(x1, x3)));
                *y0 = add(&a, &c);
                *y1 = turned::<R, FMA>(add(&b, &d), w1);
                *y2 = turned::<R, FMA>(subtract(&a, &c), w2);
                *y3 = turned::<R, FMA>(subtract(&b, &d), w3);
            }
            let inputs = x0.1.iter().zip(x1.1).zip(x2.1).zip(x3.1);
            let outputs = y0.1.iter_mut().zip(y1.1).zip(y2.1).zip(y3.1);
            for ((((x0, x1), x2), x3), (((y0, y1), y2), y3)) in inputs.zip(outputs) {
                let (a, b) = (*x0 + *x2, *x0 - *x2);
                let (c, d) = (*x1 + *x3, *x1 - *x3);
                let d = R::Complex::new(d.im(), -d.re());
                *y0 = a + c;
                *y1 = times::<R, FMA>(b + d, w1);
                *y2 = times::<R, FMA>(a - c, w2);
                *y3 = times::<R, FMA>(b - d, w3);
            }
        }
    }

    /// Any odd radix: elements that are each other's mirror image share their cosines and sines.
    #[inline(always)]
    fn odd<const FMA: bool>(self, radix: usize) {
        let s = self.pass.done * self.lanes;
        let part = s * self.pass.rest;
        let pairs = radix / 2;
        let from = bytemuck::cast_slice::<R::Complex, R>(self.from);
        for (p, to) in self.to.chunks_exact_mut(radix * s).enumerate() {
            let twiddles = &self.pass.twiddles[p * (radix - 1)..(p + 1) * (radix - 1)];
            let mut at = 0;
            while at < 2 * s {
                let width = LANES.min(2 * s - at);
                let load = |j: usize| {
                    let from = &from[2 * (j * part + p * s) + at..][..width];
                    let mut block = [R::ZERO; LANES];
                    match from.first_chunk::<LANES>() {
                        Some(whole) => block = *whole,
                        None => block[..width].copy_from_slice(from),
                    }
                    block
                };
                let first = load(0);
                let (mut sums, mut differences) =
                    ([[R::ZERO; LANES]; MOST_PAIRS], [[R::ZERO; LANES]; MOST_PAIRS]);
                let mut total = first;
                for j in 1..=pairs {
                    let (x, y) = (load(j), load(radix - j));
                    for i in 0..LANES {
                        sums[j - 1][i] = x[i] + y[i];
                        differences[j - 1][i] = x[i] - y[i];
                        total[i] = total[i] + sums[j - 1][i];
                    }
                }
                let mut store = |q: usize, block: [R; LANES]| {
                    let to =
                        &mut bytemuck::cast_slice_mut::<R::Complex, R>(&mut to[q * s..(q + 1) * s])[at..];
                    match to.first_chunk_mut::<LANES>() {
                        Some(whole) => *whole = block,
                        None => to.copy_from_slice(&block[..width]),
                    }
                };
                store(0, total);
                for q in 1..=pairs {
                    let (mut even, mut odd) = (first, [R::ZERO; LANES]);
                    let mut turn = 0;
                    for (sum, difference) in sums[..pairs].iter().zip(&differences) {
                        turn += q;
                        turn -= if turn >= radix { radix } else { 0 };
                        let [c, s] = self.pass.turns[turn];
                        for i in 0..LANES {
                            even[i] = even[i].add_product::<FMA>(c, sum[i]);
                            odd[i] = odd[i].add_product::<FMA>(s, difference[i]);
                        }
                    }
                    let odd = quarter_turn(odd);
                    store(q, turned::<R, FMA>(add(&even, &odd), twiddles[q - 1]));
                    store(radix - q, turned::<R, FMA>(subtract(&even, &odd), twiddles[radix - q - 1]));
                }
                at += width;
            }
        }
    }
}

/// Some complex numbers.
type Block<R> = [R; LANES];

/// As blocks, and the elements that are left.
#[inline(always)]
fn blocks<R: RealScalar>(x: &[R::Complex]) -> (&[Block<R>], &[R::Complex]) {
    let (whole, rest) = x.split_at(x.len() / (LANES / 2) * (LANES / 2));
    (bytemuck::cast_slice::<R::Complex, R>(whole).as_chunks().0, rest)
}

#[inline(always)]
fn blocks_mut<R: RealScalar>(x: &mut [R::Complex]) -> (&mut [Block<R>], &mut [R::Complex]) {
    let (whole, rest) = x.split_at_mut(x.len() / (LANES / 2) * (LANES / 2));
    (bytemuck::cast_slice_mut::<R::Complex, R>(whole).as_chunks_mut().0, rest)
}

#[inline(always)]
fn add<R: RealScalar>(x: &Block<R>, y: &Block<R>) -> Block<R> {
    std::array::from_fn(|i| x[i] + y[i])
}

#[inline(always)]
fn subtract<R: RealScalar>(x: &Block<R>, y: &Block<R>) -> Block<R> {
    std::array::from_fn(|i| x[i] - y[i])
}

/// Times -i.
#[inline(always)]
fn quarter_turn<R: RealScalar>(x: Block<R>) -> Block<R> {
    std::array::from_fn(|i| if i % 2 == 0 { x[i + 1] } else { -x[i - 1] })
}

/// Times a root.
#[inline(always)]
fn turned<R: RealScalar, const FMA: bool>(x: Block<R>, w: R::Complex) -> Block<R> {
    let (re, im) = (w.re(), w.im());
    // By real and imaginary parts of the root: a product with each, the second of the parts exchanged.
    let crossed: Block<R> = std::array::from_fn(|i| if i % 2 == 0 { -x[i + 1] } else { x[i - 1] });
    std::array::from_fn(|i| (crossed[i] * im).add_product::<FMA>(x[i], re))
}
