//! Random numbers against recorded results of TensorFlow 2.21.
//!
//! The record is made by `fixtures/record_random.py`.

use std::collections::BTreeMap;

use half::{bf16, f16};
use thalweg_math::parallel::{Parallel, Serial};
use thalweg_math::pool::Pool;
use thalweg_math::random::{self, *};

const SEEDS: (i64, i64) = (87654321, -42);
const STATELESS_SEED: [i64; 2] = [-7, 12345678901];
const COUNT: usize = 30_003;

struct Expected {
    count: usize,
    hash: u64,
    head: Vec<u8>,
}

/// The recorded results not yet checked.
struct Record(BTreeMap<String, Expected>);

impl Record {
    fn read(prefixes: &[&str]) -> Self {
        let lines = include_str!("fixtures/random.txt").lines();
        let cases = lines.map(|line| {
            let fields: Vec<&str> = line.split(' ').collect();
            let expected = Expected {
                count: fields[1].parse().unwrap(),
                hash: u64::from_str_radix(fields[2], 16).unwrap(),
                head: fields[3]
                    .as_bytes()
                    .chunks(2)
                    .map(|hex| u8::from_str_radix(std::str::from_utf8(hex).unwrap(), 16).unwrap())
                    .collect(),
            };
            (fields[0].to_string(), expected)
        });
        Self(cases.filter(|(name, _)| prefixes.contains(&name.split('/').next().unwrap())).collect())
    }

    fn check<T: bytemuck::NoUninit>(&mut self, name: &str, actual: &[T]) {
        let expected = self.0.remove(name).unwrap_or_else(|| panic!("{name} is not recorded"));
        let bytes: &[u8] = bytemuck::cast_slice(actual);
        assert_eq!(actual.len(), expected.count, "{name}");
        assert_eq!(&bytes[..expected.head.len()], &expected.head[..], "{name}: first elements");
        let hash = bytes.iter().fold(0xcbf29ce484222325, |hash: u64, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100000001b3)
        });
        assert_eq!(hash, expected.hash, "{name}: all elements");
    }

    fn done(self) {
        assert!(self.0.is_empty(), "not tested: {:?}", self.0.keys());
    }
}

fn state() -> PhiloxState {
    PhiloxState::new(SEEDS.0, SEEDS.1, || unreachable!())
}

/// Three executions of a stateful op.
fn stateful<D: Distribution>(record: &mut Record, name: &str, dist: D)
where
    D::Item: bytemuck::NoUninit,
{
    let mut state = state();
    for run in 0..3 {
        let mut out = vec![D::Item::default(); COUNT];
        random::fill(&*Pool::new(3).unwrap(), &dist, state.reserve_outputs(COUNT as u64), &mut out);
        record.check(&format!("{name}/{run}"), &out);
    }
}

fn stateless<D: Distribution>(record: &mut Record, name: &str, dist: D)
where
    D::Item: bytemuck::NoUninit,
{
    let mut out = vec![D::Item::default(); COUNT];
    random::fill(&Serial, &dist, random::stateless(STATELESS_SEED), &mut out);
    record.check(name, &out);
}

/// One distribution in all real types, as stateful and as stateless op.
macro_rules! reals {
    ($dist:ident, $stateful:literal, $stateless:literal) => {{
        let mut record = Record::read(&[$stateful, $stateless]);
        reals!(@each $dist, record, $stateful, $stateless, f16 as "float16", bf16 as "bfloat16", f32 as "float32", f64 as "float64");
        record.done();
    }};
    (@each $dist:ident, $record:ident, $a:literal, $b:literal, $($t:ty as $name:literal),*) => {$(
        stateful(&mut $record, concat!($a, "/", $name), $dist::<$t>::default());
        stateless(&mut $record, concat!($b, "/", $name), $dist::<$t>::default());
    )*};
}

#[test]
fn uniform() {
    reals!(Uniform, "RandomUniform", "StatelessRandomUniform");
}

#[test]
fn normal() {
    reals!(Normal, "RandomStandardNormal", "StatelessRandomNormal");
}

#[test]
fn truncated_normal() {
    reals!(TruncatedNormal, "TruncatedNormal", "StatelessTruncatedNormal");
}

#[test]
fn integers() {
    let mut record = Record::read(&["RandomUniformInt", "StatelessRandomUniformFullInt"]);
    for (low, high) in [(0, 10), (-1_000_000, 2_000_000_000)] {
        stateful(&mut record, &format!("RandomUniformInt/int32/{high}"), UniformInt { low, high });
        let (low, high) = (i64::from(low), i64::from(high));
        stateful(&mut record, &format!("RandomUniformInt/int64/{high}"), UniformInt { low, high });
    }
    stateless(&mut record, "StatelessRandomUniformFullInt/int32", FullInt::<i32>::default());
    stateless(&mut record, "StatelessRandomUniformFullInt/uint32", FullInt::<u32>::default());
    stateless(&mut record, "StatelessRandomUniformFullInt/int64", FullInt::<i64>::default());
    stateless(&mut record, "StatelessRandomUniformFullInt/uint64", FullInt::<u64>::default());
    record.done();
}

