//! Softmax against plain loops in f64.

use thalweg_math::parallel::Serial;
use thalweg_math::pool::Pool;
use thalweg_math::random::{Normal, Philox, fill};
use thalweg_math::softmax::{Float, log_softmax, softmax};

fn check<T: Float + Into<f64> + PartialEq>(of: fn(f64) -> T, tolerance: f64) {
    let pool = Pool::new(3).unwrap();
    for [rows, width] in [[1, 1], [3, 7], [1000, 10], [5, 33], [40, 1000], [2, 10_001]] {
        let mut normals = vec![0f64; rows * width];
        fill(&Serial, &Normal::default(), Philox::new(5, 6), &mut normals);
        let x: Vec<T> = normals.iter().map(|&x| of(5.0 * x + 300.0)).collect();
        let (mut soft, mut logs) = (x.clone(), x.clone());
        softmax(&*pool, width, &x, &mut soft);
        log_softmax(&*pool, width, &x, &mut logs);
        let mut serial = x.clone();
        softmax(&Serial, width, &x, &mut serial);
        assert!(serial == soft);
        for row in 0..rows {
            let of_row = |values: &[T]| -> Vec<f64> {
                values[row * width..(row + 1) * width].iter().map(|&x| x.into()).collect()
            };
            let (x, soft, logs) = (of_row(&x), of_row(&soft), of_row(&logs));
            let max = x.iter().copied().fold(f64::MIN, f64::max);
            let sum: f64 = x.iter().map(|x| (x - max).exp()).sum();
            for ((x, soft), log) in x.iter().zip(&soft).zip(&logs) {
                let exact = x - max - sum.ln();
                assert!((soft - exact.exp()).abs() <= tolerance * exact.exp());
                assert!((log - exact).abs() <= tolerance * (1.0 + exact.abs()));
            }
        }
    }
}

#[test]
fn both_types() {
    check(|x| x, 1e-14);
    check(|x| x as f32, 1e-6);
}

#[test]
fn special_values() {
    let inf = f32::INFINITY;
    let mut out = [0f32; 3];
    softmax(&Serial, 3, &[0.0, -inf, 0.0], &mut out);
    assert_eq!(out, [0.5, 0.0, 0.5]);
    log_softmax(&Serial, 3, &[1e30, -1e30, -inf], &mut out);
    assert_eq!(out, [0.0, -1e30 - 1e30, -inf]);
    for x in [[0.0, f32::NAN, 1.0], [inf, 0.0, 0.0], [-inf; 3]] {
        softmax(&Serial, 3, &x, &mut out);
        assert!(out.iter().all(|x| x.is_nan()), "{x:?}: {out:?}");
    }
    softmax::<f32>(&Serial, 0, &[], &mut []);
}
