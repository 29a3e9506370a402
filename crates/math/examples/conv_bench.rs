//! GFLOP/s of convolution by implicit GEMM over padded images, on one thread.
//!
//!     cargo run --profile bench -p thalweg-math --example conv_bench [-- side depth taps outputs]
//!
//! The convolution, then its gradient with respect to the filter. A low percentile of many rounds, as other load slows most of them.

use std::hint::black_box;
use std::time::Instant;
use thalweg_math::gemm::{Epilogue, Im2colRef, MatMut, MatRef, NestedAxis, gemm};
use thalweg_math::parallel::Serial;

const IMAGES: usize = 16;

fn main() {
    let given: Vec<usize> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let [side, depth, taps, outputs] = given.try_into().unwrap_or([14, 32, 5, 64]);
    let pitch = (side + taps - 1) * depth;
    let size = pitch * (side + taps - 1);
    let values = |n: usize| (0..n).map(|i| (i * 37 % 101) as f32 / 101.0 - 0.5).collect::<Vec<_>>();
    let images = values(size * IMAGES);
    let patch = taps * taps * depth;
    let (filter, gradient) = (values(patch * outputs), values(side * side * outputs));
    let mut out = vec![0f32; IMAGES * side * side * outputs];
    let places = NestedAxis { count: side, length: side, stride: depth, run_stride: pitch };
    let under = NestedAxis { count: taps, length: taps * depth, stride: 1, run_stride: pitch };
    let work = (IMAGES * side * side * patch * outputs * 2) as f64;
    let rate = |body: &mut dyn FnMut()| {
        let mut times: Vec<f64> = (0..200)
            .map(|_| {
                let start = Instant::now();
                body();
                start.elapsed().as_secs_f64()
            })
            .collect();
        times.sort_by(f64::total_cmp);
        work / times[5] / 1e9
    };
    let forward = rate(&mut || {
        for (image, out) in images.chunks_exact(size).zip(out.chunks_exact_mut(side * side * outputs)) {
            let a = Im2colRef::new(image, places, under).expect("fits");
            let b = MatRef::row_major(&filter, patch, outputs).expect("fits");
            let c = MatMut::row_major(out, side * side, outputs).expect("fits");
            gemm(&Serial, a, b, c, Epilogue::default()).expect("fits");
        }
        black_box(&out);
    });
    let mut sums = vec![0f32; patch * outputs];
    let by_filter = rate(&mut || {
        for image in images.chunks_exact(size) {
            let a = Im2colRef::new(image, places, under).expect("fits").t();
            let b = MatRef::row_major(&gradient, side * side, outputs).expect("fits");
            let c = MatMut::row_major(&mut sums, patch, outputs).expect("fits");
            let add = Epilogue { accumulate: true, ..Epilogue::default() };
            gemm(&Serial, a, b, c, add).expect("fits");
        }
        black_box(&sums);
    });
    println!(
        "side {side} depth {depth} taps {taps} outputs {outputs}: {forward:.1} forward, {by_filter:.1} by the filter"
    );
}