#[test]
fn shuffle_order() {
    let mut record = Record::read(&["RandomShuffle"]);
    let mut state = state();
    for run in 0..3 {
        let mut items: Vec<i32> = (0..1001).collect();
        random::shuffle(state.reserve_words(1000), &mut items);
        record.check(&format!("RandomShuffle/{run}"), &items);
    }
    record.done();
}

#[test]
fn keys_and_counters() {
    let mut record = Record::read(&["key", "counter", "StatelessRandomUniformV2"]);
    for seed in [[0, 0], STATELESS_SEED] {
        let stream = random::stateless(seed);
        record.check(&format!("key/{}", seed[0]), &[stream.key()]);
        record.check(&format!("counter/{}", seed[0]), &stream.counter());
    }
    let stream = Philox::from_key_counter(0xFEDCBA9876543210, [u64::MAX - 4, 17]);
    let mut out = vec![0f32; COUNT];
    random::fill(&Serial, &Uniform::default(), stream, &mut out);
    record.check("StatelessRandomUniformV2", &out);
    record.done();
}

#[test]
fn gamma_and_poisson() {
    let mut record = Record::read(&["RandomGamma", "StatelessRandomGammaV2", "RandomPoissonV2"]);
    gamma_and_poisson_of(&mut record, "float16", f16::from_f64);
    gamma_and_poisson_of(&mut record, "float32", |x| x as f32);
    gamma_and_poisson_of(&mut record, "float64", |x| x);
    record.done();
}

fn gamma_and_poisson_of<T>(record: &mut Record, t: &str, of: fn(f64) -> T)
where
    T: Copy + Default + Send + Sync + Into<f64> + bytemuck::NoUninit,
{
    let pool = &*Pool::new(3).unwrap();
    let alphas = [0.3, 1.0, 1.5, 40.0].map(of);
    let rates = [0.5, 9.0, 12.0, 300.0].map(of);
    let mut out = vec![T::default(); 4 * 501];
    random::gamma(pool, random::stateless(STATELESS_SEED), &alphas, of, &mut out);
    record.check(&format!("StatelessRandomGammaV2/{t}"), &out);
    let mut state = state();
    for run in 0..3 {
        let stream = state.reserve_outputs(out.len() as u64);
        random::gamma(pool, stream, &alphas, of, &mut out);
        record.check(&format!("RandomGamma/{t}/{run}"), &out);
        let mut counts = vec![0i64; out.len()];
        random::poisson(pool, stream, &rates, i64::MAX as f64, |x| x as i64, &mut counts);
        record.check(&format!("RandomPoissonV2/{t}/int64/{run}"), &counts);
        let mut counts = vec![0f32; out.len()];
        random::poisson(pool, stream, &rates, f32::MAX.into(), |x| x as f32, &mut counts);
        record.check(&format!("RandomPoissonV2/{t}/float32/{run}"), &counts);
    }
}

#[test]
fn multinomial() {
    let mut record = Record::read(&["Multinomial", "StatelessMultinomial"]);
    // These logits are exact in every type, so one type suffices.
    let logits = [0.0, 1.0, -1.0, 3.0, f32::NEG_INFINITY, -2.0, 0.5, 0.25, 0.0, 9.0];
    for t in ["float16", "bfloat16", "float32", "float64"] {
        let mut state = state();
        let mut out = [0; 22];
        for run in 0..3 {
            let stream = state.reserve(random::categorical_blocks(2, 11));
            random::categorical(&Serial, stream, &logits, 5, 11, &mut out);
            record.check(&format!("Multinomial/{t}/{run}"), &out);
        }
        random::categorical(&Serial, random::stateless(STATELESS_SEED), &logits, 5, 11, &mut out);
        record.check(&format!("StatelessMultinomial/{t}"), &out);
    }
    record.done();
}

#[test]
fn threads_do_not_matter() {
    let stream = Philox::new(1, 2);
    let draw = |parallel: &dyn Parallel| {
        let mut out = vec![0f32; 100_001];
        random::fill(parallel, &TruncatedNormal::default(), stream, &mut out);
        let mut classes = vec![0; 7 * 5000];
        random::categorical(parallel, stream, &out[..15_000], 3, 7, &mut classes);
        (out, classes)
    };
    assert!(draw(&Serial) == draw(&*Pool::new(4).unwrap()));
}

#[test]
fn unseeded_means_seeds_from_the_caller() {
    let mut next = 100;
    let mut state = PhiloxState::new(0, 0, || {
        next += 1;
        next
    });
    assert_eq!(state.reserve(0), Philox::new(101, 102));
}
