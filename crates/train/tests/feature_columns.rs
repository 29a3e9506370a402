//! Feature columns: values of TensorFlow 2.21 (tests/interop/test_feature_columns.py compares all kinds), and errors.

use thalweg_client::{Code, Error, Output, Scope, Session};
use thalweg_io::scratch::Scratch;
use thalweg_train::feature_column::*;
use thalweg_train::tables_initializer;

fn features(g: &Scope) -> Features {
    let colours = vec!["red", "green", "", "blue", "red", "ultraviolet"];
    Features::new()
        .with("age", &g.constant([3f32, 18.0, 70.5]))
        .with("size", &g.constant([[1i32, 2], [30, 40], [500, 600]]))
        .with("colour", &g.constant(vec!["green", "pink", ""]))
        .with("colours", &g.reshape(g.constant(colours), &[3, 2]))
        .with("number", &g.constant([7i64, -1, 1234567]))
        .with("code", &g.constant([2i32, 5, 0]))
}

fn run(g: &Scope, x: &Output) -> Vec<f32> {
    let session = Session::new(g).unwrap();
    session.run(&g.init(), &[]).unwrap();
    session.run(&tables_initializer(g), &[]).unwrap();
    session.run(x, &[]).unwrap().as_slice::<f32>().unwrap().to_vec()
}

/// The nonzero elements of each row, with their indices.
fn ids(column: impl Into<FeatureColumn>) -> Vec<Vec<(usize, f32)>> {
    let g = Scope::new();
    let x = input_layer(&g, &features(&g), &[column.into()]).unwrap();
    let found = run(&g, &x);
    let row = |row: &[f32]| row.iter().copied().enumerate().filter(|(_, v)| *v != 0.0).collect();
    found.chunks_exact(found.len() / 3).map(row).collect()
}

fn failure(column: impl Into<FeatureColumn>) -> Error {
    let g = Scope::new();
    input_layer(&g, &features(&g), &[column.into()]).map(|_| ()).unwrap_err()
}

#[test]
fn hash_buckets_are_tensorflows() {
    let hashed = indicator_column(categorical_column_with_hash_bucket("colours", 11));
    assert_eq!(ids(hashed), [vec![(1, 1.0), (7, 1.0)], vec![(2, 1.0)], vec![(0, 1.0), (7, 1.0)]]);
    let numbers = indicator_column(categorical_column_with_hash_bucket("number", 9));
    assert_eq!(ids(numbers), [vec![(7, 1.0)], vec![], vec![(4, 1.0)]]);
}

#[test]
fn crosses_hash_as_tensorflows_do() {
    assert_eq!(
        ids(indicator_column(crossed_column(["colour", "code"], 13))),
        [vec![(11, 1.0)], vec![(3, 1.0)], vec![(5, 1.0)]]
    );
    let ages = bucketized_column(numeric_column("age"), &[10.0, 18.0, 65.0]);
    let sizes = bucketized_column(numeric_column("size").shape(&[2]), &[2.0, 100.0]);
    assert_eq!(
        ids(indicator_column(crossed_column(["colours"], 17).with(ages).with(sizes))),
        [
            vec![(3, 1.0), (10, 1.0), (15, 2.0)],
            vec![(2, 1.0), (4, 1.0), (6, 1.0), (15, 1.0)],
            vec![(1, 1.0), (2, 1.0), (4, 1.0), (5, 1.0)]
        ]
    );
    let nested = crossed_column(["number"], 19).with(crossed_column(["colour", "code"], 5)).hash_key(9);
    assert_eq!(ids(indicator_column(nested)), [vec![(12, 1.0)], vec![(14, 1.0)], vec![(12, 1.0)]]);
}

#[test]
fn words_outside_of_the_vocabulary_are_missing_or_hashed_after_it() {
    let list = || categorical_column_with_vocabulary_list("colours", ["red", "green", "blue"]);
    assert_eq!(ids(indicator_column(list())), [vec![(0, 1.0), (1, 1.0)], vec![(2, 1.0)], vec![(0, 1.0)]]);
    assert_eq!(ids(indicator_column(list().num_oov_buckets(4)))[2], [(0, 1.0), (4, 1.0)]);
}

#[test]
fn columns_lie_in_the_order_of_their_names() {
    let g = Scope::new();
    let columns = [numeric_column("size").shape(&[2]).into(), numeric_column("age").into()];
    let x = input_layer(&g, &features(&g), &columns).unwrap();
    assert_eq!(run(&g, &x), [3.0, 1.0, 2.0, 18.0, 30.0, 40.0, 70.5, 500.0, 600.0]);
}

#[test]
fn an_example_without_ids_has_an_embedding_of_zeros_and_no_share_in_its_gradient() {
    let g = Scope::new();
    let kinds = categorical_column_with_vocabulary_list("colour", ["red", "green"]);
    let column = embedding_column(kinds, 2).initializer(thalweg_train::initializers::Constant(3.0));
    let x = input_layer(&g, &features(&g), &[column.into()]).unwrap();
    assert_eq!(run(&g, &x), [3.0, 3.0, 0.0, 0.0, 0.0, 0.0]);
    let table = g.find_variable("input_layer/colour_embedding/embedding_weights").unwrap();
    let gradients = g.gradients(&[&x], &[&table.handle]);
    let dense = gradients[0].dense(&g).unwrap();
    assert_eq!(run(&g, &dense), [0.0, 0.0, 1.0, 1.0]);
}

