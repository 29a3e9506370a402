//! Speeds of the loops on slices: `cargo run --release --example slice_speed [filter]`.

use std::time::Instant;

use thalweg_math::elementary;
use thalweg_math::parallel::{Parallel, Serial};
use thalweg_math::pool::Pool;
use thalweg_math::random;
use thalweg_math::reduce::{self, Max, Plan, Sum};
use thalweg_math::softmax::{log_softmax, softmax};
use thalweg_math::transpose::transpose;

fn main() {
    let filter = std::env::args().nth(1).unwrap_or_default();
    let pool = Pool::new(2).expect("threads");
    elementaries(&Bench { filter: &filter, threads: 1 });
    for (threads, parallel) in [(1, &Serial as &dyn Parallel), (2, &*pool)] {
        let bench = Bench { filter: &filter, threads };
        randoms(&bench, parallel);
        reductions(&bench, parallel);
        transpositions(&bench, parallel);
        softmaxes(&bench, parallel);
    }
}

struct Bench<'a> {
    filter: &'a str,
    threads: usize,
}

impl Bench<'_> {
    /// Reports the best of several runs, in millions of elements a second.
    fn run(&self, name: &str, elements: usize, mut body: impl FnMut()) {
        if !name.contains(self.filter) {
            return;
        }
        let time = |_| {
            let start = Instant::now();
            body();
            start.elapsed().as_secs_f64()
        };
        let best = (0..12).map(time).fold(f64::MAX, f64::min);
        println!(
            "{name:<40} {} thread(s) {:>9.3} ms {:>8.0} M/s",
            self.threads,
            best * 1e3,
            elements as f64 / best / 1e6
        );
    }
}

fn randoms(bench: &Bench, parallel: &dyn Parallel) {
    const N: usize = 1 << 22;
    let stream = random::Philox::new(1, 2);
    let (mut x, mut y) = (vec![0f32; N], vec![0f64; N]);
    bench
        .run("random uniform f32", N, || random::fill(parallel, &random::Uniform::default(), stream, &mut x));
    bench.run("random normal f32", N, || random::fill(parallel, &random::Normal::default(), stream, &mut x));
    bench.run("random truncated f32", N, || {
        random::fill(parallel, &random::TruncatedNormal::default(), stream, &mut x)
    });
    bench
        .run("random uniform f64", N, || random::fill(parallel, &random::Uniform::default(), stream, &mut y));
    bench.run("random normal f64", N, || random::fill(parallel, &random::Normal::default(), stream, &mut y));
    bench.run("random truncated f64", N, || {
        random::fill(parallel, &random::TruncatedNormal::default(), stream, &mut y)
    });
    let mut i = vec![0i32; N];
    bench.run("random int32", N, || {
        random::fill(parallel, &random::UniformInt { low: -5, high: 1000 }, stream, &mut i)
    });
}

fn reductions(bench: &Bench, parallel: &dyn Parallel) {
    let mut x = vec![0f32; 1 << 22];
    random::fill(parallel, &random::Uniform::default(), random::Philox::new(1, 2), &mut x);
    let cases: &[(&[usize], &[bool])] = &[
        (&[1 << 22], &[true]),
        (&[2048, 2048], &[false, true]),
        (&[2048, 2048], &[true, false]),
        (&[1 << 16, 64], &[true, false]),
        (&[1 << 20, 4], &[true, false]),
        (&[1 << 20, 4], &[false, true]),
        (&[64, 256, 256], &[true, false, true]),
        (&[64, 256, 256], &[false, true, false]),
    ];
    for (shape, reduced) in cases {
        let plan = Plan::new(shape, reduced);
        let mut out = vec![0f32; plan.output_len()];
        let name = format!("{shape:?} {:?}", reduced.iter().map(|&r| r as u8).collect::<Vec<_>>());
        bench.run(&format!("reduce sum {name}"), x.len(), || {
            reduce::reduce(parallel, &plan, &Sum, &x, &mut out)
        });
        bench.run(&format!("reduce max {name}"), x.len(), || {
            reduce::reduce(parallel, &plan, &Max, &x, &mut out)
        });
    }
    let mut at = vec![0i64; 2048];
    bench.run("reduce argmax rows", x.len(), || reduce::arg_max(parallel, [2048, 2048, 1], &x, &mut at));
    bench.run("reduce argmax columns", x.len(), || reduce::arg_max(parallel, [1, 2048, 2048], &x, &mut at));
    let mut y = vec![0f32; x.len()];
    bench.run("reduce cumsum rows", x.len(), || {
        reduce::scan(parallel, reduce::Scan::default(), &Sum, [2048, 2048, 1], &x, &mut y)
    });
}

