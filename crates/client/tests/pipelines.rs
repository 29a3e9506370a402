//! Pipelines described in Rust, run by a session.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use thalweg_client::data::{Column, CsvOptions, Dataset, Iterator};
use thalweg_client::{Code, DataType, Error, Output, PartialShape, Scope, Session, Tensor, feed};
use thalweg_io::scratch::Scratch;

/// The results of all runs, until the end of the sequence.
fn until_end<T>(session: &Session, x: &Output, read: impl Fn(Tensor) -> T) -> Vec<T> {
    let mut all = Vec::new();
    loop {
        match session.run(x, &[]) {
            Ok(t) => all.push(read(t)),
            Err(e) if e.code() == Code::OutOfRange => return all,
            Err(e) => panic!("{e}"),
        }
    }
}

fn numbers(t: Tensor) -> Vec<i64> {
    t.as_slice::<i64>().unwrap().to_vec()
}

/// All elements of a dataset of int64, through both kinds of iterator.
fn all(g: &Scope, dataset: &Dataset) -> Vec<Vec<i64>> {
    let (once, again) = (dataset.one_shot_iterator(g).get_next(), dataset.initializable_iterator(g));
    let next = again.get_next();
    let session = Session::new(g).unwrap();
    let first = until_end(&session, &once[0], numbers);
    for _ in 0..2 {
        session.run(again.initializer().unwrap(), &[]).unwrap();
        assert_eq!(until_end(&session, &next[0], numbers), first);
    }
    first
}

#[test]
fn a_pipeline_of_all_steps() {
    let g = Scope::new();
    let d = Dataset::range(&g, 0, 20, 1)
        .skip(2)
        .filter(|g, x| g.equal(g.floor_mod(&x[0], g.constant(2i64)), g.constant(0i64)))
        .map(|_, x| vec![&x[0] * 10i64])
        .shard(2, 0)
        .cache()
        .repeat(Some(2))
        .batch(4)
        .prefetch(2);
    assert_eq!(d.elements()[0].1.to_string(), "[?]");
    // 2, 6, 10, 14, 18, tenfold, twice over.
    assert_eq!(all(&g, &d), [vec![20, 60, 100, 140], vec![180, 20, 60, 100], vec![140, 180]]);
    let exact = Dataset::range(&g, 0, 5, 1).batch_exact(2).take(9);
    assert_eq!(exact.elements()[0].1.to_string(), "[2]");
    assert_eq!(all(&g, &exact), [vec![0, 1], vec![2, 3]]);
}

#[test]
fn datasets_of_datasets() {
    let g = Scope::new();
    let up_to = |g: &Scope, x: &[Output]| {
        // The number of repetitions is a value of the graph; the inner dataset captures it.
        let x = x[0].clone();
        Dataset::range(g, 0, 2, 1).map(move |_, y| vec![&y[0] + &(&x * 10i64)])
    };
    let d = Dataset::range(&g, 1, 4, 1);
    assert_eq!(all(&g, &d.flat_map(up_to)).concat(), [10, 11, 20, 21, 30, 31]);
    assert_eq!(all(&g, &d.interleave(2, 1, up_to)).concat(), [10, 20, 11, 21, 30, 31]);
    assert_eq!(all(&g, &d.concatenate(&Dataset::range(&g, 7, 8, 1))).concat(), [1, 2, 3, 7]);
}

#[test]
fn parallel_maps_keep_order_and_name_the_node_that_fails() {
    let g = Scope::new();
    let d = Dataset::range(&g, 0, 50, 1).parallel_map(4, |_, x| vec![&x[0] * 2i64]);
    assert_eq!(all(&g, &d).concat(), (0..50).map(|v| 2 * v).collect::<Vec<i64>>());
    let failing = Dataset::range(&g, 0, 3, 1).map(|g, x| {
        let table = g.constant(vec![5i64, 6]);
        vec![g.op("GatherV2").name("lookup").input(&table).input(&x[0]).input(g.constant(0i32)).output()]
    });
    let next = failing.one_shot_iterator(&g).get_next();
    let session = Session::new(&g).unwrap();
    session.run(&next[0], &[]).unwrap();
    session.run(&next[0], &[]).unwrap();
    let e: Error = session.run(&next[0], &[]).unwrap_err();
    assert_eq!((e.code(), e.node()), (Code::InvalidArgument, Some("lookup")));
}

