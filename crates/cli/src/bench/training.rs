//! Training steps: small and large nets, images, sequences, sparse tables. TensorFlow runs the same graphs; the others run the
//! same models in their own APIs (see `peers.py`).

use super::items::{Item, Train, Work};
use crate::train::OptimizerKind;
use thalweg::prelude::*;
use thalweg::train::layers::{Activation, Conv2D, Dense, Embedding, Padding, flatten, max_pooling2d};
use thalweg::train::losses;
use thalweg::train::rnn::{Cell, Lstm, Sequence, Stacked, dynamic_rnn};

/// A deterministic random number generator.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 >> 33
    }

    fn floats(&mut self, dims: &[usize]) -> Result<Tensor> {
        let values: Vec<f32> =
            (0..dims.iter().product()).map(|_| self.next() as f32 / (1u64 << 31) as f32).collect();
        Tensor::from_slice(Shape::new(dims)?, &values)
    }

    fn ids(&mut self, dims: &[usize], below: u64) -> Result<Tensor> {
        let values: Vec<i32> = (0..dims.iter().product()).map(|_| (self.next() % below) as i32).collect();
        Tensor::from_slice(Shape::new(dims)?, &values)
    }
}

pub fn items() -> Result<Vec<Item>> {
    use OptimizerKind::{Adagrad, Adam, Sgd};
    Ok(vec![
        item("Iris 4-10-10-3, batch 32, SGD", "train-iris", net(&[4, 10, 10, 3], 32, Sgd)?),
        item("MLP 784-512-512-10, batch 128, SGD", "train-mlp-sgd", net(&[784, 512, 512, 10], 128, Sgd)?),
        item("MLP 784-512-512-10, batch 128, Adam", "train-mlp-adam", net(&[784, 512, 512, 10], 128, Adam)?),
        item("CNN 5x5x32-5x5x64-1024-10, batch 64, Adam", "train-cnn", cnn()?),
        item("LSTM 2x200, 20 steps, batch 20, 10,000 words, SGD, clip", "train-lstm", lstm()?),
        item("embedding 100k x 64, 128 x 8 ids, SGD", "train-embedding-sgd", embedding(Sgd)?),
        item("embedding 100k x 64, 128 x 8 ids, Adagrad", "train-embedding-adagrad", embedding(Adagrad)?),
    ])
}

fn item(name: &str, id: &str, train: Train) -> Item {
    Item { name: name.into(), id: id.into(), threads: 0, work: Work::Train(Box::new(train)) }
}

fn scope() -> Scope {
    let g = Scope::new();
    g.set_random_seed(1);
    g
}

fn finish(
    g: &Scope,
    loss: &Output,
    kind: OptimizerKind,
    clip: Option<f64>,
    feeds: Vec<(Output, Tensor)>,
) -> Result<Train> {
    let train = kind.minimize(g, loss, 0.01, clip, None)?;
    let init = g.init();
    Ok(Train {
        graph: g.graph()?,
        init: init.name(),
        target: train.step.name(),
        feeds: feeds.into_iter().map(|(o, t)| (o.name(), t)).collect(),
    })
}

/// Dense layers of these sizes.
fn net(sizes: &[usize], batch: usize, kind: OptimizerKind) -> Result<Train> {
    let (g, mut dice) = (scope(), Dice(1));
    let (inputs, classes) = (sizes[0], sizes[sizes.len() - 1]);
    let x = g.placeholder_named("x", DataType::Float, Some(&[batch as i64, inputs as i64]));
    let y = g.placeholder_named("y", DataType::Int32, Some(&[batch as i64]));
    let mut last = x.clone();
    for size in &sizes[1..sizes.len() - 1] {
        last = Dense::new(*size).activation(Activation::Relu).apply(&g, &last);
    }
    let loss = losses::sparse_softmax_cross_entropy(&g, &y, &Dense::new(classes).apply(&g, &last), None);
    let feeds = vec![(x, dice.floats(&[batch, inputs])?), (y, dice.ids(&[batch], classes as u64)?)];
    finish(&g, &loss, kind, None, feeds)
}

fn cnn() -> Result<Train> {
    let (g, mut dice) = (scope(), Dice(2));
    let x = g.placeholder_named("x", DataType::Float, Some(&[64, 28, 28, 1]));
    let y = g.placeholder_named("y", DataType::Int32, Some(&[64]));
    let mut image = x.clone();
    for filters in [32, 64] {
        let conv = Conv2D::new(filters, [5, 5]).padding(Padding::Same).activation(Activation::Relu);
        image = max_pooling2d(&g, &conv.apply(&g, &image), [2, 2], [2, 2], Padding::Valid);
    }
    let last = Dense::new(1024).activation(Activation::Relu).apply(&g, &flatten(&g, &image));
    let loss = losses::sparse_softmax_cross_entropy(&g, &y, &Dense::new(10).apply(&g, &last), None);
    let feeds = vec![(x, dice.floats(&[64, 28, 28, 1])?), (y, dice.ids(&[64], 10)?)];
    finish(&g, &loss, OptimizerKind::Adam, None, feeds)
}

fn lstm() -> Result<Train> {
    const WORDS: usize = 10_000;
    let (g, mut dice) = (scope(), Dice(3));
    let x = g.placeholder_named("x", DataType::Int32, Some(&[20, 20]));
    let y = g.placeholder_named("y", DataType::Int32, Some(&[20, 20]));
    let inputs = Embedding::new(WORDS, 200).apply(&g, &x);
    let layers = (0..2).map(|_| Box::new(Lstm::new(200)) as Box<dyn Cell>).collect();
    let (outputs, _) = dynamic_rnn(&g, &Stacked(layers), &Sequence::new(&inputs));
    let logits = Dense::new(WORDS).apply(&g, &g.reshape(&outputs, &[-1, 200]));
    let loss = losses::sparse_softmax_cross_entropy(&g, &g.reshape(&y, &[-1]), &logits, None);
    let feeds = vec![(x, dice.ids(&[20, 20], WORDS as u64)?), (y, dice.ids(&[20, 20], WORDS as u64)?)];
    finish(&g, &loss, OptimizerKind::Sgd, Some(5.0), feeds)
}

/// The mean of eight embedding rows for each example, then a dense layer.
fn embedding(kind: OptimizerKind) -> Result<Train> {
    const ROWS: usize = 100_000;
    let (g, mut dice) = (scope(), Dice(4));
    let x = g.placeholder_named("x", DataType::Int32, Some(&[128, 8]));
    let y = g.placeholder_named("y", DataType::Int32, Some(&[128]));
    let mean = g.reduce_mean(Embedding::new(ROWS, 64).apply(&g, &x), &[1]);
    let loss = losses::sparse_softmax_cross_entropy(&g, &y, &Dense::new(10).apply(&g, &mean), None);
    let feeds = vec![(x, dice.ids(&[128, 8], ROWS as u64)?), (y, dice.ids(&[128], 10)?)];
    finish(&g, &loss, kind, None, feeds)
}
