//! Training graphs exchanged with TensorFlow: `models MODEL start PREFIX` saves an untrained model with its graph, `models MODEL
//! train FROM STEPS FIRST TO` restores a checkpoint, prints the loss of each of STEPS steps on batches FIRST, FIRST + 1, ..., and saves.
//! MODEL is mlp (with dropout, Adam), cnn (Momentum), lstm (a while loop, gradients clipped) or words (sampled softmax, partitioned table,
//! Adagrad).

use std::path::Path;
use thalweg_client::{
    Code, DataType, Error, Gradient, Operation, Output, Partitioner, Result, Scope, Session, Shape, Tensor,
    feed,
};
use thalweg_train::clip::clip_by_global_norm;
use thalweg_train::embedding::PartitionStrategy;
use thalweg_train::initializers::{RandomUniform, Zeros};
use thalweg_train::layers::{Activation, Conv2D, Dense, Embedding, Padding, dropout, flatten, max_pooling2d};
use thalweg_train::losses::{self, Candidates, OutputLayer, sampled_softmax_loss};
use thalweg_train::optimizers::{Adagrad, Adam, GradientDescent, Minimize, Momentum};
use thalweg_train::rnn::{Cell, Lstm, Sequence, Stacked, dynamic_rnn};
use thalweg_train::saver::Saver;

const BATCH: usize = 16;

#[derive(Clone, Copy, PartialEq)]
enum Model {
    Mlp,
    Cnn,
    Lstm,
    Words,
}

impl Model {
    fn named(name: &str) -> Result<Model> {
        match name {
            "mlp" => Ok(Model::Mlp),
            "cnn" => Ok(Model::Cnn),
            "lstm" => Ok(Model::Lstm),
            "words" => Ok(Model::Words),
            _ => Err(usage()),
        }
    }

    /// The inputs `x` and `y` and the output `loss` are nodes of these names; so is the operation `train`, which is returned.
    fn build(self, g: &Scope) -> Result<Operation> {
        g.set_random_seed(3);
        let y = |dims: &[i64]| g.placeholder_named("y", DataType::Int32, Some(dims));
        match self {
            Model::Mlp => {
                let x = g.placeholder_named("x", DataType::Float, Some(&[-1, 20]));
                let hidden = Dense::new(32).activation(Activation::Relu).apply(g, &x);
                let hidden = dropout(g, &hidden, 0.25, true, Some(5));
                let logits = Dense::new(10).apply(g, &hidden);
                let loss = losses::sparse_softmax_cross_entropy(g, &y(&[-1]), &logits, None);
                finish(g, &loss, &Adam::new(0.01).minimize(g, &loss, None)?)
            }
            Model::Cnn => {
                let x = g.placeholder_named("x", DataType::Float, Some(&[-1, 12, 12, 1]));
                let conv = Conv2D::new(8, [3, 3]).padding(Padding::Same).activation(Activation::Relu);
                let image = max_pooling2d(g, &conv.apply(g, &x), [2, 2], [2, 2], Padding::Valid);
                let logits = Dense::new(10).apply(g, &flatten(g, &image));
                let loss = losses::sparse_softmax_cross_entropy(g, &y(&[-1]), &logits, None);
                finish(g, &loss, &Momentum::new(0.05, 0.9).minimize(g, &loss, None)?)
            }
            Model::Lstm => {
                let x = g.placeholder_named("x", DataType::Int32, Some(&[-1, 8]));
                let uniform = RandomUniform { low: -0.5, high: 0.5, seed: None };
                let inputs = Embedding::new(10, 12).initializer(&uniform).apply(g, &x);
                let cells = vec![Box::new(Lstm::new(12)) as Box<dyn Cell>, Box::new(Lstm::new(12))];
                let (outputs, _) = dynamic_rnn(g, &Stacked(cells), &Sequence::new(&inputs));
                let logits = Dense::new(10).apply(g, &g.reshape(&outputs, &[-1, 12]));
                let labels = g.reshape(y(&[-1, 8]), &[-1]);
                let loss = losses::sparse_softmax_cross_entropy(g, &labels, &logits, None);
                let descent = GradientDescent::new(1.0);
                let mut gradients = descent.compute_gradients(g, &loss)?;
                let found: Vec<Gradient> = gradients.iter().map(|d| d.gradient.clone()).collect();
                let (clipped, _) = clip_by_global_norm(g, &found, 1.0);
                gradients.iter_mut().zip(clipped).for_each(|(d, clipped)| d.gradient = clipped);
                finish(g, &loss, &descent.apply_gradients(g, &gradients, None)?)
            }
            Model::Words => {
                let x = g.placeholder_named("x", DataType::Int32, Some(&[-1]));
                let uniform = RandomUniform { low: -0.5, high: 0.5, seed: None };
                let inputs = Embedding::new(10, 6).initializer(&uniform).apply(g, &x);
                let cut = Partitioner::FixedSize { shards: 3, axis: 0 };
                let weights = g.get_partitioned_variable("weights", &[10, 6], &uniform, &cut);
                let biases = g.get_partitioned_variable("biases", &[10], &Zeros, &cut);
                let labels = g.reshape(g.cast(y(&[-1]), DataType::Int64), &[-1, 1]);
                let candidates = Candidates::log_uniform(g, &labels, 4, 10, Some(8));
                let strategy = PartitionStrategy::Div;
                let layer = OutputLayer { weights: &weights.parts, biases: &biases.parts, strategy };
                let each = sampled_softmax_loss(g, layer, &labels, &inputs, &candidates);
                let loss = g.reduce_mean(&each, &[]);
                finish(g, &loss, &Adagrad::new(0.2).minimize(g, &loss, None)?)
            }
        }
    }

