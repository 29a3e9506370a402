use thalweg::data::{Dataset, Column, CsvOptions};
use thalweg::prelude::*;
use thalweg::train::estimator::*;
use thalweg::train::feature_column::*;
use thalweg::train::layers::Dense;
use thalweg::train::optimizers::{Adam, GradientDescent, Minimize};
use thalweg::train::losses;
use thalweg::train::saver::Saver;
use thalweg::data::iris::{self, FEATURES};

fn try_it(name: &str, f: impl FnOnce() -> Result<()>) {
    println!("=== {name}");
    match f() { Ok(()) => println!("!!! no error"), Err(e) => println!("{e}") }
}

fn main() {
    try_it("wrong dtype: add i32 f32", || {
        let g = Scope::new();
        let a = g.add(&g.constant(1), &g.constant(2.0f32));
        Session::new(&g)?.run(&a, &[])?; Ok(())
    });
    try_it("wrong dtype: operator", || {
        let g = Scope::new();
        let a = &g.constant(1) + &g.constant(2.0f32);
        Session::new(&g)?.run(&a, &[])?; Ok(())
    });
    try_it("wrong dtype: feed f64 for f32", || {
        let g = Scope::new();
        let x = g.placeholder(DataType::Float, &[2]);
        let y = &x * 2f32;
        Session::new(&g)?.run(&y, &[feed(&x, [1f64, 2.0])])?; Ok(())
    });
    try_it("wrong shape fed", || {
        let g = Scope::new();
        let x = g.placeholder(DataType::Float, &[2]);
        let y = &x * 2f32;
        Session::new(&g)?.run(&y, &[feed(&x, [1f32, 2.0, 3.0])])?; Ok(())
    });
    try_it("not fed", || {
        let g = Scope::new();
        let x = g.placeholder(DataType::Float, &[2]);
        let y = &x * 2f32;
        Session::new(&g)?.run(&y, &[])?; Ok(())
    });
    try_it("uninitialised variable", || {
        let g = Scope::new();
        let w = g.variable("w", &g.constant(1f32));
        let y = &w.value * 2f32;
        Session::new(&g)?.run(&y, &[])?; Ok(())
    });
    try_it("uninitialised variable: slot after init", || {
        let g = Scope::new();
        let w = g.variable("w", &g.constant(1f32));
        let init = g.init();
        let loss = g.square(&w.value);
        let train = Adam::new(0.1).minimize(&g, &loss, None)?;
        let s = Session::new(&g)?;
        s.run(&init, &[])?;
        s.run(&train, &[])?; Ok(())
    });
    try_it("shape mismatch: matmul", || {
        let g = Scope::new();
        let x = g.constant([[1f32, 2.0, 3.0]]);
        let y = g.matmul(&x, &g.constant([[1f32, 2.0]]));
        Session::new(&g)?.run(&y, &[])?; Ok(())
    });
    try_it("shape mismatch at run time", || {
        let g = Scope::new();
        let x = g.placeholder_named("x", DataType::Float, None);
        let w = g.variable("w", &g.constant([[1f32, 2.0]]));
        let y = g.matmul(&x, &w.value);
        let s = Session::new(&g)?;
        s.run(&g.init(), &[])?;
        s.run(&y, &[feed(&x, [[1f32, 2.0, 3.0]])])?; Ok(())
    });
    try_it("shape mismatch: labels", || {
        let g = Scope::new();
        let x = g.placeholder(DataType::Float, &[-1, 4]);
        let y = g.placeholder(DataType::Int32, &[-1, 1]);
        let logits = Dense::new(3).apply(&g, &x);
        let loss = losses::sparse_softmax_cross_entropy(&g, &y, &logits, None);
        let _ = GradientDescent::new(0.1).minimize(&g, &loss, None)?;
        Session::new(&g)?; Ok(())
    });
    try_it("shape mismatch: mse", || {
        let g = Scope::new();
        let x = g.placeholder(DataType::Float, &[-1, 4]);
        let y = g.placeholder(DataType::Float, &[-1]);
        let out = Dense::new(1).apply(&g, &x);
        let loss = losses::mean_squared_error(&g, &y, &out, None);
        let _ = GradientDescent::new(0.1).minimize(&g, &loss, None)?;
        Session::new(&g)?; Ok(())
    });
    try_it("dense on unknown width", || {
        let g = Scope::new();
        let x = g.placeholder_named("x", DataType::Float, None);
        let _ = Dense::new(1).apply(&g, &x);
        Session::new(&g)?; Ok(())
    });
    try_it("dense on ints", || {
        let g = Scope::new();
        let x = g.placeholder(DataType::Int32, &[-1, 4]);
        let _ = Dense::new(1).apply(&g, &x);
        Session::new(&g)?; Ok(())
    });
    try_it("loss without variables", || {
        let g = Scope::new();
        let loss = g.square(&g.constant(1f32));
        let _ = GradientDescent::new(0.1).minimize(&g, &loss, None)?; Ok(())
    });
    let (train, _) = iris::load();
    try_it("unknown column", || {
        let c = DNNClassifier::new(&[10], 3).columns(numeric_columns(["petal_lenght"]));
        c.train(|g| Input::of(g, train.features(), train.kinds.clone()).with(|d| d.batch(10)), 5)?; Ok(())
    });
    try_it("no batch", || {
        let c = DNNClassifier::new(&[10], 3).columns(numeric_columns(FEATURES));
        c.train(|g| Input::of(g, train.features(), train.kinds.clone()), 5)?; Ok(())
    });
    try_it("string column as numeric", || {
        let c = DNNClassifier::new(&[10], 3).column(numeric_column("colour"));
        c.train(|g| Input::of(g, [("colour", vec!["a", "b"])], vec![0, 1]).with(|d| d.batch(2)), 5)?; Ok(())
    });
    try_it("float labels", || {
        let c = DNNClassifier::new(&[10], 3).column(numeric_column("x"));
        c.train(|g| Input::of(g, [("x", vec![1f32, 2.0])], vec![0f32, 1.0]).with(|d| d.batch(2)), 5)?; Ok(())
    });
    try_it("label too large", || {
        let c = DNNClassifier::new(&[10], 3).column(numeric_column("x"));
        c.train(|g| Input::of(g, [("x", vec![1f32, 2.0])], vec![0, 3]).with(|d| d.batch(2)), 5)?; Ok(())
    });
    try_it("features of different length", || {
        let c = DNNClassifier::new(&[10], 3).column(numeric_column("x"));
        c.train(|g| Input::of(g, [("x", vec![1f32, 2.0])], vec![0, 1, 2]).with(|d| d.batch(2)), 5)?; Ok(())
    });
    try_it("evaluate before training", || {
        let c = DNNClassifier::new(&[10], 3).columns(numeric_columns(FEATURES));
        c.evaluate(|g| Input::of(g, train.features(), train.kinds.clone()).with(|d| d.batch(10)))?; Ok(())
    });
    try_it("missing csv file", || {
        let g = Scope::new();
        let d = Dataset::csv(&g, &["nowhere.csv"], vec![Column::required(DataType::Float)], CsvOptions::default());
        let next = d.batch(2).one_shot_iterator(&g).get_next();
        Session::new(&g)?.run(&next[0], &[])?; Ok(())
    });
    try_it("missing tfrecord", || {
        let g = Scope::new();
        let next = Dataset::tf_records(&g, &["nowhere.tfrecord"]).one_shot_iterator(&g).get_next();
        Session::new(&g)?.run(&next[0], &[])?; Ok(())
    });
    try_it("missing text", || {
        let g = Scope::new();
        let next = Dataset::text_lines(&g, &["nowhere.txt"]).one_shot_iterator(&g).get_next();
        Session::new(&g)?.run(&next[0], &[])?; Ok(())
    });
    try_it("missing idx", || {
        let g = Scope::new();
        let next = Dataset::idx(&g, "a-images", "a-labels").one_shot_iterator(&g).get_next();
        Session::new(&g)?.run(&next[0], &[])?; Ok(())
    });
    try_it("missing checkpoint", || {
        let g = Scope::new();
        let _w = g.variable("w", &g.constant(1f32));
        let saver = Saver::new(&g);
        let s = Session::new(&g)?;
        saver.restore(&s, std::path::Path::new("/tmp/nowhere/model.ckpt-1"))
    });
    try_it("missing vocabulary file", || {
        let c = DNNClassifier::new(&[10], 3).column(indicator_column(categorical_column_with_vocabulary_file("x", "words.txt")));
        c.train(|g| Input::of(g, [("x", vec!["a", "b"])], vec![0, 1]).with(|d| d.batch(2)), 5)?; Ok(())
    });
    try_it("variable twice", || {
        let g = Scope::new();
        let s = g.variable_scope("a");
        s.get_variable("w", &[2], &thalweg::train::initializers::Zeros);
        g.variable_scope("a").get_variable("w", &[2], &thalweg::train::initializers::Zeros);
        Session::new(&g)?; Ok(())
    });
    try_it("op after session", || {
        let g = Scope::new();
        let s = Session::new(&g)?;
        let h = Scope::new();
        let a = h.constant(1);
        s.run(&a, &[])?; Ok(())
    });
    try_it("fetch wrong type", || {
        let g = Scope::new();
        let a = g.constant(1);
        let s = Session::new(&g)?;
        s.run(&a, &[])?.to_scalar::<f32>()?; Ok(())
    });
}
