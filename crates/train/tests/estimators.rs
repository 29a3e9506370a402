//! Estimators, from input function to result, and error reporting.

use std::cell::RefCell;
use thalweg_client::data::{Column, CsvOptions, Dataset};
use thalweg_client::{Code, DataType, Error, IntoTensor, Result, Scope};
use thalweg_io::checkpoint::latest_checkpoint;
use thalweg_io::event::EventReader;
use thalweg_io::scratch::Scratch;
use thalweg_proto::event::What;
use thalweg_train::estimator::*;
use thalweg_train::feature_column::*;
use thalweg_train::hooks::*;
use thalweg_train::optimizers::{Adam, GradientDescent};

/// Two clouds of points, one above the line x + y = 1 and one below.
fn points(n: usize) -> (Vec<f32>, Vec<f32>, Vec<i32>) {
    let x: Vec<f32> = (0..n).map(|i| (i * 37 % 101) as f32 / 101.0).collect();
    let y: Vec<f32> = (0..n).map(|i| (i * 53 % 97) as f32 / 97.0).collect();
    let above = x.iter().zip(&y).map(|(x, y)| i32::from(x + y > 1.0)).collect();
    (x, y, above)
}

fn clouds(g: &Scope) -> Input {
    let (x, y, above) = points(200);
    Input::of(g, [("x", x), ("y", y)], above)
}

fn forever(g: &Scope) -> Input {
    clouds(g).with(|d| d.shuffle(200, None).repeat(None).batch(50))
}

fn once(g: &Scope) -> Input {
    clouds(g).with(|d| d.batch(64))
}

fn net() -> DNNClassifier {
    DNNClassifier::new(&[8], 2).columns(numeric_columns(["x", "y"])).optimizer(Adam::new(0.02)).seed(3)
}

#[test]
fn two_classes_are_told_apart_and_measured() {
    let net = net();
    let trained = net.train(forever, 200).unwrap();
    assert_eq!(trained.global_step, 200);
    let found = net.evaluate(once).unwrap();
    assert!(found["accuracy"] > 0.95 && found["auc"] > 0.99, "{found}");
    assert!(found["precision"] > 0.9 && found["recall"] > 0.9, "{found}");
    let share = points(200).2.iter().sum::<i32>() as f32 / 200.0;
    assert!((found["label/mean"] - share).abs() < 1e-6 && found["accuracy_baseline"] >= 0.5, "{found}");
    // 200 examples in batches of 64: the loss is the mean of four sums.
    assert!((found["average_loss"] * 50.0 - found["loss"]).abs() < 1e-3, "{found}");
    assert_eq!(found.global_step, 200);
    let said: Vec<Prediction> = net.predict(once).unwrap().collect::<Result<_>>().unwrap();
    assert_eq!(said.len(), 200);
    let p = &said[7];
    let likely = p.probabilities().unwrap();
    assert!((likely[0] + likely[1] - 1.0).abs() < 1e-6 && likely[p.class_id().unwrap()] >= 0.5);
    assert_eq!(p.class().unwrap(), p.class_id().unwrap().to_string());
    assert!(
        p.get("nothing")
            .unwrap_err()
            .message()
            .contains("class_ids, classes, logistic, logits, probabilities")
    );
}

#[test]
fn labels_may_be_words() {
    let input = |g: &Scope| {
        let (x, y, above) = points(60);
        let words: Vec<&str> = above.iter().map(|a| if *a == 1 { "above" } else { "below" }).collect();
        Input::of(g, [("x", x), ("y", y)], words).with(|d| d.batch(60))
    };
    let model =
        LinearClassifier::new(2).columns(numeric_columns(["x", "y"])).label_vocabulary(["below", "above"]);
    model.train(|g| input(g).with(|d| d.repeat(None)), 300).unwrap();
    assert!(model.evaluate(input).unwrap()["accuracy"] > 0.9);
    let first = model.predict(input).unwrap().next().unwrap().unwrap();
    assert!(["below", "above"].contains(&first.class().unwrap().as_str()));
    let other =
        LinearClassifier::new(2).columns(numeric_columns(["x", "y"])).label_vocabulary(["below", "beside"]);
    let e = other.train(input, 1).unwrap_err();
    assert!(e.message().contains("must be in the label vocabulary") && e.message().contains("above"), "{e}");
}