    /// Batch number `step`: deterministic, easy to reproduce in Python.
    fn batch(self, step: usize) -> Result<(Tensor, Tensor)> {
        let number = |i: usize, base: usize| (i * 7919 + step * 104_729 + i * i % 31) % base;
        let floats = |dims: &[usize]| {
            let count = dims.iter().product::<usize>();
            let values: Vec<f32> = (0..count).map(|i| (number(i, 1009) as f64 / 1009.0) as f32).collect();
            Tensor::from_slice(Shape::new(dims)?, &values)
        };
        let ints = |dims: &[usize], factor: usize| {
            let count = dims.iter().product::<usize>();
            let values: Vec<i32> = (0..count).map(|i| (number(i, 10) * factor % 10) as i32).collect();
            Tensor::from_slice(Shape::new(dims)?, &values)
        };
        Ok(match self {
            Model::Mlp => (floats(&[BATCH, 20])?, ints(&[BATCH], 1)?),
            Model::Cnn => (floats(&[BATCH, 12, 12, 1])?, ints(&[BATCH], 1)?),
            Model::Words => (ints(&[BATCH], 1)?, ints(&[BATCH], 3)?),
            Model::Lstm => (ints(&[BATCH, 8], 1)?, ints(&[BATCH, 8], 3)?),
        })
    }
}

fn finish(g: &Scope, loss: &Output, train: &Operation) -> Result<Operation> {
    g.op("Identity").name("loss").input(loss).output();
    let train = g.control_dependencies(&[train]).op("NoOp").name("train").build();
    g.check()?;
    Ok(train)
}

fn usage() -> Error {
    let text = "models mlp|cnn|lstm|words start PREFIX, or train FROM STEPS FIRST TO";
    Error::new(Code::InvalidArgument, text)
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let model = Model::named(args.first().copied().unwrap_or_default())?;
    let g = Scope::new();
    let train = model.build(&g)?;
    let saver = Saver::new(&g);
    let session = Session::new(&g)?;
    match &args[1..] {
        ["start", prefix] => {
            session.run(&g.init(), &[])?;
            saver.save(&session, Path::new(prefix), None)?;
        }
        ["train", from, steps, first, to] => {
            let number = |text: &str| text.parse::<usize>().map_err(|_| usage());
            saver.restore(&session, Path::new(from))?;
            let (x, y, loss) = (g.output("x:0")?, g.output("y:0")?, g.output("loss:0")?);
            for step in number(first)?..number(first)? + number(steps)? {
                let (given, wanted) = model.batch(step)?;
                let (loss, ()) = session.run(&(&loss, &train), &[feed(&x, given), feed(&y, wanted)])?;
                println!("{}", loss.to_scalar::<f32>()?);
            }
            saver.save(&session, Path::new(to), None)?;
        }
        _ => return Err(usage()),
    }
    Ok(())
}