#[test]
fn outer_values_are_captured_but_not_by_one_shot_iterators() {
    let g = Scope::new();
    let factor = g.placeholder(DataType::Int64, &[]);
    let d = Dataset::range(&g, 1, 3, 1).map(|_, x| vec![&x[0] * &factor]);
    let it = d.initializable_iterator(&g);
    let next = it.get_next();
    let session = Session::new(&g).unwrap();
    session.run(it.initializer().unwrap(), &[feed(&factor, 7i64)]).unwrap();
    assert_eq!(until_end(&session, &next[0], numbers).concat(), [7, 14]);
    let e = Session::new(&{
        d.one_shot_iterator(&g);
        g.clone()
    })
    .err()
    .unwrap();
    assert!(e.message().contains("use initializable_iterator"), "{e}");
}

#[test]
fn rows_of_tensors_zipped_with_text_lines() {
    let dir = Scratch::new();
    let file = dir.path("lines.txt");
    std::fs::write(&file, "ab\ncd\nef\n").unwrap();
    let g = Scope::new();
    let rows = Dataset::from_tensor_slices(&g, ([[1.0f32, 2.0], [3.0, 4.0]], [7i64, 8]));
    let both = Dataset::zip(&[&rows, &Dataset::text_lines(&g, &[&file])]);
    let next = both.batch(2).one_shot_iterator(&g).get_next();
    assert_eq!(next[0].shape().to_string(), "[?,2]");
    let session = Session::new(&g).unwrap();
    let got = session.run(&next, &[]).unwrap();
    assert_eq!(got[0].as_slice::<f32>().unwrap(), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(got[1].as_slice::<i64>().unwrap(), [7, 8]);
    assert_eq!(&got[2].strings().unwrap()[1][..], b"cd");
    let wrong = Scope::new();
    Dataset::from_tensor_slices(&wrong, ([1i64, 2], [1i64, 2, 3]));
    assert!(wrong.check().unwrap_err().to_string().contains("pipelines.rs"));
}

#[test]
fn padded_batches_of_different_sizes() {
    let g = Scope::new();
    let d = Dataset::range(&g, 0, 3, 1)
        .map(|g, x| {
            let n = g.op("ExpandDims").input(&x[0]).input(g.constant(0i32)).output();
            vec![g.op("Fill").input(&n).input(&x[0]).output()]
        })
        .padded_batch(3);
    assert_eq!(all(&g, &d), [[0, 0, 1, 0, 2, 2]]);
}

#[test]
fn typed_columns_of_a_csv_file() {
    let dir = Scratch::new();
    let file = dir.path("rows.csv");
    std::fs::write(&file, "x;name\n1.5;a\n;b\n").unwrap();
    let g = Scope::new();
    let columns = vec![Column::or(-1.0f32), Column::required(DataType::String)];
    let options = CsvOptions { header: true, delimiter: ';', ..Default::default() };
    let next = Dataset::csv(&g, &[&file], columns, options).batch(9).one_shot_iterator(&g).get_next();
    let got = Session::new(&g).unwrap().run(&next, &[]).unwrap();
    assert_eq!(got[0].as_slice::<f32>().unwrap(), [1.5, -1.0]);
    assert_eq!(&got[1].strings().unwrap()[1][..], b"b");
}

#[test]
fn records_and_idx_files() {
    use thalweg_io::record::{Compression, RecordWriter};
    let dir = Scratch::new();
    let mut writer = RecordWriter::create(&dir.path("records"), Compression::None).unwrap();
    writer.write(b"one").unwrap();
    writer.finish().unwrap();
    std::fs::write(
        dir.path("images"),
        [&[0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2][..], &[1, 2, 3, 4]].concat(),
    )
    .unwrap();
    std::fs::write(dir.path("labels"), [0, 0, 8, 1, 0, 0, 0, 2, 7, 8]).unwrap();
    let g = Scope::new();
    let record = Dataset::tf_records(&g, &[dir.path("records")]).one_shot_iterator(&g).get_next();
    let digits =
        Dataset::idx(&g, dir.path("images"), dir.path("labels")).skip(1).one_shot_iterator(&g).get_next();
    let session = Session::new(&g).unwrap();
    assert_eq!(&session.run(&record[0], &[]).unwrap().strings().unwrap()[0][..], b"one");
    let got = session.run(&digits, &[]).unwrap();
    assert_eq!((got[0].shape().dims(), got[0].as_slice::<u8>().unwrap()), (&[1, 2][..], &[3, 4][..]));
    assert_eq!(got[1].to_scalar::<u8>().unwrap(), 8);
}

#[test]
fn elements_from_a_closure_start_again_with_each_pass() {
    let g = Scope::new();
    let passes = Arc::new(AtomicUsize::new(0));
    let counted = passes.clone();
    let d = Dataset::from_fn(&g, &[(DataType::Int64, PartialShape::scalar())], move || {
        counted.fetch_add(1, Ordering::SeqCst);
        let mut left = 3i64;
        move || {
            left -= 1;
            Ok((left >= 0).then(|| vec![Tensor::scalar(left)]))
        }
    });
    assert_eq!(all(&g, &d.repeat(Some(2)).batch(6)), [[2, 1, 0, 2, 1, 0]]);
    assert_eq!(passes.load(Ordering::SeqCst), 6);
    let wrong = Dataset::from_fn(&g, &[(DataType::Int64, PartialShape::scalar())], || {
        || Ok(Some(vec![Tensor::scalar(1f32)]))
    });
    let next = wrong.one_shot_iterator(&g).get_next();
    let e = Session::new(&g).unwrap().run(&next[0], &[]).unwrap_err();
    assert_eq!(e.code(), Code::InvalidArgument);
    assert!(g.to_graph_def().is_err());
}

#[test]
fn a_feed_chooses_between_iterators() {
    let g = Scope::new();
    let (train, test) = (Dataset::range(&g, 0, 9, 1), Dataset::range(&g, 100, 109, 1));
    let handle = g.placeholder(DataType::String, &[]);
    let next = Iterator::from_string_handle(&g, &handle, &train).get_next();
    let iterators = [&train, &test].map(|d| d.initializable_iterator(&g));
    let names = iterators.clone().map(|i| i.string_handle());
    let session = Session::new(&g).unwrap();
    let names = names.map(|n| session.run(&n, &[]).unwrap());
    for it in &iterators {
        session.run(it.initializer().unwrap(), &[]).unwrap();
    }
    let pick =
        |i: usize| session.run(&next[0], &[feed(&handle, &names[i])]).unwrap().to_scalar::<i64>().unwrap();
    assert_eq!([pick(0), pick(1), pick(1), pick(0)], [0, 100, 101, 1]);
}

/// Prefetching does not keep its session alive.
#[test]
fn dropping_a_session_ends_what_runs_ahead() {
    struct Tell(std::sync::mpsc::Sender<()>);
    impl Drop for Tell {
        fn drop(&mut self) {
            let _ = self.0.send(());
        }
    }
    let g = Scope::new();
    let (tx, rx) = std::sync::mpsc::channel();
    let tx = std::sync::Mutex::new(tx);
    let d = Dataset::from_fn(&g, &[(DataType::Int64, PartialShape::scalar())], move || {
        let tell = Tell(tx.lock().unwrap().clone());
        move || {
            let _ = &tell;
            Ok(Some(vec![Tensor::scalar(1i64)]))
        }
    });
    let d = d.map(|_, x| vec![&x[0] + 1i64]).prefetch(3);
    let (once, again) = (d.one_shot_iterator(&g).get_next(), d.initializable_iterator(&g));
    let next = again.get_next();
    let session = Session::new(&g).unwrap();
    session.run(again.initializer().unwrap(), &[]).unwrap();
    session.run(&[&once[0], &next[0]], &[]).unwrap();
    drop(session);
    rx.recv().unwrap();
    rx.recv().unwrap();
}
