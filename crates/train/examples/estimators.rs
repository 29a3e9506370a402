//! `estimators linear|dnn DIR STEPS`: a classifier of twelve examples with several kinds of features, trained as it is by default, for
//! TensorFlow to do the same from the same checkpoint.

use thalweg_client::{Code, Error, IntoTensor, Result, Scope};
use thalweg_train::estimator::{DNNClassifier, Input, LinearClassifier};
use thalweg_train::feature_column::*;

const COLOURS: [&str; 4] = ["red", "green", "blue", "black"];

fn examples(g: &Scope) -> Result<Input> {
    let ages: Vec<f32> = (0..12).map(|i| (i * 7 % 12) as f32).collect();
    let colours: Vec<&str> = (0..12).map(|i| COLOURS[i * 5 % 4]).collect();
    let codes: Vec<i64> = (0..12).map(|i| i * i % 5).collect();
    let weights: Vec<f32> = (0..12).map(|i| (i % 4) as f32 / 2.0).collect();
    let features = [
        ("age", ages.into_tensor()?),
        ("colour", colours.into_tensor()?),
        ("code", codes.into_tensor()?),
        ("weight", weights.into_tensor()?),
    ];
    Ok(Input::of(g, features, (0..12).map(|i| i % 3).collect::<Vec<i64>>()))
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [kind, dir, steps] = &args[..] else {
        println!("usage: estimators linear|dnn DIR STEPS");
        return Ok(());
    };
    let steps = steps.parse().map_err(|e| Error::new(Code::InvalidArgument, format!("{steps}: {e}")))?;
    let training = |g: &_| -> Result<Input> { Ok(examples(g)?.with(|d| d.repeat(None).batch(6))) };
    let all = |g: &_| -> Result<Input> { Ok(examples(g)?.with(|d| d.batch(5))) };
    let codes = || categorical_column_with_identity("code", 5);
    let colours = || categorical_column_with_hash_bucket("colour", 20);
    let found = if kind == "linear" {
        let linear = LinearClassifier::new(3)
            .column(numeric_column("age"))
            .column(colours())
            .column(crossed_column(["colour", "code"], 30))
            .model_dir(dir);
        linear.train(training, steps)?;
        linear.evaluate(all)?
    } else {
        let dnn = DNNClassifier::new(&[8, 5], 3)
            .column(numeric_column("age"))
            .column(embedding_column(colours(), 3))
            .column(indicator_column(codes()))
            .weight_column("weight")
            .model_dir(dir)
            .seed(7);
        dnn.train(training, steps)?;
        dnn.evaluate(all)?
    };
    for (name, value) in &found.metrics {
        println!("{name} {value:?}");
    }
    Ok(())
}
