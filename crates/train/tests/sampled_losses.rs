//! Sampled losses, where the sample is all classes and the losses can be computed directly.

use thalweg_client::{DataType, Output, Partitioner, Scope, Session, Tensor};
use thalweg_train::embedding::PartitionStrategy;
use thalweg_train::gradient_checker::{Options, compute_gradient_error};
use thalweg_train::initializers::RandomUniform;
use thalweg_train::losses::{Candidates, OutputLayer, nce_loss, sampled_softmax_loss};

const CLASSES: usize = 5;
const UNIFORM: RandomUniform = RandomUniform { low: -1.0, high: 1.0, seed: Some(3) };

/// Every class but for those that examples have themselves, each expected as often as the others.
fn all_classes(g: &Scope) -> Candidates {
    Candidates {
        sampled: g.constant([0i64, 1, 2, 3, 4]),
        true_expected_count: g.constant([[1f32], [1.0], [1.0]]),
        sampled_expected_count: g.constant([1f32; CLASSES]),
    }
}

struct Model {
    g: Scope,
    inputs: Output,
    labels: Output,
    /// Logits of all classes.
    logits: Output,
    weights: Vec<thalweg_client::Variable>,
    biases: Vec<thalweg_client::Variable>,
}

fn model() -> Model {
    let g = Scope::new();
    let cut = Partitioner::FixedSize { shards: 2, axis: 0 };
    let weights = g.get_partitioned_variable("w", &[CLASSES, 4], &UNIFORM, &cut);
    let biases = g.get_partitioned_variable("b", &[CLASSES], &UNIFORM, &cut);
    let inputs = g.placeholder(DataType::Float, &[3, 4]);
    let labels = g.constant([[1i64], [4], [1]]);
    let whole = weights.value(&g);
    let logits = g.op("MatMul").input(&inputs).input(&whole).attr("transpose_b", true).output();
    let logits = &logits + &biases.value(&g);
    Model { inputs, labels, logits, weights: weights.parts, biases: biases.parts, g }
}

impl Model {
    fn layer(&self) -> OutputLayer<'_> {
        OutputLayer { weights: &self.weights, biases: &self.biases, strategy: PartitionStrategy::Div }
    }

    /// Both values.
    fn run(&self, a: &Output, b: &Output) -> (Vec<f32>, Vec<f32>) {
        let session = Session::new(&self.g).unwrap();
        session.run(&self.g.init(), &[]).unwrap();
        let feeds = [thalweg_client::feed(&self.inputs, at())];
        let (a, b) = session.run(&(a, b), &feeds).unwrap();
        (a.as_slice::<f32>().unwrap().to_vec(), b.as_slice::<f32>().unwrap().to_vec())
    }
}

fn at() -> Tensor {
    let numbers: Vec<f32> = (0..12).map(|i| (i * 7 % 12) as f32 / 6.0 - 1.0).collect();
    Tensor::from_slice(thalweg_client::Shape::new(&[3, 4]).unwrap(), &numbers).unwrap()
}

fn assert_near(a: &[f32], b: &[f32]) {
    assert!(a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-5), "{a:?}, {b:?}");
}

#[test]
fn a_sample_of_all_classes_gives_the_softmax() {
    let m = model();
    let loss = sampled_softmax_loss(&m.g, m.layer(), &m.labels, &m.inputs, &all_classes(&m.g));
    let flat = m.g.reshape(&m.labels, &[-1]);
    let full = m.g.op("SparseSoftmaxCrossEntropyWithLogits").input(&m.logits).input(&flat).output();
    let (sampled, full) = m.run(&loss, &full);
    assert_near(&sampled, &full);
    let session = Session::new(&m.g).unwrap();
    let init = m.g.init();
    let options = Options { init: Some(&init), delta: 1e-2, ..Default::default() };
    let error = compute_gradient_error(&m.g, &session, &m.inputs, &at(), &loss, &options).unwrap();
    assert!(error < 1e-3, "{error}");
}

/// -log p(true) - sum of log(1 - p) over the sample, where p = sigmoid(logit).
#[test]
fn nce_tells_the_true_class_from_the_sampled_ones() {
    let m = model();
    let loss = nce_loss(&m.g, m.layer(), &m.labels, &m.inputs, &all_classes(&m.g));
    let (loss, logits) = m.run(&loss, &m.logits);
    let expected: Vec<f32> = [1, 4, 1]
        .iter()
        .zip(logits.chunks(CLASSES))
        .map(|(label, row)| {
            let softplus = |x: f32| x.exp().ln_1p();
            softplus(-row[*label]) + row.iter().map(|x| softplus(*x)).sum::<f32>()
        })
        .collect();
    assert_near(&loss, &expected);
}
