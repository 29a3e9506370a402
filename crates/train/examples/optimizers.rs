//! Trains a small problem with every optimizer, for `tests/interop/test_optimizers.py` to compare with TensorFlow's own: writes into
//! the directory given, for each optimizer and type, the graph (`Adam_double.pb`) and the values of all variables after each step
//! (`Adam_double.txt`: a line for each step and variable); and the values of the learning-rate schedules (`schedules.txt`).

use std::fmt::Write;
use std::path::Path;
use thalweg_client::{
    DataType, Operation, Output, Result, Scope, Session, Shape, Tensor, Variable, dtype::Element, feed,
};
use thalweg_proto::Message;
use thalweg_train::averages::ExponentialMovingAverage;
use thalweg_train::optimizers::{
    AdaMax, Adadelta, Adagrad, AdagradDA, Adam, Ftrl, GradientDescent, Minimize, Momentum, Optimizer,
    ProximalAdagrad, ProximalGradientDescent, RMSProp,
};
use thalweg_train::{get_or_create_global_step, schedules};

const STEPS: usize = 20;

type Problem = Box<dyn std::error::Error>;

fn main() -> std::result::Result<(), Problem> {
    let directory = std::env::args().nth(1).ok_or("usage: optimizers DIRECTORY")?;
    let directory = Path::new(&directory);
    for dtype in [DataType::Float, DataType::Double] {
        for (name, train) in CASES {
            let (graph, values) = run(dtype, train).map_err(|e| format!("{name} {dtype}: {e}"))?;
            std::fs::write(directory.join(format!("{name}_{dtype}.pb")), graph)?;
            std::fs::write(directory.join(format!("{name}_{dtype}.txt")), values)?;
        }
    }
    std::fs::write(directory.join("schedules.txt"), schedule_values()?)?;
    Ok(())
}

/// A matrix with a dense gradient, and two tables, of rows and of single numbers, looked up with some rows more than once.
struct Fit {
    g: Scope,
    dtype: DataType,
    loss: Output,
    step: Variable,
}

const CASES: &[(&str, fn(&Fit) -> Result<Operation>)] = &[
    ("GradientDescent", |f| f.minimize(&GradientDescent::new(0.1))),
    ("ProximalGradientDescent", |f| {
        let [rate, l1, l2] = f.numbers([0.05, 0.01, 0.02]);
        f.minimize(&ProximalGradientDescent::new(&rate).regularization(&l1, &l2))
    }),
    ("Momentum", |f| f.minimize(&Momentum::new(0.05, 0.9))),
    ("Nesterov", |f| f.minimize(&Momentum::new(0.05, 0.9).nesterov().with_locking())),
    ("Adagrad", |f| f.minimize(&Adagrad::new(0.3))),
    ("AdagradDA", |f| f.minimize(&AdagradDA::new(0.3, &f.step).regularization(0.01, 0.02))),
    ("ProximalAdagrad", |f| {
        let [rate, l1, l2] = f.numbers([0.3, 0.01, 0.02]);
        f.minimize(&ProximalAdagrad::new(&rate).regularization(&l1, &l2))
    }),
    ("Adadelta", |f| f.minimize(&Adadelta::new(1.0).rho(0.9).epsilon(1e-4))),
    ("Adam", |f| f.minimize(&Adam::new(0.05))),
    ("AdaMax", |f| f.minimize(&AdaMax::new(0.05))),
    ("RMSProp", |f| f.minimize(&RMSProp::new(0.02).momentum(0.5).epsilon(1e-3))),
    ("CenteredRMSProp", |f| f.minimize(&RMSProp::new(0.02).decay(0.8).epsilon(1e-3).centered())),
    ("Ftrl", |f| f.minimize(&Ftrl::new(0.3).regularization(0.01, 0.02))),
    ("FtrlV2", |f| {
        let ftrl = Ftrl::new(0.3).learning_rate_power(-0.6).initial_accumulator(0.2);
        f.minimize(&ftrl.regularization(0.01, 0.02).l2_shrinkage(0.03).beta(0.1))
    }),
    ("Decayed", |f| {
        let rate = schedules::exponential_decay(&f.g, 0.1, &f.step.value, 5, 0.9, false);
        f.minimize(&GradientDescent::new(&rate))
    }),
    ("Averaged", |f| {
        let train = f.minimize(&GradientDescent::new(0.1))?;
        let after = f.g.control_dependencies(&[&train]);
        ExponentialMovingAverage::new(0.9)
            .num_updates(&f.step.read(&after))
            .apply(&after, &f.g.trainable_variables())
    }),
];

