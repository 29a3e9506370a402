//! Handwritten digits.

use super::args::{BatchArgs, RunArgs};
use super::board::Shown;
use super::examples::Examples;
use super::optimizer;
use super::program::{Held, Model, Program, Serving, Trained};
use super::settings::{Defaults, Settings};
use std::path::{Path, PathBuf};
use thalweg::prelude::*;
use thalweg::train::layers::{Activation, Conv2D, Dense, Padding, flatten, max_pooling2d};
use thalweg::train::losses;
use thalweg_core::error::not_found;
use thalweg_core::invalid;

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Kind {
    /// 784-512-512-10
    Mlp,
    /// Two convolutions with pooling, then 1024-10
    Cnn,
}

#[derive(clap::Args)]
pub struct Args {
    /// The model
    #[arg(long, default_value = "mlp")]
    model: Kind,
    /// A directory with MNIST's four files
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    // Before `run`, whose last options are under headings of their own.
    #[command(flatten)]
    pub batches: BatchArgs,
    #[command(flatten)]
    pub run: RunArgs,
}

pub struct Mnist {
    train: Examples,
    test: Examples,
    kind: Kind,
}

/// How many images TensorBoard shows.
const SHOWN: usize = 16;

/// The batch size of the test.
const TEST_BATCH: usize = 500;

impl Mnist {
    pub fn load(args: &Args) -> Result<Mnist> {
        let (folder, kind) = (find(args.data.as_deref())?, args.model);
        let part = |name: &str| -> Result<Examples> {
            let images = thalweg_io::idx::read(&file(&folder, &format!("{name}-images-idx3-ubyte"))?)?;
            let labels = thalweg_io::idx::read(&file(&folder, &format!("{name}-labels-idx1-ubyte"))?)?;
            let ([n, 28, 28], [m]) = (images.dims.as_slice(), labels.dims.as_slice()) else {
                return Err(invalid!("{name}: expected images of 28 x 28, got sizes {:?}", images.dims));
            };
            if n != m {
                return Err(invalid!("{name}: {n} images but {m} labels"));
            }
            Ok(Examples {
                features: images.bytes.iter().map(|b| f32::from(*b) / 255.0).collect(),
                labels: labels.bytes.iter().map(|b| i32::from(*b)).collect(),
                width: 784,
            })
        };
        Ok(Mnist { train: part("train")?, test: part("t10k")?, kind })
    }

    fn logits(&self, g: &Scope, x: &Output) -> Output {
        let last = match self.kind {
            Kind::Mlp => {
                let hidden = Dense::new(512).activation(Activation::Relu).apply(g, x);
                Dense::new(512).activation(Activation::Relu).apply(g, &hidden)
            }
            Kind::Cnn => {
                let mut image = g.reshape(x, &[-1, 28, 28, 1]);
                for filters in [32, 64] {
                    let conv =
                        Conv2D::new(filters, [5, 5]).padding(Padding::Same).activation(Activation::Relu);
                    image = max_pooling2d(g, &conv.apply(g, &image), [2, 2], [2, 2], Padding::Valid);
                }
                Dense::new(1024).activation(Activation::Relu).apply(g, &flatten(g, &image))
            }
        };
        Dense::new(10).name("logits").apply(g, &last)
    }
}

/// The directory with the four files: `--data`, or one of the default locations.
fn find(given: Option<&Path>) -> Result<PathBuf> {
    let mut places: Vec<PathBuf> =
        given.into_iter().flat_map(|p| [p.to_path_buf(), p.join("mnist")]).collect();
    if given.is_none() {
        places.extend(std::env::var_os("THALWEG_DATA").map(|d| PathBuf::from(d).join("mnist")));
        places.extend(std::env::var_os("HOME").map(|h| PathBuf::from(h).join(".cache/thalweg/mnist")));
        places.extend(["data/mnist", "../shared/data/mnist"].map(PathBuf::from));
    }
    let found = places.iter().find(|p| file(p, "train-images-idx3-ubyte").is_ok());
    found.cloned().ok_or_else(|| {
        let looked: Vec<String> = places.iter().map(|p| p.display().to_string()).collect();
        not_found(format_args!(
            "MNIST's files (train-images-idx3-ubyte, .gz or not, and the other three) are not in {}; say where with --data",
            looked.join(", ")
        ))
    })
}

