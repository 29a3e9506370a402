//! SavedModels that go out and come back: signatures, tables, assets, versions, mistakes, damage.

use std::path::Path;
use thalweg_client::saved_model::LoadOptions;
use thalweg_client::{Code, DataType, SavedModel, Scope, Session, Tensor};
use thalweg_io::scratch::Scratch;
use thalweg_train::IndexTable;
use thalweg_train::estimator::{FeatureSpec, Input, LinearRegressor, ServingInput};
use thalweg_train::feature_column::numeric_columns;
use thalweg_train::saved_model::{SavedModelBuilder, next_version};

/// y = x v, and the ids of words in a file that is gone after the export.
fn export(scratch: &Scratch, directory: &Path) {
    let words = scratch.path("words.txt");
    std::fs::write(&words, "cat\ndog\n").unwrap();
    let g = Scope::new();
    let x = g.placeholder_named("x", DataType::Float, Some(&[-1, 2]));
    let v = g.variable("v", &g.constant([2f32, 3.0]));
    let y = g.mul(&x, &v.value);
    let word = g.placeholder_named("word", DataType::String, Some(&[-1]));
    let id = IndexTable::from_file(&g, &words, 2, DataType::String, -1, 0).lookup(&g, &word);
    let session = Session::new(&g).unwrap();
    session.run(&g.init(), &[]).unwrap();
    let builder = SavedModelBuilder::new(&g).signature("times", &[("x", &x)], &[("y", &y)]);
    builder.signature("ids", &[("word", &word)], &[("id", &id)]).save(&session, directory).unwrap();
    std::fs::remove_file(&words).unwrap();
}

#[test]
fn variables_tables_and_assets_come_back() {
    let scratch = Scratch::new();
    export(&scratch, &scratch.path("out"));
    std::fs::rename(scratch.path("out"), scratch.path("moved")).unwrap();
    let model = SavedModel::load(scratch.path("moved")).unwrap();
    assert_eq!(model.tags(), ["serve"]);
    assert_eq!(model.signatures().map(|(name, _)| name).collect::<Vec<_>>(), ["ids", "times"]);
    let found = model.signature("times").unwrap().run([("x", [[1f32, 1.0], [10.0, 0.5]])]).unwrap();
    assert_eq!(found["y"].as_slice::<f32>().unwrap(), [2.0, 3.0, 20.0, 1.5]);
    let found = model.signature("ids").unwrap().run([("word", vec!["dog", "cow", "cat"])]).unwrap();
    assert_eq!(found["id"].as_slice::<i64>().unwrap(), [1, -1, 0]);
    assert!(model.serving_default().is_err(), "two signatures, and neither is serving_default");
}

#[test]
fn mistakes_are_told_with_what_is_there() {
    let scratch = Scratch::new();
    export(&scratch, &scratch.path("out"));
    let model = SavedModel::load(scratch.path("out")).unwrap();
    let e = model.signature("time").err().unwrap();
    assert!(e.code() == Code::NotFound && e.message().contains("it has: ids, times"), "{e}");
    let times = model.signature("times").unwrap();
    let wrong = |e: thalweg_client::Error, part: &str| {
        assert!(e.code() == Code::InvalidArgument && e.message().contains(part), "{e}");
    };
    wrong(times.run([("z", 1f32)]).unwrap_err(), "has no input 'z'");
    wrong(times.run([("z", 1f32)]).unwrap_err(), "it takes: x (float [?,2])");
    wrong(times.run::<&str, f32>([]).unwrap_err(), "needs a value for x (float [?,2])");
    wrong(times.run([("x", [[1i32, 2]])]).unwrap_err(), "takes x (float [?,2]), got int32 [1,2]");
    wrong(times.run([("x", [1f32, 2.0])]).unwrap_err(), "takes x (float [?,2]), got float [2]");
    let x = Tensor::from_slice(thalweg_client::Shape::new(&[1, 2]).unwrap(), &[1f32, 2.0]).unwrap();
    wrong(times.run([("x", &x), ("x", &x)]).unwrap_err(), "given twice");
    wrong(times.run_ordered(vec![]).unwrap_err(), "takes 1 inputs, got 0");
    let tags = LoadOptions { tags: Some(vec!["train".into()]), ..Default::default() };
    let e = SavedModel::load_with(scratch.path("out"), tags).err().unwrap();
    assert!(e.message().contains("{train}") && e.message().contains("{serve}"), "{e}");
    assert_eq!(SavedModel::load(scratch.path("none")).err().unwrap().code(), Code::NotFound);
}

