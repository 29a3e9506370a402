//! Three kinds of iris by sepal and petal size: 120 flowers for training, 30 for the test.

use super::examples::Examples;
use super::optimizer;
use super::program::{Held, Model, Program, Serving, Trained};
use super::settings::{Defaults, Settings};
use thalweg::data::iris::{self, FEATURES, Flowers, KINDS};
use thalweg::prelude::*;
use thalweg::train::layers::{Activation, Dense};
use thalweg::train::losses;

pub struct Iris {
    train: Examples,
    test: Examples,
}

impl Iris {
    pub fn load() -> Iris {
        let examples = |part: Flowers| Examples {
            features: part.lengths.as_flattened().to_vec(),
            labels: part.kinds,
            width: FEATURES.len(),
        };
        let (train, test) = iris::load();
        Iris { train: examples(train), test: examples(test) }
    }
}

fn logits(g: &Scope, x: &Output) -> Output {
    let hidden = Dense::new(10).activation(Activation::Relu).apply(g, x);
    let hidden = Dense::new(10).activation(Activation::Relu).apply(g, &hidden);
    Dense::new(3).name("logits").apply(g, &hidden)
}

impl Program for Iris {
    fn title(&self) -> String {
        format!(
            "iris, 4-10-10-3 net, {} flowers to learn from, {} to test",
            self.train.len(),
            self.test.len()
        )
    }

    fn defaults(&self) -> Defaults {
        Defaults { steps: 1000, batch: 32, rate: 0.01, falls_over: None, optimizer: optimizer::Kind::Adam }
    }

    fn examples(&self) -> usize {
        self.train.len()
    }

    fn model(&self, g: &Scope, settings: &Settings) -> Result<Model> {
        let x = g.placeholder_named("features", DataType::Float, Some(&[-1, 4]));
        let y = g.placeholder_named("kind", DataType::Int32, Some(&[-1]));
        let logits = logits(g, &x);
        let loss = losses::sparse_softmax_cross_entropy(g, &y, &logits, None);
        let train = settings.minimize(g, &loss, None)?;
        let scope = g.name_scope("accuracy");
        let right = scope.equal(scope.cast(scope.argmax(&logits, 1), DataType::Int32), &y);
        let accuracy = scope.reduce_mean(scope.cast(&right, DataType::Float), &[]);
        let probabilities = g.softmax(&logits);
        Ok(Model {
            train,
            loss,
            shown: Some(("accuracy", accuracy)),
            feeds: vec![x, y],
            outputs: vec![probabilities],
        })
    }

    fn batch(&self, step: u64, settings: &Settings) -> Result<Vec<Tensor>> {
        self.train.batch(step, settings.batch, settings.seed)
    }

    fn validation_batch(&self, number: usize, _: &Settings) -> Result<Option<Held>> {
        self.test.held(number, self.test.len())
    }

    fn serving(&self, g: &Scope) -> Result<Option<Serving>> {
        let x = g.placeholder_named("features", DataType::Float, Some(&[-1, 4]));
        let outputs = vec![("probabilities".into(), g.softmax(logits(g, &x)))];
        Ok(Some(Serving { inputs: vec![("features".into(), x)], outputs }))
    }

    fn results(&self, t: &Trained<'_>) -> Result<Vec<[String; 2]>> {
        let given = self.test.all()?;
        let feeds = [feed(&t.model.feeds[0], &given[0])];
        let found = t.session.run(&t.model.outputs, &feeds)?;
        let rows: Vec<&[f32]> = found[0].as_slice::<f32>()?.chunks_exact(3).collect();
        let best =
            |row: &[f32]| row.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |(i, _)| i);
        let mut right = 0;
        for (row, label) in rows.iter().zip(&self.test.labels) {
            right += usize::from(best(row) == *label as usize);
        }
        let mut table = vec![[
            "test accuracy".to_string(),
            format!("{:.3} ({right} of {})", right as f32 / rows.len() as f32, rows.len()),
        ]];
        // Three flowers, as in the lecture.
        for kind in 0..3 {
            let Some(at) = self.test.labels.iter().position(|l| *l == kind) else { continue };
            let guess = best(rows[at]);
            let share = rows[at][guess] * 100.0;
            table.push([
                format!("expected {}", KINDS[kind as usize]),
                format!("{} ({share:.1} %)", KINDS[guess]),
            ]);
        }
        Ok(table)
    }
}
