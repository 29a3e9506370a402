//! `estimators linear|dnn|wide_and_deep|wide_and_deep_numbers DIR STEPS`: a classifier of twelve examples with several kinds of features, trained with the defaults, for
//! comparison with TensorFlow from the same checkpoint.

use thalweg_client::{Code, Error, IntoTensor, Result, Scope};
use thalweg_train::estimator::{
    DNNClassifier, DNNLinearCombinedClassifier, DNNLinearCombinedRegressor, Input, LinearClassifier,
};
use thalweg_train::feature_column::*;
use thalweg_train::optimizers::{Adam, Momentum};

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
        println!("usage: estimators linear|dnn|wide_and_deep|wide_and_deep_numbers DIR STEPS");
        return Ok(());
    };
    let steps = steps.parse().map_err(|e| Error::new(Code::InvalidArgument, format!("{steps}: {e}")))?;
    let training = |g: &_| -> Result<Input> { Ok(examples(g)?.with(|d| d.repeat(None).batch(6))) };
    let all = |g: &_| -> Result<Input> { Ok(examples(g)?.with(|d| d.batch(5))) };
    let codes = || categorical_column_with_identity("code", 5);
    let colours = || categorical_column_with_hash_bucket("colour", 20);
    let wide = || [FeatureColumn::from(colours()), crossed_column(["colour", "code"], 30).into()];
    let deep = || {
        [
            FeatureColumn::from(numeric_column("age")),
            embedding_column(colours(), 3).into(),
            indicator_column(codes()).into(),
        ]
    };
    let found = match kind.as_str() {
        "linear" => {
            let linear =
                LinearClassifier::new(3).column(numeric_column("age")).columns(wide()).model_dir(dir);
            linear.train(training, steps)?;
            linear.evaluate(all)?
        }
        "dnn" => {
            let dnn =
                DNNClassifier::new(&[8, 5], 3).columns(deep()).weight_column("weight").model_dir(dir).seed(7);
            dnn.train(training, steps)?;
            dnn.evaluate(all)?
        }
        "wide_and_deep" => {
            let both = DNNLinearCombinedClassifier::new(3)
                .linear_columns(wide())
                .dnn_columns(deep())
                .dnn_hidden_units(&[8, 5])
                .model_dir(dir)
                .seed(7);
            both.train(training, steps)?;
            both.evaluate(all)?
        }
        _ => {
            let both = DNNLinearCombinedRegressor::new()
                .linear_columns(wide())
                .linear_optimizer(Momentum::new(0.002, 0.9))
                .dnn_columns(deep())
                .dnn_hidden_units(&[6])
                .dnn_optimizer(Adam::new(0.01))
                .model_dir(dir)
                .seed(7);
            both.train(training, steps)?;
            both.evaluate(all)?
        }
    };
    for (name, value) in &found.metrics {
        println!("{name} {value:?}");
    }
    Ok(())
}