#[test]
fn a_missing_feature_is_told_with_those_there_are_and_the_columns_place() {
    let (line, column) = (line!(), numeric_column("hight"));
    let e = failure(column);
    assert_eq!(e.code(), Code::InvalidArgument);
    assert!(e.message().contains("no feature 'hight'") && e.message().contains("age, code, colour"), "{e}");
    assert_eq!(e.location().unwrap().line(), line);
}

#[test]
fn a_feature_of_the_wrong_type_is_told_with_what_to_do() {
    let told = |e: Error, words: &[&str]| {
        assert!(words.iter().all(|w| e.message().contains(w)), "{e}");
        assert!(e.location().is_some_and(|l| l.file().ends_with("feature_columns.rs")), "{e}");
    };
    told(failure(numeric_column("colour")), &["'colour' is string", "categorical column"]);
    let hashed = categorical_column_with_hash_bucket("age", 5);
    told(failure(indicator_column(hashed)), &["'age' is float", "bucketized_column"]);
    let numbers = categorical_column_with_vocabulary_list("colour", [1i64, 2]);
    told(failure(indicator_column(numbers)), &["'colour'", "vocabulary of integers"]);
    let identity = categorical_column_with_identity("colour", 5);
    told(failure(indicator_column(identity)), &["'colour' is string", "needs integers"]);
    told(
        failure(indicator_column(crossed_column(["age", "code"], 5))),
        &["'age' is float", "bucketized_column"],
    );
    told(failure(numeric_column("size")), &["2 numbers", "shape(&[2])"]);
}

#[test]
fn weights_are_numbers_for_each_id_and_crosses_have_none() {
    let weighted = |key| weighted_categorical_column(categorical_column_with_identity("code", 9), key);
    let e = failure(indicator_column(weighted("wieght")));
    assert!(e.to_string().contains("there is no feature 'wieght'"), "{e}");
    assert!(e.to_string().contains("tests/feature_columns.rs"), "{e}");
    let e = failure(indicator_column(weighted("colour")));
    assert!(e.to_string().contains("name a feature of numbers"), "{e}");
    let e = failure(indicator_column(crossed_column(["colour"], 5).with(weighted("age"))));
    assert!(e.to_string().contains("cross the column that it weighs"), "{e}");
    assert_eq!(ids(indicator_column(weighted("age"))), [vec![(2, 3.0)], vec![(5, 18.0)], vec![(0, 70.5)]]);
}

#[test]
fn columns_that_share_a_table_have_the_same_number_of_ids() {
    let hashed = |key, size| FeatureColumn::from(categorical_column_with_hash_bucket(key, size));
    let layer = |columns: SharedEmbeddingColumns| {
        let g = Scope::new();
        let made = input_layer(&g, &features(&g), &columns.into_iter().collect::<Vec<_>>());
        made.map(|_| g.trainable_variables().len())
    };
    let shared = shared_embedding_columns([hashed("colour", 7), hashed("colours", 7)], 3);
    assert_eq!(layer(shared).unwrap(), 1);
    let e = layer(shared_embedding_columns([hashed("colour", 7), hashed("colours", 8)], 3)).unwrap_err();
    assert!(e.to_string().contains("the same number of ids"), "{e}");
    assert!(e.to_string().contains("tests/feature_columns.rs"), "{e}");
    let e = layer(shared_embedding_columns([numeric_column("age").into()], 3)).unwrap_err();
    assert!(e.to_string().contains("share the embedding of categorical columns"), "{e}");
}

#[test]
fn settings_that_cannot_be_are_told() {
    let told = |e: Error, words: &str| assert!(e.message().contains(words) && e.location().is_some(), "{e}");
    told(failure(categorical_column_with_identity("code", 5)), "wrap it in indicator_column");
    told(failure(bucketized_column(numeric_column("age"), &[2.0, 1.0])), "each larger than the last");
    let list = |words: &[&'static str]| categorical_column_with_vocabulary_list("colour", words.to_vec());
    told(failure(indicator_column(list(&["a", "b", "a"]))), "twice");
    told(failure(indicator_column(list(&[]))), "empty vocabulary");
    told(failure(indicator_column(list(&["a"]).default_value(0).num_oov_buckets(2))), "both");
    told(failure(indicator_column(list(&["a"]).default_value(7))), "not in [-1, 1)");
    told(failure(indicator_column(crossed_column(["colour"], 5))), "at least two");
    let g = Scope::new();
    let twice = [numeric_column("age").into(), numeric_column("age").into()];
    told(input_layer(&g, &features(&g), &twice).map(|_| ()).unwrap_err(), "the name 'age'");
}

#[test]
fn a_vocabulary_file_is_counted_and_a_missing_one_is_named() {
    let dir = Scratch::new();
    let path = dir.path("colours.txt");
    let column = || categorical_column_with_vocabulary_file("colours", &path);
    let e = failure(indicator_column(column()));
    assert_eq!(e.code(), Code::NotFound);
    assert!(e.message().contains("colours.txt") && e.message().contains("'colours'"), "{e}");
    std::fs::write(&path, "blue\nred\ngreen\n").unwrap();
    assert_eq!(ids(indicator_column(column())), [vec![(1, 1.0), (2, 1.0)], vec![(0, 1.0)], vec![(1, 1.0)]]);
    let e = failure(indicator_column(column().vocabulary_size(4)));
    assert!(e.message().contains("wants 4 lines") && e.message().contains("which has 3"), "{e}");
}

#[test]
fn examples_that_are_not_batched_are_told() {
    let g = Scope::new();
    let features = Features::new().with("age", &g.constant(3f32));
    let e = input_layer(&g, &features, &[numeric_column("age").into()]).map(|_| ()).unwrap_err();
    assert!(e.message().contains("is a scalar") && e.message().contains(".batch("), "{e}");
}
