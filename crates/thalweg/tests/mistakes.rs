//! Errors have the line of the program that made them, and a hint.

use std::panic::Location;
use thalweg::data::{Column, CsvOptions, Dataset};
use thalweg::prelude::*;
use thalweg::train::estimator::{DNNClassifier, Input};
use thalweg::train::feature_column::{
    categorical_column_with_vocabulary_file, indicator_column, numeric_column,
};
use thalweg::train::layers::Dense;
use thalweg::train::optimizers::{Adam, GradientDescent, Minimize};
use thalweg::train::saver::Saver;
use thalweg_io::scratch::Scratch;

/// The error is at `line` of this file, with these words.
fn told(e: Error, line: u32, words: &str) {
    let place = e.location().map(|l: &Location<'_>| (l.file().to_string(), l.line()));
    assert_eq!(place, Some((file!().to_string(), line)), "{e}");
    assert!(e.to_string().contains(words), "{e}");
}

#[test]
fn types_that_differ_are_told_with_both_inputs_and_the_cast() {
    let g = Scope::new();
    let _ = &g.constant(1) + &g.constant(2f32);
    let words = "'Const:0' (int32 []) and 'Const_1:0' (float []); cast one of them";
    told(g.check().unwrap_err(), line!() - 2, words);
    let g = Scope::new();
    let _ = Dense::new(1).apply(&g, &g.placeholder(DataType::Int32, &[-1, 4]));
    told(g.check().unwrap_err(), line!() - 1, "a layer needs floats; cast it");
}

#[test]
fn a_value_of_the_wrong_type_or_shape_is_told_where_it_is_fed() {
    let g = Scope::new();
    let x = g.placeholder(DataType::Float, &[2]);
    let session = Session::new(&g).unwrap();
    let e = session.run(&x, &[feed(&x, [1f64, 2.0])]).unwrap_err();
    told(e, line!() - 1, "'Placeholder:0' is float, cannot feed it a double; give it values of float");
    let e = session.run(&x, &[feed(&x, [1f32])]).unwrap_err();
    told(e, line!() - 1, "value of shape [1] for Tensor 'Placeholder:0', which has shape [2]");
}

#[test]
fn gradients_of_tensors_of_another_graph_are_told() {
    let (g, other) = (Scope::new(), Scope::new());
    let (x, y) = (other.constant(1f32), other.constant(2f32));
    let _ = g.gradients(&[&x], &[&y]);
    told(g.check().unwrap_err(), line!() - 1, "'Const:0' belongs to another graph");
}

#[test]
fn shapes_that_do_not_go_together_are_told_with_the_inputs() {
    let g = Scope::new();
    let _ = g.matmul(g.constant([[1f32, 2.0, 3.0]]), g.constant([[1f32, 2.0]]));
    let line = line!() - 1;
    let words = "MatMul of 'Const:0' (float [1,3]) and 'Const_1:0' (float [1,2])";
    told(g.check().unwrap_err(), line, words);
}

#[test]
fn a_variable_that_an_optimizer_made_after_the_initializer_is_told_where_it_was_asked_for() {
    let g = Scope::new();
    let w = g.variable("w", &g.constant(1f32));
    let init = g.init();
    let train = Adam::new(0.1).minimize(&g, &g.square(&w.value), None).unwrap();
    let line = line!() - 1;
    let session = Session::new(&g).unwrap();
    session.run(&init, &[]).unwrap();
    told(session.run(&train, &[]).unwrap_err(), line, "never initialized: run the initializer first");
}

#[test]
fn a_loss_without_variables_and_labels_that_are_no_classes_are_told_at_the_programs_line() {
    let g = Scope::new();
    let e =
        GradientDescent::new(0.1).minimize(&g, &g.square(g.constant(1f32)), None).map(|_| ()).unwrap_err();
    told(e, line!() - 1, "does the loss depend on any trainable variable?");
    let train = |labels: Tensor| {
        let net = DNNClassifier::new(&[2], 3).column(numeric_column("x"));
        let line = line!() - 1;
        let input = |g: &Scope| Input::of(g, [("x", vec![1f32, 2.0])], labels.clone()).with(|d| d.batch(2));
        (net.train(input, 1).map(|_| ()).unwrap_err(), line)
    };
    let (e, line) = train(Tensor::vector(&[0f32, 1.0]).unwrap());
    told(e, line + 2, "a classifier needs integers from 0 to 2; cast them");
    let (e, line) = train(Tensor::vector(&[0, 3]).unwrap());
    told(e, line, "labels must be in 0 ..= 2");
}

#[test]
fn what_is_of_another_graph_is_told_and_not_taken_for_one_of_this() {
    let (g, other) = (Scope::new(), Scope::new());
    let (own, strange) = (g.constant(1), other.constant(2));
    let session = Session::new(&g).unwrap();
    let e = session.run(&strange, &[]).unwrap_err();
    told(e, line!() - 1, "'Const:0' is of another graph than the session");
    let e = session.run(&own, &[feed(&strange, 3)]).unwrap_err();
    told(e, line!() - 1, "'Const:0' is of another graph than the session");
}

#[test]
fn missing_files_are_named_with_what_is_there_instead() {
    let g = Scope::new();
    let lines = Dataset::text_lines(&g, &["nowhere.txt"]).one_shot_iterator(&g).get_next();
    let line = line!() - 1;
    let e = Session::new(&g).unwrap().run(&lines[0], &[]).unwrap_err();
    assert!(
        e.message().starts_with("nowhere.txt: No such file") && e.message().contains("correct the path"),
        "{e}"
    );
    told(e, line, &format!("the folder {} has ", std::env::current_dir().unwrap().display()));
    let g = Scope::new();
    Dataset::idx(&g, "tests/mistake.rs", "labels");
    told(g.check().unwrap_err(), line!() - 1, "did you mean 'mistakes.rs'?");
    let g = Scope::new();
    g.variable("w", &g.constant(1f32));
    let (saver, session) = (Saver::new(&g), Session::new(&g).unwrap());
    let e = saver.restore(&session, std::path::Path::new("nowhere/model.ckpt-1")).unwrap_err();
    assert!(e.message().contains("nowhere; make it, or correct the path"), "{e}");
    told(e, line!() - 2, "latest_checkpoint(folder) finds the newest");
    let column = categorical_column_with_vocabulary_file("colour", "nowhere/colours.txt");
    let line = line!() - 1;
    let net = DNNClassifier::new(&[2], 2).column(indicator_column(column));
    let input = |g: &Scope| Input::of(g, [("colour", vec!["red"])], vec![0]).with(|d| d.batch(1));
    let e = net.train(input, 1).map(|_| ()).unwrap_err();
    told(e, line, "vocabulary file of column 'colour': nowhere/colours.txt: No such file");
}

/// A program that continues after an error, as `mnist_cnn` with a missing folder does, panicked with "index out of bounds".
#[test]
fn outputs_that_a_mistake_left_unmade_are_told_as_the_mistake() {
    let g = Scope::new();
    let next = Dataset::idx(&g, "nowhere/images", "nowhere/labels").batch(2).one_shot_iterator(&g).get_next();
    let line = line!() - 1;
    let x = g.cast(&next[0], DataType::Float);
    let loss = g.reduce_mean(Dense::new(1).apply(&g, &x), &[]);
    let e = Adam::new(0.1).minimize(&g, &loss, None).map(|_| ()).unwrap_err();
    told(e, line, "nowhere/images: No such file");
    told(Session::new(&g).map(|_| ()).unwrap_err(), line, "nowhere/images: No such file");
    let g = Scope::new();
    let pred = &g.constant(1) + &g.constant(2f32);
    let line = line!() - 1;
    let chosen = g.cond(&pred, &[], |b, _| vec![b.constant(1f32)], |b, _| vec![b.constant(2f32)]);
    let left = g.while_loop(&[&pred], 1, |_, v| v[0].clone(), |_, v| vec![v[0].clone()]);
    let parts = g.op("Split").input(g.constant(0)).input(&pred).attr("num_split", 2i64).outputs();
    let _ = &chosen[0] + &(&left[0] + &parts[1]);
    told(g.check().unwrap_err(), line, "cast one of them");
}

#[test]
fn an_output_that_a_node_does_not_have_is_told_where_it_is_asked_for() {
    let g = Scope::new();
    let parts =
        g.op("Split").input(g.constant(0)).input(g.constant([1f32, 2.0])).attr("num_split", 2i64).outputs();
    let _ = &parts[1] + &parts[2];
    told(g.check().unwrap_err(), line!() - 1, "there is no output 2: there are 2");
}

#[test]
fn a_table_with_a_header_or_a_bad_cell_is_told_with_file_and_line() {
    let dir = Scratch::new();
    let table = |text: &str, header: bool| {
        std::fs::write(dir.path("flowers.csv"), text).unwrap();
        let g = Scope::new();
        let columns = vec![Column::required(DataType::Float), Column::or(0i32)];
        let options = CsvOptions { header, ..Default::default() };
        let rows = Dataset::csv(&g, &[dir.path("flowers.csv")], columns, options);
        let next = rows.one_shot_iterator(&g).get_next();
        let session = Session::new(&g).unwrap();
        loop {
            match session.run(&next, &[]) {
                Ok(_) => {}
                Err(e) => return e.message().to_string(),
            }
        }
    };
    let path = dir.path("flowers.csv").display().to_string();
    assert_eq!(
        table("length,kind\n1.5,2\n", false),
        format!(
            "{path}, line 1: Field 0 in record is not a valid float: length; if the first line names the columns, set `header`"
        )
    );
    let correct = "; correct the line, or the types and defaults of the columns";
    let bad_cell = table("length,kind\n1.5,2\n\n1.5,two\n", true);
    assert_eq!(bad_cell, format!("{path}, line 4: Field 1 in record is not a valid int32: two{correct}"));
    let too_many = table("length,kind\n1.5,2,3\n", true);
    assert_eq!(too_many, format!("{path}, line 2: Expect 2 fields but have more in record{correct}"));
    let none = table("1.5,2\n,2\n", false);
    assert_eq!(none, format!("{path}, line 2: Field 0 is required but missing in record!{correct}"));
}
