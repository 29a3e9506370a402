//! A small net with data to train it on, and threads whose interleaving a seed decides.

use std::sync::Mutex;
use thalweg_client::{DataType, Output, Scope, Session, Tensor, Variable, feed};
use thalweg_train::optimizers::{GradientDescent, GradientOf, Minimize, Optimizer};

pub const ROWS: usize = 4;
const INPUTS: usize = 3;

/// A random number generator.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn roll(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }

    /// Yields a random number of times.
    pub fn dawdle(&mut self) {
        for _ in 0..self.roll(60) {
            std::thread::yield_now();
        }
    }
}

/// A net of two layers.
pub struct Net {
    pub variables: Vec<Variable>,
}

/// A copy of the net, fed with batches.
pub struct Fed {
    pub x: Output,
    pub y: Output,
    pub loss: Output,
}

fn start(g: &Scope, name: &str, dims: &[usize]) -> Variable {
    let n = dims.iter().product::<usize>();
    let values: Vec<f32> = (0..n).map(|i| ((i * 37 + name.len() * 11) % 19) as f32 / 19.0 - 0.5).collect();
    let dims: Vec<i32> = dims.iter().map(|d| *d as i32).collect();
    g.variable(name, &g.reshape(g.constant(values), &dims))
}

impl Net {
    pub fn new(g: &Scope) -> Net {
        let variables = vec![
            start(g, "hidden/weights", &[INPUTS, 5]),
            start(g, "hidden/bias", &[5]),
            start(g, "out/weights", &[5, 1]),
        ];
        Net { variables }
    }

    pub fn copy(&self, g: &Scope) -> Fed {
        let x = g.placeholder(DataType::Float, &[-1, INPUTS as i64]);
        let y = g.placeholder(DataType::Float, &[-1, 1]);
        let [w, b, v] = &self.variables[..] else { panic!("three variables") };
        let hidden = g.op("Tanh").input(g.add(g.matmul(&x, &w.value), &b.value)).output();
        let loss = g.reduce_mean(g.square(g.sub(g.matmul(&hidden, &v.value), &y)), &[]);
        Fed { x, y, loss }
    }

    /// The values of all variables, concatenated.
    pub fn values(&self, session: &Session) -> Vec<f32> {
        let read = |v: &Variable| session.run(&v.value, &[]).unwrap().as_slice::<f32>().unwrap().to_vec();
        self.variables.iter().flat_map(read).collect()
    }
}

impl Fed {
    pub fn gradients(&self, g: &Scope) -> Vec<GradientOf> {
        GradientDescent::new(0.0).compute_gradients(g, &self.loss).unwrap()
    }
}

/// Inputs and targets of consecutive batches of `ROWS` rows.
pub fn batches(from: usize, count: usize) -> (Tensor, Tensor) {
    let rows = from * ROWS..(from + count) * ROWS;
    let x: Vec<f32> = rows
        .clone()
        .flat_map(|r| (0..INPUTS).map(move |c| (((r * 7 + c * 13) * 31 % 101) as f32 / 50.0) - 1.0))
        .collect();
    let y: Vec<f32> = x.chunks(INPUTS).map(|x| x[0] * x[1] + 0.3 * x[2]).collect();
    let shaped = |values: &[f32], columns: usize| {
        let shape = thalweg_client::Shape::new(&[rows.len(), columns]).unwrap();
        Tensor::from_slice(shape, values).unwrap()
    };
    (shaped(&x, INPUTS), shaped(&y, 1))
}

/// Hands out each batch once.
pub struct Source {
    next: Mutex<usize>,
    end: usize,
}

impl Source {
    pub fn new(end: usize) -> Source {
        Source { next: Mutex::new(0), end }
    }

    pub fn take(&self) -> Option<usize> {
        let mut next = self.next.lock().unwrap();
        let taken = (*next < self.end).then_some(*next);
        *next += 1;
        taken
    }
}

/// The result of one worker on batches larger by a factor.
pub fn alone(optimizer: &impl Optimizer, steps: usize, factor: usize) -> Vec<f32> {
    let g = Scope::new();
    let net = Net::new(&g);
    let copy = net.copy(&g);
    let train = optimizer.minimize(&g, &copy.loss, None).unwrap();
    let session = Session::new(&g).unwrap();
    session.run(&g.init(), &[]).unwrap();
    for step in 0..steps {
        let (x, y) = batches(step * factor, factor);
        session.run(&train, &[feed(&copy.x, x), feed(&copy.y, y)]).unwrap();
    }
    net.values(&session)
}

pub fn assert_close(got: &[f32], expected: &[f32], about: &str) {
    assert_eq!(got.len(), expected.len());
    for (a, b) in got.iter().zip(expected) {
        assert!((a - b).abs() < 1e-5, "{about}: {got:?}, expected {expected:?}");
    }
}
