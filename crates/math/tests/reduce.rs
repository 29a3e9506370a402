//! Reductions against plain loops over coordinates.

use half::{bf16, f16};
use num_complex::Complex;
use thalweg_math::parallel::Serial;
use thalweg_math::pool::Pool;
use thalweg_math::random::{Normal, Philox, fill};
use thalweg_math::reduce::*;

fn normals(n: usize) -> Vec<f32> {
    let mut x = vec![0f32; n];
    fill(&Serial, &Normal::default(), Philox::new(3, 4), &mut x);
    x
}

/// For each output the input elements that go into it.
fn groups(shape: &[usize], reduced: &[bool]) -> Vec<Vec<usize>> {
    let outputs: usize = shape.iter().zip(reduced).filter(|(_, r)| !**r).map(|(s, _)| s).product();
    let mut groups = vec![Vec::new(); outputs];
    for index in 0..shape.iter().product() {
        let (mut rest, mut output, mut stride) = (index, 0, 1);
        for (&size, &reduced) in shape.iter().zip(reduced).rev() {
            if !reduced {
                output += rest % size * stride;
                stride *= size;
            }
            rest /= size;
        }
        groups[output].push(index);
    }
    groups
}

const SHAPES: &[&[usize]] = &[
    &[],
    &[1],
    &[5],
    &[100_003],
    &[7, 9],
    &[1, 300, 1],
    &[3, 70, 5],
    &[500, 3],
    &[20_000, 7],
    &[70, 2_000],
    &[2, 3, 4, 5, 6],
    &[40, 1, 30, 70],
    &[130, 2, 3, 90],
    &[0, 3],
    &[3, 0, 2],
];

#[test]
fn every_set_of_axes() {
    let pool = Pool::new(3).unwrap();
    for shape in SHAPES {
        let x = normals(shape.iter().product());
        for axes in 0..1 << shape.len() {
            let reduced: Vec<bool> = (0..shape.len()).map(|axis| axes >> axis & 1 == 1).collect();
            let plan = Plan::new(shape, &reduced);
            let groups = groups(shape, &reduced);
            let mut sums = vec![0f32; groups.len()];
            reduce(&Serial, &plan, &Sum, &x, &mut sums);
            let mut maxima = vec![0f32; groups.len()];
            reduce(&Serial, &plan, &Max, &x, &mut maxima);
            for (group, (sum, max)) in groups.iter().zip(sums.iter().zip(&maxima)) {
                let exact: f64 = group.iter().map(|&i| f64::from(x[i])).sum();
                let scale: f64 = group.iter().map(|&i| f64::from(x[i].abs())).sum();
                assert!((f64::from(*sum) - exact).abs() <= 3e-7 * scale, "{shape:?} {reduced:?}");
                assert_eq!(*max, group.iter().map(|&i| x[i]).fold(f32::NEG_INFINITY, f32::max));
            }
            let mut threaded = vec![0f32; groups.len()];
            reduce(&*pool, &plan, &Sum, &x, &mut threaded);
            assert_eq!(sums, threaded, "{shape:?} {reduced:?}");
        }
    }
}

#[test]
fn nan_spreads_through_max_and_min() {
    for at in [0, 31, 64, 199] {
        let mut x = vec![1f32; 200];
        x[at] = f32::NAN;
        for (shape, reduced) in [(vec![200], vec![true]), (vec![200, 1], vec![true, false])] {
            let plan = Plan::new(&shape, &reduced);
            let (mut max, mut min) = ([0f32], [0f32]);
            reduce(&Serial, &plan, &Max, &x, &mut max);
            reduce(&Serial, &plan, &Min, &x, &mut min);
            assert!(max[0].is_nan() && min[0].is_nan());
        }
        let plan = Plan::new(&[2, 100], &[false, true]);
        let mut max = [0f32; 2];
        reduce(&Serial, &plan, &Max, &x, &mut max);
        assert_eq!(max.map(f32::is_nan), [at < 100, at >= 100]);
    }
}

#[test]
fn halves_are_summed_in_f32() {
    let plan = Plan::new(&[10_000], &[true]);
    let (mut a, mut b) = ([f16::ZERO], [bf16::ZERO]);
    reduce(&Serial, &plan, &Sum, &vec![f16::ONE; 10_000], &mut a);
    reduce(&Serial, &plan, &Mean { count: 10_000 }, &vec![bf16::from_f32(100.0); 10_000], &mut b);
    assert_eq!((a[0].to_f32(), b[0].to_f32()), (10_000.0, 100.0));
    reduce(&Serial, &plan, &Mean { count: 10_000 }, &vec![f16::from_f32(100.0); 10_000], &mut a);
    assert_eq!(a[0].to_f32(), 100.0);
}