#[test]
fn regressors_find_lines_and_planes() {
    let input = |g: &Scope| {
        let (x, y, _) = points(100);
        let z: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 2.0 * x - 3.0 * y + 0.5).collect();
        Input::of(g, [("x", x), ("y", y)], z).with(|d| d.batch(100))
    };
    let line =
        LinearRegressor::new().columns(numeric_columns(["x", "y"])).optimizer(GradientDescent::new(0.005));
    line.train(|g| input(g).with(|d| d.repeat(None)), 400).unwrap();
    let found = line.evaluate(input).unwrap();
    assert!(found["average_loss"] < 1e-3, "{found}");
    assert!((found["label/mean"] - found["prediction/mean"]).abs() < 1e-2, "{found}");
    let net =
        DNNRegressor::new(&[16]).columns(numeric_columns(["x", "y"])).optimizer(Adam::new(0.02)).seed(1);
    net.train(|g| input(g).with(|d| d.repeat(None)), 400).unwrap();
    assert!(net.evaluate(input).unwrap()["average_loss"] < 1e-2);
    assert!(net.predict(input).unwrap().next().unwrap().unwrap().value().unwrap().is_finite());
}

#[test]
fn every_kind_of_column_can_be_learned_from() {
    let words = ["red", "green", "blue", "black"];
    let input = |g: &Scope| {
        let colour: Vec<&str> = (0..80).map(|i| words[i % 4]).collect();
        let code: Vec<i64> = (0..80).map(|i| i / 4 % 5).collect();
        let even: Vec<i64> = (0..80).map(|i| (i % 4 + i / 4 % 5 + 1) % 2).collect();
        let features = [("colour", colour.into_tensor().unwrap()), ("code", code.into_tensor().unwrap())];
        Input::of(g, features, even).with(|d| d.batch(80))
    };
    // The parity of the sum depends on the pair alone.
    let crossed = LinearClassifier::new(2).column(crossed_column(["colour", "code"], 200));
    crossed.train(|g| input(g).with(|d| d.repeat(None)), 100).unwrap();
    assert_eq!(crossed.evaluate(input).unwrap()["accuracy"], 1.0);
    let apart = LinearClassifier::new(2)
        .column(categorical_column_with_hash_bucket("colour", 50))
        .column(categorical_column_with_identity("code", 5));
    apart.train(|g| input(g).with(|d| d.repeat(None)), 100).unwrap();
    assert!(apart.evaluate(input).unwrap()["accuracy"] < 0.7);
    let net = DNNClassifier::new(&[16], 2)
        .column(embedding_column(categorical_column_with_vocabulary_list("colour", words), 4))
        .column(indicator_column(categorical_column_with_identity("code", 5)))
        .optimizer(Adam::new(0.05))
        .seed(1);
    net.train(|g| input(g).with(|d| d.repeat(None)), 300).unwrap();
    assert_eq!(net.evaluate(input).unwrap()["accuracy"], 1.0);
}

fn weights(dir: &std::path::Path) -> Vec<f32> {
    let newest = latest_checkpoint(dir).unwrap().unwrap();
    let mut reader = thalweg_io::bundle::BundleReader::open(&newest).unwrap();
    reader.read("dnn/hiddenlayer_0/kernel").unwrap().as_slice::<f32>().unwrap().to_vec()
}

#[test]
fn training_goes_on_from_the_newest_whole_checkpoint() {
    let dir = Scratch::new();
    // One batch holds all examples, so the position in the input does not matter.
    let all = |g: &Scope| clouds(g).with(|d| d.repeat(None).batch(200));
    let in_folder = |name: &str| net().model_dir(dir.path(name)).save_checkpoints(Every::Steps(10));
    in_folder("whole").train(all, 30).unwrap();
    assert_eq!(in_folder("parts").train(all, 20).unwrap().global_step, 20);
    let parts = dir.path("parts");
    assert!(parts.join("model.ckpt-0.index").exists() && parts.join("model.ckpt-10.index").exists());
    // A crash during a write: the newest checkpoint is truncated.
    let data = parts.join("model.ckpt-20.data-00000-of-00001");
    let bytes = std::fs::read(&data).unwrap();
    std::fs::write(&data, &bytes[..bytes.len() / 2]).unwrap();
    assert_eq!(in_folder("parts").train(all, 5).unwrap().global_step, 15);
    assert_eq!(in_folder("parts").train_until(all, 30).unwrap().global_step, 30);
    assert_eq!(in_folder("parts").train_until(all, 30).unwrap().loss, None);
    assert_eq!(weights(&dir.path("whole")), weights(&parts));
}