fn file(folder: &Path, name: &str) -> Result<PathBuf> {
    [folder.join(name), folder.join(format!("{name}.gz"))]
        .into_iter()
        .find(|p| p.is_file())
        .ok_or_else(|| not_found(format_args!("there is no {name} or {name}.gz in {}", folder.display())))
}

impl Program for Mnist {
    fn own_settings(&self) -> Vec<(&'static str, String)> {
        let model = match self.kind {
            Kind::Mlp => "mlp",
            Kind::Cnn => "cnn",
        };
        vec![("model", model.into())]
    }

    fn title(&self) -> String {
        let model = match self.kind {
            Kind::Mlp => "784-512-512-10 net",
            Kind::Cnn => "5x5x32-pool-5x5x64-pool-1024-10 net",
        };
        format!("MNIST, {model}, {} images to learn from, {} to test", self.train.len(), self.test.len())
    }

    fn defaults(&self) -> Defaults {
        let (steps, batch) = match self.kind {
            Kind::Mlp => (4700, 128),
            Kind::Cnn => (3000, 64),
        };
        Defaults { steps, batch, rate: 0.001, falls_over: Some(steps), optimizer: optimizer::Kind::Adam }
    }

    fn show(&self, board: &mut Shown<'_>) -> Result<()> {
        let shown = self.train.len().min(SHOWN);
        let images = self.train.rows(0..shown)?.swap_remove(0).reshape(Shape::new(&[shown, 28, 28, 1])?)?;
        board.events.add_images("examples", images, 0)?;
        let labels: Vec<String> = self.train.labels.iter().take(shown).map(i32::to_string).collect();
        board.events.add_text("examples/labels", labels.join(" "), 0)
    }

    fn examples(&self) -> usize {
        self.train.len()
    }

    fn model(&self, g: &Scope, settings: &Settings) -> Result<Model> {
        let x = g.placeholder_named("images", DataType::Float, Some(&[-1, 784]));
        let y = g.placeholder_named("labels", DataType::Int32, Some(&[-1]));
        let logits = self.logits(g, &x);
        let loss = losses::sparse_softmax_cross_entropy(g, &y, &logits, None);
        let train = settings.minimize(g, &loss, None)?;
        let digit = g.cast(g.argmax(&logits, 1), DataType::Int32);
        let scope = g.name_scope("accuracy");
        let accuracy = scope.reduce_mean(scope.cast(scope.equal(&digit, &y), DataType::Float), &[]);
        Ok(Model {
            train,
            loss,
            shown: Some(("accuracy", accuracy)),
            feeds: vec![x, y],
            outputs: vec![digit],
        })
    }

    fn batch(&self, step: u64, settings: &Settings) -> Result<Vec<Tensor>> {
        self.train.batch(step, settings.batch, settings.seed)
    }

    fn validation_batch(&self, number: usize, _: &Settings) -> Result<Option<Held>> {
        self.test.held(number, TEST_BATCH)
    }

    fn serving(&self, g: &Scope) -> Result<Option<Serving>> {
        let x = g.placeholder_named("images", DataType::Float, Some(&[-1, 784]));
        let outputs = vec![("probabilities".into(), g.softmax(self.logits(g, &x)))];
        Ok(Some(Serving { inputs: vec![("images".into(), x)], outputs }))
    }

    fn results(&self, t: &Trained<'_>) -> Result<Vec<[String; 2]>> {
        let mut right = 0;
        for start in (0..self.test.len()).step_by(TEST_BATCH) {
            let rows = start..(start + TEST_BATCH).min(self.test.len());
            let given = self.test.rows(rows.clone())?;
            let found = t.session.run(&t.model.outputs, &[feed(&t.model.feeds[0], &given[0])])?;
            let digits = found[0].as_slice::<i32>()?;
            right += digits.iter().zip(&self.test.labels[rows]).filter(|(a, b)| a == b).count();
        }
        let n = self.test.len();
        let share = 100.0 * right as f32 / n.max(1) as f32;
        Ok(vec![["test accuracy".into(), format!("{share:.2} % ({right} of {n})")]])
    }
}