fn transpositions(bench: &Bench, parallel: &dyn Parallel) {
    let cases: &[(&[usize], &[usize])] = &[
        (&[1024, 1024], &[1, 0]),
        (&[1000, 1000], &[1, 0]),
        (&[2048, 2048], &[1, 0]),
        (&[64, 128, 256], &[2, 0, 1]),
        (&[64, 128, 256], &[1, 0, 2]),
        (&[64, 128, 256], &[0, 2, 1]),
        (&[16, 56, 56, 64], &[0, 3, 1, 2]),
        (&[16, 64, 56, 56], &[0, 2, 3, 1]),
        (&[16, 224, 224, 3], &[0, 3, 1, 2]),
        (&[16, 3, 224, 224], &[0, 2, 3, 1]),
        (&[8, 512, 12, 64], &[0, 2, 1, 3]),
    ];
    for (shape, perm) in cases {
        let n = shape.iter().product();
        let (x, mut y) = (vec![1f32; n], vec![0f32; n]);
        bench.run(&format!("transpose {shape:?} {perm:?}"), n, || {
            transpose(parallel, shape, perm, &x, &mut y)
        });
    }
    let (x, mut y) = (vec![1u8; 1 << 22], vec![0u8; 1 << 22]);
    bench.run("transpose u8 [2048, 2048]", 1 << 22, || {
        transpose(parallel, &[2048, 2048], &[1, 0], &x, &mut y)
    });
}

fn elementaries(bench: &Bench) {
    // Fits in the cache: bound by arithmetic.
    let x: Vec<f32> = (1..=1 << 14).map(|n| n as f32 / 2048.0).collect();
    let mut y = vec![0f32; x.len()];
    type Function = fn(&[f32], &mut [f32]);
    let functions: [(&str, Function); 6] = [
        ("exp", elementary::exp),
        ("log", elementary::log),
        ("tanh", elementary::tanh),
        ("sigmoid", elementary::sigmoid),
        ("rsqrt", elementary::rsqrt),
        ("erf", elementary::erf),
    ];
    for (name, function) in functions {
        bench.run(&format!("elementary {name}"), 100 * x.len(), || {
            (0..100).for_each(|_| function(&x, &mut y))
        });
    }
}

fn softmaxes(bench: &Bench, parallel: &dyn Parallel) {
    for [rows, width] in [[4096, 1024], [64, 32_000], [1 << 17, 10]] {
        let (mut x, mut y) = (vec![0f32; rows * width], vec![0f32; rows * width]);
        random::fill(parallel, &random::Normal::default(), random::Philox::new(1, 2), &mut x);
        bench.run(&format!("softmax [{rows}, {width}]"), x.len(), || softmax(parallel, width, &x, &mut y));
        bench.run(&format!("log_softmax [{rows}, {width}]"), x.len(), || {
            log_softmax(parallel, width, &x, &mut y)
        });
    }
    let (x, mut y) = (vec![1f64; 1 << 22], vec![0f64; 1 << 22]);
    bench.run("softmax f64", x.len(), || softmax(parallel, 1024, &x, &mut y));
}