#[test]
fn event_files_hold_the_loss_the_graph_and_the_evaluations() {
    let dir = Scratch::new();
    let net = net().model_dir(dir.root()).save_summary_steps(10);
    net.train(forever, 25).unwrap();
    net.evaluate(once).unwrap();
    let events = |dir: &std::path::Path| -> Vec<(i64, What)> {
        let is_events = |p: &std::path::PathBuf| p.to_string_lossy().contains("tfevents");
        let files = std::fs::read_dir(dir).unwrap().map(|f| f.unwrap().path()).filter(is_events);
        let all = files.flat_map(|f| EventReader::open(&f).unwrap());
        all.map(|e| e.unwrap()).filter_map(|e| Some((e.step, e.what?))).collect()
    };
    let tags = |all: &[(i64, What)], tag: &str| -> Vec<i64> {
        let has = |what: &What| matches!(what, What::Summary(s) if s.value.iter().any(|v| v.tag == tag));
        all.iter().filter(|(_, what)| has(what)).map(|(step, _)| *step).collect()
    };
    let training = events(dir.root());
    assert_eq!(tags(&training, "loss"), [1, 11, 21]);
    assert_eq!(tags(&training, "dnn/hiddenlayer_0_summary/fraction_of_zero_values"), [1, 11, 21]);
    assert_eq!(tags(&training, "dnn/hiddenlayer_0_summary/activation"), [1, 11, 21]);
    assert_eq!(tags(&training, "global_step/sec"), [10, 20]);
    assert!(training.iter().any(|(_, what)| matches!(what, What::GraphDef(_))));
    assert_eq!(tags(&events(&net.eval_dir(None)), "accuracy"), [25]);
}

#[test]
fn early_stopping_ends_training_when_evaluations_get_no_better() {
    let dir = Scratch::new();
    // A learning rate of zero: nothing improves.
    let net = net().model_dir(dir.root()).optimizer(GradientDescent::new(0.0));
    let eval_dir = net.eval_dir(None);
    let spec =
        TrainSpec::new(forever, 1000).hook(|| EarlyStoppingHook::no_increase(&eval_dir, "accuracy", 20));
    let found = net.train_and_evaluate(&spec, &EvalSpec::new(once, 10)).unwrap();
    assert_eq!(found.global_step, 30);
    let wrong = TrainSpec::new(forever, 1000).hook(|| EarlyStoppingHook::no_decrease(&eval_dir, "los", 20));
    let e = net.train_and_evaluate(&wrong, &EvalSpec::new(once, 10)).unwrap_err();
    assert!(e.message().contains("'los'") && e.message().contains("accuracy"), "{e}");
}