#[test]
fn integers_bools_and_empties() {
    let mut product = [0i32];
    reduce(&Serial, &Plan::new(&[5], &[true]), &Prod, &[1, 2, 3, 4, 5], &mut product);
    assert_eq!(product, [120]);
    let (mut all, mut any) = ([false; 2], [false; 2]);
    let plan = Plan::new(&[2, 3], &[false, true]);
    let flags = [true, true, true, false, false, true];
    reduce(&Serial, &plan, &All, &flags, &mut all);
    reduce(&Serial, &plan, &Any, &flags, &mut any);
    assert_eq!((all, any), ([true, false], [true, true]));
    let mut mean = [0i32];
    reduce(&Serial, &Plan::new(&[2], &[true]), &Mean { count: 2 }, &[-7, 2], &mut mean);
    assert_eq!(mean, [-2]);
    let (mut sum, i) = ([Complex::new(0f32, 0.0)], Complex::new(0f32, 1.0));
    reduce(&Serial, &Plan::new(&[3], &[true]), &Sum, &[i, i, i + 1.0], &mut sum);
    assert_eq!(sum, [Complex::new(1.0, 3.0)]);
    reduce(&Serial, &Plan::new(&[3], &[true]), &Prod, &[i, i, i + 1.0], &mut sum);
    assert_eq!(sum, [Complex::new(-1.0, -1.0)]);
    let mut empty = [0f32; 3];
    reduce(&Serial, &Plan::new(&[3, 0], &[false, true]), &Max, &[0f32; 0], &mut empty);
    assert_eq!(empty, [f32::NEG_INFINITY; 3]);
}

#[test]
fn arguments_of_extremes() {
    let pool = Pool::new(3).unwrap();
    for [outer, len, inner] in [[1, 10_001, 1], [300, 50, 1], [3, 40, 1_100], [2, 1, 5]] {
        let mut x = normals(outer * len * inner);
        for i in (0..x.len()).step_by(3) {
            x[i] = x[i].round();
        }
        let (mut max, mut min) = (vec![0; outer * inner], vec![0; outer * inner]);
        arg_max(&*pool, [outer, len, inner], &x, &mut max);
        arg_min(&Serial, [outer, len, inner], &x, &mut min);
        for output in 0..outer * inner {
            let at = |i: usize| x[output / inner * len * inner + i * inner + output % inner];
            let first = |best: f32| (0..len).position(|i| at(i) == best).unwrap() as i64;
            assert_eq!(max[output], first((0..len).map(at).fold(f32::MIN, f32::max)));
            assert_eq!(min[output], first((0..len).map(at).fold(f32::MAX, f32::min)));
        }
    }
}

#[test]
fn nan_is_never_the_extreme_unless_alone() {
    let nan = f32::NAN;
    for n in [3, 130] {
        let mut x = vec![nan; n];
        let at = |x: &[f32]| {
            let (mut max, mut min) = ([0], [0]);
            arg_max(&Serial, [1, n, 1], x, &mut max);
            arg_min(&Serial, [1, n, 1], x, &mut min);
            (max[0], min[0])
        };
        assert_eq!(at(&x), (0, 0));
        x[n - 1] = -5.0;
        assert_eq!(at(&x), (n as i64 - 1, n as i64 - 1));
        x[1] = 2.0;
        assert_eq!(at(&x), (1, n as i64 - 1));
    }
}

#[test]
fn scans() {
    let x = [1, 2, 3, 4, 5, 6];
    let run = |exclusive, reverse, shape| {
        let mut out = [0; 6];
        scan(&Serial, Scan { exclusive, reverse }, &Sum, shape, &x, &mut out);
        out
    };
    assert_eq!(run(false, false, [1, 6, 1]), [1, 3, 6, 10, 15, 21]);
    assert_eq!(run(true, false, [1, 6, 1]), [0, 1, 3, 6, 10, 15]);
    assert_eq!(run(false, true, [2, 3, 1]), [6, 5, 3, 15, 11, 6]);
    assert_eq!(run(true, true, [1, 3, 2]), [8, 10, 5, 6, 0, 0]);
    let mut product = [0; 6];
    scan(&Serial, Scan::default(), &Prod, [1, 6, 1], &x, &mut product);
    assert_eq!(product, [1, 2, 6, 24, 120, 720]);
}