impl Fit {
    fn new(dtype: DataType) -> Result<Fit> {
        let g = Scope::new();
        let value =
            |dims: &[usize], seed: usize| -> Result<Output> { Ok(g.constant(data(dtype, dims, seed)?)) };
        let w = g.variable("w", &value(&[3, 2], 1)?);
        let rows = g.variable("rows", &value(&[6, 2], 2)?);
        let singles = g.variable("singles", &value(&[6], 3)?);
        let guess = g.matmul(&value(&[4, 3], 4)?, &w.value);
        let few = rows.gather(&g, g.constant(vec![1, 3, 1, 5, 3, 1]));
        let fewer = singles.gather(&g, g.constant(vec![2i64, 2, 0, 4]));
        let loss = |x: &Output, dims: &[usize], seed: usize| -> Result<Output> {
            Ok(g.reduce_sum(g.square(g.sub(x, &value(dims, seed)?)), &[]))
        };
        let parts = [loss(&guess, &[4, 2], 5)?, loss(&few, &[6, 2], 6)?, loss(&fewer, &[4], 7)?];
        let loss = g.add_n(&parts.iter().collect::<Vec<_>>());
        let step = get_or_create_global_step(&g);
        Ok(Fit { g, dtype, loss, step })
    }

    fn minimize(&self, optimizer: &impl Optimizer) -> Result<Operation> {
        optimizer.minimize(&self.g, &self.loss, Some(&self.step))
    }

    /// Settings in the type of the variables: with these, TensorFlow's proximal optimizers take doubles.
    fn numbers<const N: usize>(&self, values: [f64; N]) -> [Output; N] {
        values.map(|v| self.g.number(v, self.dtype))
    }
}

/// Deterministic numbers between -0.5 and 0.5, the same in Python.
fn data(dtype: DataType, dims: &[usize], seed: usize) -> Result<Tensor> {
    let shape = Shape::new(dims)?;
    let numbers = (0..shape.elements()).map(|i| ((i * 7 + seed * 5) % 11) as f64 / 10.0 - 0.5);
    match dtype {
        DataType::Double => Tensor::from_slice(shape, &numbers.collect::<Vec<f64>>()),
        _ => Tensor::from_slice(shape, &numbers.map(|v| v as f32).collect::<Vec<f32>>()),
    }
}

/// The graph as bytes, and the values of all variables before the first step and after each.
fn run(
    dtype: DataType,
    train: &fn(&Fit) -> Result<Operation>,
) -> std::result::Result<(Vec<u8>, String), Problem> {
    let fit = Fit::new(dtype)?;
    let train = train(&fit)?;
    fit.g.control_dependencies(&[&train]).op("NoOp").name("train").build();
    let init = fit.g.init();
    let variables = fit.g.global_variables();
    let reads: Vec<Output> = variables.iter().map(|v| v.value.clone()).collect();
    let session = Session::new(&fit.g)?;
    session.run(&init, &[])?;
    let mut text = String::new();
    for step in 0..=STEPS {
        if step > 0 {
            session.run(&train, &[])?;
        }
        for (v, value) in variables.iter().zip(session.run(&reads, &[])?) {
            writeln!(text, "{step} {} {}", v.name(), words(&value)?)?;
        }
    }
    Ok((fit.g.to_graph_def()?.encode_to_vec(), text))
}

fn words(t: &Tensor) -> Result<String> {
    fn all<T: Element + ToString>(t: &Tensor) -> Result<String> {
        Ok(t.as_slice::<T>()?.iter().map(T::to_string).collect::<Vec<_>>().join(" "))
    }
    match t.dtype() {
        DataType::Double => all::<f64>(t),
        DataType::Float => all::<f32>(t),
        _ => all::<i64>(t),
    }
}

fn schedule_values() -> std::result::Result<String, Problem> {
    let g = Scope::new();
    let step = g.placeholder(DataType::Int64, &[]);
    let restarts = |t_mul| schedules::Restarts { t_mul, m_mul: 0.9, alpha: 0.05 };
    let swings = schedules::LinearCosine { num_periods: 2.5, alpha: 0.1, beta: 0.01 };
    let falling = |cycle| schedules::Polynomial { end_rate: 0.01, power: 0.5, cycle };
    let all = [
        ("exponential", schedules::exponential_decay(&g, 0.1, &step, 7, 0.5, false)),
        ("staircase", schedules::exponential_decay(&g, 0.1, &step, 7, 0.5, true)),
        ("natural", schedules::natural_exp_decay(&g, 0.1, &step, 7, 0.5, false)),
        ("inverse", schedules::inverse_time_decay(&g, 0.1, &step, 7, 0.5, true)),
        ("piecewise", schedules::piecewise_constant(&g, &step, &[5, 12], &[0.3, 0.2, 0.1])?),
        ("polynomial", schedules::polynomial_decay(&g, 0.1, &step, 9, falling(false))),
        ("cycle", schedules::polynomial_decay(&g, 0.1, &step, 9, falling(true))),
        ("cosine", schedules::cosine_decay(&g, 0.1, &step, 20, 0.1)),
        ("restarts", schedules::cosine_decay_restarts(&g, 0.1, &step, 3.5, restarts(1.5))),
        ("restarts_alike", schedules::cosine_decay_restarts(&g, 0.1, &step, 6.5, restarts(1.0))),
        ("linear_cosine", schedules::linear_cosine_decay(&g, 0.1, &step, 20, swings)),
    ];
    let session = Session::new(&g)?;
    let mut text = String::new();
    for (name, rate) in &all {
        for i in 0..30i64 {
            writeln!(text, "{i} {name} {}", words(&session.run(rate, &[feed(&step, i)])?)?)?;
        }
    }
    Ok(text)
}