#[test]
fn training_tells_its_loss() {
    let lines = RefCell::new(Vec::new());
    let model = Estimator::with_model_fn(|g, features, labels, _| {
        let labels = labels.ok_or_else(|| Error::new(Code::InvalidArgument, "no labels"))?;
        let w = g.get_variable("w", &[], &thalweg_train::initializers::Zeros);
        let y = features.get("x")? * &w.value;
        let loss = g.reduce_mean(g.square(&(&y - labels)), &[]);
        let step = thalweg_train::get_or_create_global_step(g);
        let train =
            thalweg_train::optimizers::Minimize::minimize(&GradientDescent::new(0.1), g, &loss, Some(&step))?;
        Ok(EstimatorSpec::train(&loss, &train).hook(Counted(0)))
    });
    let input = |g: &Scope| {
        Input::of(g, [("x", vec![1f32, 2.0])], vec![2f32, 4.0]).with(|d| d.repeat(Some(5)).batch(2))
    };
    struct Logged<'a>(&'a RefCell<Vec<i64>>);
    impl Hook for Logged<'_> {
        fn after_run(&mut self, run: &mut RunContext<'_>, _: &[thalweg_client::Tensor]) -> Result<()> {
            self.0.borrow_mut().push(run.step);
            Ok(())
        }
    }
    struct Counted(u32);
    impl Hook for Counted {
        fn after_run(&mut self, _: &mut RunContext<'_>, _: &[thalweg_client::Tensor]) -> Result<()> {
            self.0 += 1;
            Ok(())
        }
        fn end(&mut self, run: &mut RunContext<'_>) -> Result<()> {
            assert_eq!(i64::from(self.0), run.step);
            Ok(())
        }
    }
    // The input ends after five batches.
    let trained = model.train_with(input, vec![Box::new(Logged(&lines))]).unwrap();
    assert_eq!((trained.global_step, lines.take()), (5, vec![1, 2, 3, 4, 5]));
    let e = model
        .evaluate(|g| Input::of(g, [("x", vec![1f32; 2])], vec![1f32; 2]).with(|d| d.take(0).batch(1)))
        .unwrap_err();
    assert!(e.message().contains("nothing to evaluate on"), "{e}");
}

#[test]
fn evaluating_without_a_checkpoint_says_to_train_first() {
    let dir = Scratch::new();
    let net = net().model_dir(dir.path("new"));
    for e in [net.evaluate(once).map(|_| ()).unwrap_err(), net.predict(once).map(|_| ()).unwrap_err()] {
        assert_eq!(e.code(), Code::FailedPrecondition);
        assert!(e.message().contains("new") && e.message().contains("train first"), "{e}");
    }
}

#[test]
fn labels_that_are_no_classes_are_told() {
    let labels = |labels: Vec<i32>| {
        move |g: &Scope| Input::of(g, [("x", vec![1f32; 3])], labels.clone()).with(|d| d.batch(3))
    };
    let three = || LinearClassifier::new(3).column(numeric_column("x"));
    three().train(labels(vec![0, 1, 2]), 1).unwrap();
    let e = three().train(labels(vec![0, 3, -1]), 1).unwrap_err();
    assert_eq!(e.code(), Code::InvalidArgument);
    assert!(
        e.message().contains("labels must be in 0 ..= 2, as the classifier has 3 classes, but got")
            && e.message().contains("3 -1"),
        "{e}"
    );
    let floats = |g: &Scope| Input::of(g, [("x", vec![1f32; 3])], vec![1f32; 3]).with(|d| d.batch(3));
    let e = three().train(floats, 1).unwrap_err();
    assert!(e.message().contains("labels are float") && e.message().contains("integers from 0 to 2"), "{e}");
    let none = |g: &Scope| Input::features(g, [("x", vec![1f32; 3])]).with(|d| d.batch(3));
    let e = three().train(none, 1).unwrap_err();
    assert!(e.message().contains("no labels") && e.message().contains("Input::label"), "{e}");
}

#[test]
fn an_input_that_does_not_fit_its_names_is_told_where_it_was_made() {
    let model = LinearRegressor::new().column(numeric_column("x"));
    let e = model.train(|g| Input::new(Dataset::range(g, 0, 3, 1), ["x", "y"]).label("y"), 1).unwrap_err();
    assert!(e.message().contains("1 components, but 2 names"), "{e}");
    assert!(e.location().unwrap().file().ends_with("estimators.rs"), "{e}");
    let e = model.train(|g| Input::new(Dataset::range(g, 0, 3, 1), ["x"]).label("y"), 1).unwrap_err();
    assert!(e.message().contains("'y' is not among"), "{e}");
}

