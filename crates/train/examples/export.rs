//! Exports SavedModels to a directory, for `tests/interop/test_saved_models.py`: from a session, and from an estimator.
//!
//! Prints a line for each: its name and its path.

use std::path::Path;
use thalweg_client::{DataType, Error, Result, Scope, Session};
use thalweg_train::IndexTable;
use thalweg_train::estimator::{DNNClassifier, FeatureSpec, Input, ServingInput};
use thalweg_train::feature_column::numeric_columns;
use thalweg_train::saved_model::SavedModelBuilder;

const FEATURES: [&str; 4] = ["sepal_length", "sepal_width", "petal_length", "petal_width"];

fn main() -> Result<()> {
    let out = std::env::args()
        .nth(1)
        .ok_or_else(|| Error::from(std::io::Error::other("usage: export DIRECTORY")))?;
    let out = Path::new(&out);
    println!("session {}", session(out)?);
    println!("estimator {}", estimator(out)?);
    Ok(())
}

/// y = x w + b, and the number of a word in a vocabulary file.
fn session(out: &Path) -> Result<String> {
    let words = out.join("words.txt");
    std::fs::write(&words, "cat\ndog\nbird\n")?;
    let g = Scope::new();
    let x = g.placeholder_named("x", DataType::Float, Some(&[-1, 2]));
    let w = g.variable("w", &g.constant([[1f32, 2.0], [3.0, 3.0]]));
    let b = g.variable("b", &g.constant([1f32, 1.0]));
    let y = g.add(g.matmul(&x, &w.value), &b.value);
    let word = g.placeholder_named("word", DataType::String, Some(&[-1]));
    let id = IndexTable::from_file(&g, &words, 3, DataType::String, -1, 0).lookup(&g, &word);
    let session = Session::new(&g)?;
    session.run(&g.init(), &[])?;
    let directory = out.join("session");
    let builder = SavedModelBuilder::new(&g);
    let builder =
        builder.signature("serving_default", &[("x", &x), ("word", &word)], &[("y", &y), ("id", &id)]);
    builder.save(&session, &directory)?;
    std::fs::remove_file(&words)?;
    Ok(directory.display().to_string())
}

/// A classifier of three flowers, served with `tf.Example`s.
fn estimator(out: &Path) -> Result<String> {
    let classifier = DNNClassifier::new(&[8], 3).columns(numeric_columns(FEATURES)).seed(1);
    let flowers = [[5.1f32, 5.9, 6.9], [3.3, 3.0, 3.1], [1.7, 4.2, 5.4], [0.5, 1.5, 2.1]];
    let input = |g: &Scope| {
        let features = FEATURES.into_iter().zip(flowers);
        Input::of(g, features, vec![0i32, 1, 2]).with(|d| d.repeat(None).batch(3))
    };
    classifier.train(input, 300)?;
    let specs = FEATURES.map(|name| FeatureSpec::new(name, DataType::Float, &[1]));
    let directory =
        classifier.export_saved_model(out.join("estimator"), |g| ServingInput::parsing(g, &specs))?;
    Ok(directory.display().to_string())
}
