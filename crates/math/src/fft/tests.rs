use super::roots::Roots;
use super::*;
use crate::parallel::Serial;
use num_complex::Complex;

const LENGTHS: [usize; 15] = [70, 100, 121, 127, 128, 169, 210, 243, 256, 343, 361, 480, 37 * 3, 1009, 1024];

fn signal(n: usize) -> Vec<Complex<f64>> {
    (0..n).map(|i| Complex::new((i * i % 13) as f64, (i % 7) as f64 - 3.0)).collect()
}

/// The definition.
fn defined(x: &[Complex<f64>]) -> Vec<Complex<f64>> {
    let n = x.len();
    let root = |k: usize| Complex::cis(-std::f64::consts::TAU * k as f64 / n as f64);
    (0..n).map(|k| x.iter().enumerate().map(|(j, x)| x * root(j * k % n)).sum()).collect()
}

#[track_caller]
fn close(got: &[Complex<f64>], want: &[Complex<f64>], n: usize) {
    assert_eq!(got.len(), want.len());
    for (a, b) in got.iter().zip(want) {
        assert!((a - b).norm() < 1e-10 * n as f64, "{n}: {a} {b}");
    }
}

#[test]
fn every_length_is_transformed_as_defined() {
    for n in (1..70).chain(LENGTHS) {
        let x = signal(n);
        let mut got = x.clone();
        let plan = Plan::<f64>::new(n);
        plan.run(Direction::Forward, &mut got);
        close(&got, &defined(&x), n);
        plan.run(Direction::Inverse, &mut got);
        got.iter_mut().for_each(|x| *x /= n as f64);
        close(&got, &x, 1);
    }
}

#[test]
fn real_vectors_have_the_first_half_of_the_spectrum() {
    for n in (1..70).chain(LENGTHS) {
        for count in [1, 3, 18] {
            let x = signal(n * count);
            let real: Vec<f64> = x.iter().map(|x| x.re).collect();
            let kept = n / 2 + 1;
            let mut got = vec![Complex::default(); kept * count];
            super::real(&Serial, &real, n, &mut got);
            for (got, x) in got.chunks(kept).zip(real.chunks(n)) {
                let x: Vec<Complex<f64>> = x.iter().map(|x| Complex::new(*x, 0.0)).collect();
                close(got, &defined(&x)[..kept], n);
            }
            // Imaginary parts that no real vector has do not count.
            got[0].im = 5.0;
            let mut back = vec![0.0; n * count];
            inverse_real(&Serial, &got, n, &mut back);
            for (a, b) in back.iter().zip(&real) {
                assert!((a / n as f64 - b).abs() < 1e-11, "{n}: {a} {b}");
            }
        }
    }
}

#[test]
fn every_axis_is_transformed_alike() {
    for [outer, len, inner] in [[1, 12, 1], [40, 12, 1], [3, 12, 5], [2, 37, 40], [1, 35, 16], [2, 1, 3]] {
        let x = signal(outer * len * inner);
        let mut got = x.clone();
        transform::<f64>(&Serial, Direction::Forward, &mut got, [outer, len, inner]);
        for o in 0..outer {
            for i in 0..inner {
                let along = |data: &[Complex<f64>]| -> Vec<_> {
                    (0..len).map(|k| data[(o * len + k) * inner + i]).collect()
                };
                close(&along(&got), &defined(&along(&x)), len);
            }
        }
    }
}

#[test]
fn roots_of_a_table_are_those_of_the_definition() {
    for n in [255, 256, 1000, 4096, 10007] {
        let roots = Roots::new(n);
        for k in 0..n {
            let want = Complex::cis(-std::f64::consts::TAU * k as f64 / n as f64);
            assert!((roots.get::<f64>(k) - want).norm() < 2e-15, "{k} of {n}");
        }
    }
}

#[test]
fn no_element_is_no_transform() {
    Plan::<f32>::new(0).run(Direction::Forward, &mut []);
    super::real::<f32>(&Serial, &[], 0, &mut []);
}
