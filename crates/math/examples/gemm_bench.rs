//! GFLOP/s of f32 matrix products, ours and the `gemm` crate's, on 1 and 2 threads.
//!
//!     cargo run --release -p thalweg-math --features peers --example gemm_bench [-- ours] [m k n] [ta] [tb]
//!
//! The two alternate in short rounds, so that both see the same load. Prints, for each
//! size, the median over the rounds of a visit, and the best of those over some visits. With
//! `ta` or `tb`, our A or B is transposed.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use thalweg_math::gemm::{Epilogue, MatMut, MatRef, gemm};
use thalweg_math::parallel::{Parallel, Serial};
use thalweg_math::pool::Pool;

const SQUARES: [usize; 11] = [64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048];
const VISITS: usize = 6;
const ROUNDS: usize = 7;
const ROUND_SECONDS: f64 = 0.005;

fn sizes() -> Vec<[usize; 3]> {
    let mut sizes: Vec<_> = SQUARES.iter().map(|&s| [s, s, s]).collect();
    sizes.extend([[128, 784, 512], [20, 400, 800]]);
    sizes
}

/// A vector aligned to cache lines, as tensors are in all the libraries compared.
struct Aligned {
    data: Vec<f32>,
    start: usize,
}

impl Aligned {
    fn new(values: impl ExactSizeIterator<Item = f32>) -> Aligned {
        let mut data = vec![0.0; values.len() + 16];
        let start = data.as_ptr().align_offset(64);
        data[start..].iter_mut().zip(values).for_each(|(to, value)| *to = value);
        Aligned { data, start }
    }
}

struct Case {
    size: [usize; 3],
    transposed: [bool; 2],
    a: Aligned,
    b: Aligned,
    c: Aligned,
}

impl Case {
    fn new(size: [usize; 3], transposed: [bool; 2]) -> Case {
        let [m, k, n] = size;
        let fill = |len: usize| Aligned::new((0..len).map(|i| (i * 37 % 101) as f32 / 101.0 - 0.5));
        Case { size, transposed, a: fill(m * k), b: fill(k * n), c: fill(m * n) }
    }

    fn ours(&mut self, par: &dyn Parallel) {
        let [m, k, n] = self.size;
        let [ta, tb] = self.transposed;
        let lying = |rows, cols, transposed| if transposed { (cols, rows) } else { (rows, cols) };
        let ((a_rows, a_cols), (b_rows, b_cols)) = (lying(m, k, ta), lying(k, n, tb));
        let a = MatRef::row_major(&self.a.data[self.a.start..], a_rows, a_cols).unwrap().t_if(ta);
        let b = MatRef::row_major(&self.b.data[self.b.start..], b_rows, b_cols).unwrap().t_if(tb);
        let c = MatMut::row_major(&mut self.c.data[self.c.start..], m, n).unwrap();
        gemm(par, a, b, c, Epilogue::default()).unwrap();
    }

    fn crates(&mut self, threads: usize) {
        let [m, k, n] = self.size;
        let parallelism =
            if threads == 1 { ::gemm::Parallelism::None } else { ::gemm::Parallelism::Rayon(threads) };
        let (a, b) = (self.a.data[self.a.start..].as_ptr(), self.b.data[self.b.start..].as_ptr());
        let c = self.c.data[self.c.start..].as_mut_ptr();
        // SAFETY: the vectors have the sizes stated, row-major.
        unsafe {
            ::gemm::gemm(
                m,
                n,
                k,
                c,
                1,
                n as isize,
                false,
                a,
                1,
                k as isize,
                b,
                1,
                n as isize,
                0.0f32,
                1.0f32,
                false,
                false,
                false,
                parallelism,
            )
        }
    }

    /// Seconds per call, over enough calls to fill a round.
    fn time(&mut self, call: &dyn Fn(&mut Case)) -> f64 {
        let [m, k, n] = self.size;
        let calls = (ROUND_SECONDS / (2.0 * (m * k * n) as f64 / 150e9)).ceil() as usize;
        let start = Instant::now();
        for _ in 0..calls {
            call(self);
            black_box(&self.c.data);
        }
        start.elapsed().as_secs_f64() / calls as f64
    }
}

/// Waits, with a timeout of some seconds, until the machine is idle.
fn wait_until_quiet() {
    for _ in 0..100 {
        let before = busy_ticks();
        std::thread::sleep(Duration::from_millis(60));
        if busy_ticks().zip(before).is_none_or(|(after, before)| after <= before + 1) {
            return;
        }
    }
}

/// The time all CPUs have been busy, in hundredths of a second, if the system says.
fn busy_ticks() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/stat").ok()?;
    let ticks: Vec<u64> =
        stat.lines().next()?.split_whitespace().skip(1).filter_map(|x| x.parse().ok()).collect();
    // User, nice, system; then idle and waiting; then interrupts and time taken by other machines.
    Some(ticks.iter().sum::<u64>() - ticks[3] - ticks[4])
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let only_ours = args.first().is_some_and(|a| a == "ours");
    let numbers: Vec<usize> = args.iter().filter_map(|a| a.parse().ok()).collect();
    let sizes = if numbers.len() == 3 { vec![[numbers[0], numbers[1], numbers[2]]] } else { sizes() };
    let transposed = ["ta", "tb"].map(|flag| args.iter().any(|a| a == flag));
    let pool: Arc<Pool> = Pool::new(2).unwrap();
    println!("# m k n: GFLOP/s of thalweg 1 thread, gemm crate 1 thread, thalweg 2, gemm crate 2");
    for size in sizes {
        let mut case = Case::new(size, transposed);
        let flops = 2.0 * size.iter().product::<usize>() as f64 / 1e9;
        let mut best = [0f64; 4];
        let calls: [&dyn Fn(&mut Case); 4] =
            [&|c| c.ours(&Serial), &|c| c.crates(1), &|c| c.ours(&*pool), &|c| c.crates(2)];
        for _ in 0..VISITS {
            wait_until_quiet();
            let mut times = [const { Vec::new() }; 4];
            for round in 0..=ROUNDS {
                for (which, call) in calls.iter().enumerate() {
                    if only_ours && which % 2 == 1 {
                        continue;
                    }
                    let time = case.time(call);
                    if round > 0 {
                        times[which].push(time);
                    }
                }
            }
            for (best, times) in best.iter_mut().zip(times) {
                if !times.is_empty() {
                    *best = best.max(flops / median(times));
                }
            }
        }
        let [m, k, n] = size;
        let [o1, c1, o2, c2] = best;
        println!("{m:5} {k:5} {n:5}  {o1:7.1} {c1:7.1}  {o2:7.1} {c2:7.1}");
    }
}