#[test]
fn a_csv_file_is_an_input_and_a_missing_one_is_named() {
    let dir = Scratch::new();
    let path = dir.path("points.csv");
    let input = |g: &Scope| {
        let columns = vec![Column::required(DataType::Float), Column::required(DataType::Float)];
        let options = CsvOptions { header: true, ..Default::default() };
        let lines = Dataset::csv(g, &[&path], columns, options);
        Input::new(lines.repeat(Some(200)).batch(3), ["x", "y"]).label("y")
    };
    let model = || LinearRegressor::new().column(numeric_column("x")).optimizer(GradientDescent::new(0.05));
    let e = model().train(input, 1).unwrap_err();
    assert_eq!(e.code(), Code::NotFound);
    assert!(e.message().contains("points.csv"), "{e}");
    std::fs::write(&path, "x,y\n0,1\n1,3\n2,5\n").unwrap();
    assert!(model().train(input, 200).unwrap().loss.unwrap() < 0.1);
}

#[test]
fn a_folder_of_another_model_is_told() {
    let dir = Scratch::new();
    net().model_dir(dir.root()).train(forever, 1).unwrap();
    let wider = DNNClassifier::new(&[9], 2).columns(numeric_columns(["x", "y"])).model_dir(dir.root());
    let e = wider.train(forever, 1).unwrap_err();
    assert!(e.message().contains("choose another model_dir") && e.message().contains("hiddenlayer_0"), "{e}");
}

#[test]
fn a_loss_that_is_no_number_ends_training_with_advice() {
    let model = LinearRegressor::new().column(numeric_column("x")).optimizer(GradientDescent::new(1e30));
    let input = |g: &Scope| {
        Input::of(g, [("x", vec![1e9f32, 2e9])], vec![1f32, 2.0]).with(|d| d.repeat(None).batch(2))
    };
    let e = model.train(input, 100).unwrap_err();
    assert!(e.message().contains("is NaN at step") && e.message().contains("smaller learning rate"), "{e}");
}

#[test]
fn a_model_function_that_forgets_something_is_told() {
    let model = Estimator::with_model_fn(|_, _, _, _| Ok(EstimatorSpec::default()));
    let e = model.train(forever, 1).unwrap_err();
    assert!(e.message().contains("without train_op") && e.message().contains("Mode::Train"), "{e}");
}

#[test]
fn a_train_op_that_does_not_count_steps_is_told() {
    let model = Estimator::with_model_fn(|g, _, _, _| {
        let w = g.get_variable("w", &[], &thalweg_train::initializers::Ones);
        let loss = g.square(&w.value);
        let rate = GradientDescent::new(0.1);
        Ok(EstimatorSpec::train(
            &loss,
            &thalweg_train::optimizers::Minimize::minimize(&rate, g, &loss, None)?,
        ))
    });
    let e = model.train(forever, 10).unwrap_err();
    assert!(e.message().contains("global step is still 0") && e.message().contains("minimize"), "{e}");
}

#[test]
fn a_wide_and_deep_model_learns_and_says_what_it_lacks() {
    let model = || DNNLinearCombinedClassifier::new(2).seed(3);
    let both = model()
        .linear_columns(numeric_columns(["x"]))
        .linear_optimizer(GradientDescent::new(0.01))
        .dnn_columns(numeric_columns(["x", "y"]))
        .dnn_hidden_units(&[8])
        .dnn_optimizer(Adam::new(0.02));
    assert_eq!(both.train(forever, 200).unwrap().global_step, 200);
    assert!(both.evaluate(once).unwrap()["accuracy"] > 0.95);
    // Either part may be missing.
    let wide = model().linear_columns(numeric_columns(["x", "y"]));
    assert_eq!(wide.train(forever, 3).unwrap().global_step, 3);
    let deep = model().dnn_columns(numeric_columns(["x", "y"])).dnn_hidden_units(&[4]);
    assert_eq!(deep.train(forever, 3).unwrap().global_step, 3);
    let told = |e: Error, what: &str| {
        assert!(e.message().contains(what) && e.location().is_some_and(|l| l.file() == file!()), "{e}");
    };
    told(model().train(forever, 1).unwrap_err(), ".linear_columns(..), .dnn_columns(..) or both");
    let shallow = model().dnn_columns(numeric_columns(["x"]));
    told(shallow.train(forever, 1).unwrap_err(), ".dnn_hidden_units(&[..])");
    told(
        model().dnn_hidden_units(&[3]).linear_columns(numeric_columns(["x"])).train(forever, 1).unwrap_err(),
        ".dnn_columns(..)",
    );
}
