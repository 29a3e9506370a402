//! Classifies three kinds of iris by a net with two hidden layers of ten units.

use thalweg::data::iris::{self, FEATURES, KINDS};
use thalweg::prelude::*;

fn main() -> Result<()> {
    let (train, test) = iris::load();
    let classifier = DNNClassifier::new(&[10, 10], 3).columns(numeric_columns(FEATURES)).seed(1);

    let flowers = |g: &Scope| Input::of(g, train.features(), train.kinds.clone());
    classifier.train(|g| flowers(g).with(|d| d.shuffle(1000, None).repeat(None).batch(100)), 1000)?;

    let flowers = |g: &Scope| Input::of(g, test.features(), test.kinds.clone());
    let found = classifier.evaluate(|g| flowers(g).with(|d| d.batch(100)))?;
    println!("Test set accuracy: {:.3}\n", found["accuracy"]);

    let unknown = [
        ("sepal_length", [5.1f32, 5.9, 6.9]),
        ("sepal_width", [3.3, 3.0, 3.1]),
        ("petal_length", [1.7, 4.2, 5.4]),
        ("petal_width", [0.5, 1.5, 2.1]),
    ];
    let predictions = classifier.predict(|g| Input::features(g, unknown).with(|d| d.batch(100)))?;
    for (prediction, expected) in predictions.zip(KINDS) {
        let prediction = prediction?;
        let class = prediction.class_id()?;
        let percent = prediction.probabilities()?[class] * 100.0;
        println!("Prediction is \"{}\" ({percent:.1} %), expected \"{expected}\"", KINDS[class]);
    }
    Ok(())
}
