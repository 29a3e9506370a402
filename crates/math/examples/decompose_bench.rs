//! How long decompositions and Fourier transforms of `f32` take: `decompose_bench [SIZE..]`.

use std::hint::black_box;
use std::time::Instant;

use num_complex::Complex;
use thalweg_math::decompose::{Decompose, Vectors};
use thalweg_math::fft::{Direction, real, transform};
use thalweg_math::gemm::ShapeError;
use thalweg_math::parallel::{Parallel, Serial};

/// The median of several runs, in microseconds.
fn time(mut run: impl FnMut() -> Result<(), ShapeError>) -> Result<f64, ShapeError> {
    run()?;
    let start = Instant::now();
    run()?;
    let runs = (0.05 / start.elapsed().as_secs_f64().max(1e-9)).clamp(3.0, 1e4) as usize;
    let mut times = Vec::new();
    for _ in 0..runs {
        let start = Instant::now();
        run()?;
        times.push(start.elapsed().as_secs_f64() * 1e6);
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

fn matrix(n: usize) -> Vec<f32> {
    let mut seed = 1u64;
    let mut next = || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 40) as f32 / (1u64 << 24) as f32 - 0.5
    };
    let mut a: Vec<f32> = (0..n * n).map(|_| next()).collect();
    (0..n).for_each(|i| a[i * n + i] += 2.0 + i as f32 / n as f32);
    a
}

fn measure(par: &dyn Parallel, n: usize) -> Result<(), ShapeError> {
    let a = matrix(n);
    let gram: Vec<f32> = (0..n * n).map(|i| a[i] + a[i % n * n + i / n]).collect();
    let shifted: Vec<f32> =
        (0..n * n).map(|i| gram[i] + if i % (n + 1) == 0 { n as f32 } else { 0.0 }).collect();
    let mut out = vec![0f32; n * n];
    let (mut r, mut values) = (out.clone(), vec![0f32; n]);
    let zero = Complex::new(0f32, 0.0);
    let (mut complex_values, mut vectors) = (vec![zero; n], vec![zero; n * n]);
    let show = |name: &str, t: f64| println!("{name:20} {n:5}  {t:10.1} us");
    show("Svd", time(|| f32::svd(par, &a, [n, n], Vectors::Thin).map(|x| drop(black_box(x))))?);
    show("Svd, values", time(|| f32::svd(par, &a, [n, n], Vectors::None).map(|x| drop(black_box(x))))?);
    show(
        "SelfAdjointEigV2",
        time(|| f32::symmetric_eigen(par, &gram, n, &mut values, Some(&mut out)).map(drop))?,
    );
    show("Eig", time(|| f32::eigen(par, &a, n, &mut complex_values, Some(&mut vectors)).map(drop))?);
    show("Qr", time(|| f32::qr(par, &a, [n, n], n, &mut out, &mut r))?);
    show("Lu", time(|| f32::lu(par, &a, n).map(|x| drop(black_box(x))))?);
    show(
        "Cholesky",
        time(|| {
            out.copy_from_slice(&shifted);
            f32::cholesky(par, &mut out, n).map(drop)
        })?,
    );
    show("MatrixExponential", time(|| f32::exponential(par, &a, n, &mut out).map(drop))?);
    show("MatrixSquareRoot", time(|| f32::square_root(par, &a, n, &mut out))?);
    let wide: Vec<Complex<f32>> = a.iter().map(|x| Complex::new(*x, 0.0)).collect();
    show("MatrixLogarithm", time(|| Complex::<f32>::logarithm(par, &wide, n, &mut vectors))?);
    let mut x = wide.clone();
    show(
        "FFT of rows",
        time(|| {
            x.copy_from_slice(&wide);
            transform::<f32>(par, Direction::Forward, &mut x, [n, n, 1]);
            Ok(())
        })?,
    );
    show(
        "FFT of columns",
        time(|| {
            x.copy_from_slice(&wide);
            transform::<f32>(par, Direction::Forward, &mut x, [1, n, n]);
            Ok(())
        })?,
    );
    show(
        "RFFT of rows",
        time(|| {
            real::<f32>(par, &a, n, &mut x[..n * (n / 2 + 1)]);
            Ok(())
        })?,
    );
    Ok(())
}

fn main() -> Result<(), ShapeError> {
    let sizes: Vec<usize> = std::env::args().skip(1).filter_map(|n| n.parse().ok()).collect();
    let sizes = if sizes.is_empty() { vec![3, 16, 64, 256] } else { sizes };
    sizes.into_iter().try_for_each(|n| measure(&Serial, n))
}