#[test]
fn one_signature_is_run_by_many_threads_and_outlives_its_model() {
    let scratch = Scratch::new();
    export(&scratch, &scratch.path("out"));
    let times = SavedModel::load(scratch.path("out")).unwrap().signature("times").unwrap();
    std::thread::scope(|threads| {
        for t in 0..8 {
            let times = &times;
            threads.spawn(move || {
                for i in 0..200 {
                    let n = (t * 1000 + i) as f32;
                    let found = times.run([("x", [[n, n]])]).unwrap();
                    assert_eq!(found["y"].as_slice::<f32>().unwrap(), [2.0 * n, 3.0 * n]);
                }
            });
        }
    });
}

#[test]
fn an_export_is_whole_or_not_there() {
    let scratch = Scratch::new();
    let g = Scope::new();
    let v = g.variable("v", &g.constant(1f32));
    let session = Session::new(&g).unwrap();
    let builder = SavedModelBuilder::new(&g).signature("serving_default", &[], &[("v", &v.value)]);
    // The variable has no value yet.
    assert!(builder.save(&session, &scratch.path("out")).is_err());
    assert_eq!(std::fs::read_dir(scratch.root()).unwrap().count(), 0);
    session.run(&g.init(), &[]).unwrap();
    builder.save(&session, &scratch.path("out")).unwrap();
    let e = builder.save(&session, &scratch.path("out")).unwrap_err();
    assert_eq!(e.code(), Code::AlreadyExists);
    let model = SavedModel::load(scratch.path("out")).unwrap();
    let found = model.serving_default().unwrap().run::<&str, f32>([]).unwrap();
    assert_eq!(found["v"].to_scalar::<f32>().unwrap(), 1.0);
}

#[test]
fn versions_grow_whatever_the_clock_says() {
    let scratch = Scratch::new();
    let first = next_version(scratch.root()).unwrap();
    assert!(first.file_name().unwrap().to_str().unwrap().parse::<u64>().unwrap() > 1_600_000_000);
    std::fs::create_dir(scratch.path("99999999999")).unwrap();
    assert_eq!(next_version(scratch.root()).unwrap(), scratch.path("100000000000"));
}

#[test]
fn an_estimator_is_exported_with_raw_inputs() {
    let scratch = Scratch::new();
    let line = LinearRegressor::new().columns(numeric_columns(["x"]));
    let input =
        |g: &Scope| Input::of(g, [("x", vec![0f32, 1.0])], vec![1f32, 3.0]).with(|d| d.repeat(None).batch(2));
    line.train(input, 20).unwrap();
    let specs = [FeatureSpec::new("x", DataType::Float, &[])];
    let directory = line.export_saved_model(scratch.root(), |g| ServingInput::raw(g, &specs)).unwrap();
    let found = SavedModel::load(directory)
        .unwrap()
        .serving_default()
        .unwrap()
        .run([("x", vec![0.5f32, 2.0])])
        .unwrap();
    let one = |x: f32| {
        let mut all = line.predict(|g| Input::features(g, [("x", vec![x])]).with(|d| d.batch(1))).unwrap();
        all.next().unwrap().unwrap().value().unwrap()
    };
    assert_eq!(found["predictions"].as_slice::<f32>().unwrap(), [one(0.5), one(2.0)]);
}

/// A damaged file is an error, or a model that answers: never a panic.
#[test]
fn damage_is_an_error() {
    let scratch = Scratch::new();
    let g = Scope::new();
    let x = g.placeholder_named("x", DataType::Float, Some(&[-1]));
    let y = g.mul(&x, &g.variable("v", &g.constant(2f32)).value);
    let session = Session::new(&g).unwrap();
    session.run(&g.init(), &[]).unwrap();
    let directory = scratch.path("out");
    let builder = SavedModelBuilder::new(&g).signature("serving_default", &[("x", &x)], &[("y", &y)]);
    builder.save(&session, &directory).unwrap();
    let file = directory.join("saved_model.pb");
    let whole = std::fs::read(&file).unwrap();
    let attempt = |bytes: &[u8]| {
        std::fs::write(&file, bytes).unwrap();
        let model = SavedModel::load(&directory)?;
        model.signature("serving_default")?.run([("x", vec![1f32])])
    };
    for end in (0..whole.len()).step_by(97) {
        assert!(attempt(&whole[..end]).is_err(), "cut at {end}");
    }
    for byte in (0..whole.len()).step_by(41) {
        let mut bytes = whole.clone();
        bytes[byte] ^= 1 << (byte % 8);
        drop(attempt(&bytes));
    }
    assert!(attempt(&whole).is_ok());
    let data = directory.join("variables/variables.data-00000-of-00001");
    std::fs::write(&data, b"").unwrap();
    assert_eq!(attempt(&whole).unwrap_err().code(), Code::DataLoss);
}
