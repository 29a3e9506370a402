//! Rows D and E that concern text and messages to parse, event files, and checkpoints of the first format.

use crate::*;
use thalweg_proto::Bytes;

fn words(items: &[&str]) -> Tensor {
    let items: Vec<Bytes> = items.iter().map(|s| Bytes::copy_from_slice(s.as_bytes())).collect();
    Tensor::from_objects(Shape::vector(items.len()), items).unwrap()
}

fn n_grams(width: i64, pad: i64) -> Vec<(&'static str, Attr)> {
    vec![
        ("separator", "-".into()),
        ("ngram_widths", Attr::ints(&[width])),
        ("left_pad", "".into()),
        ("right_pad", "".into()),
        ("pad_width", pad.into()),
        ("preserve_short_sequences", true.into()),
    ]
}

#[test]
fn d10_n_grams_of_bad_splits() {
    for splits in [&[0, 2, 1][..], &[0, 3], &[-1, 2], &[1, 2], &[0, 1], &[0, i32::MAX, 2]] {
        let inputs = vec![words(&["a", "b"]), v(splits)];
        check_refused("StringNGrams", inputs, n_grams(2, 0), &[InvalidArgument]);
    }
}

#[test]
fn d10_n_grams_of_bad_widths() {
    let inputs = || vec![words(&["a", "b"]), v(&[0, 2])];
    for width in [-1, 0, i64::MIN] {
        check_refused("StringNGrams", inputs(), n_grams(width, 0), &[InvalidArgument]);
    }
    for (width, pad) in [(i64::MAX, -1), (1 << 40, 1 << 39)] {
        check_refused("StringNGrams", inputs(), n_grams(width, pad), &[ResourceExhausted]);
    }
}

/// A required feature `x` of two floats.
fn features() -> Vec<(&'static str, Attr)> {
    let shapes = Attr::List(vec![Attr::Shape([2].into_iter().collect())]);
    vec![
        ("Tdense", Attr::types(&[DataType::Float])),
        ("sparse_types", Attr::types(&[])),
        ("dense_shapes", shapes),
    ]
}

fn no_floats() -> Tensor {
    f(&[0])
}

#[test]
fn d14_examples_of_garbage() {
    // Cut short, of wrong kinds, a length beyond the end, a group without an end, and an empty one without the feature.
    let garbage =
        [&b"\xff"[..], b"\x0a\x7f", b"\x08\x01", b"\x0a\x02\x0a\x7f", b"\x0b", b"", b"\x0a\x02\x08\x01"];
    for bytes in garbage {
        let batch = Tensor::from_objects(Shape::vector(1), vec![Bytes::copy_from_slice(bytes)]).unwrap();
        let mut v1 = features();
        v1.extend([("Nsparse", Attr::Int(0)), ("Ndense", Attr::Int(1))]);
        let inputs = vec![batch.clone(), words(&[]), s("x"), no_floats()];
        check_refused("ParseExample", inputs, v1, &[InvalidArgument]);
        let mut v2 = features();
        let none = || Attr::types(&[]);
        v2.extend([
            ("num_sparse", Attr::Int(0)),
            ("ragged_value_types", none()),
            ("ragged_split_types", none()),
        ]);
        let inputs = vec![batch, words(&[]), words(&[]), words(&["x"]), words(&[]), no_floats()];
        check_refused("ParseExampleV2", inputs, v2, &[InvalidArgument]);
        let mut single = features();
        let keys = |k: &[&str]| Attr::List(k.iter().map(|k| Attr::str(k)).collect());
        single.extend([
            ("num_sparse", Attr::Int(0)),
            ("sparse_keys", keys(&[])),
            ("dense_keys", keys(&["x"])),
        ]);
        let inputs = vec![Tensor::string(bytes), no_floats()];
        check_refused("ParseSingleExample", inputs, single, &[InvalidArgument]);
    }
}

#[test]
fn d14_a_feature_of_another_kind_is_named() {
    // Feature x has one integer.
    let example = b"\x0a\x0c\x0a\x0a\x0a\x01x\x12\x05\x1a\x03\x0a\x01\x07";
    let keys = |k: &[&str]| Attr::List(k.iter().map(|k| Attr::str(k)).collect());
    let mut attrs = features();
    attrs.extend([("num_sparse", Attr::Int(0)), ("sparse_keys", keys(&[])), ("dense_keys", keys(&["x"]))]);
    let call = crate::example("ParseSingleExample", vec![Tensor::string(&example[..]), no_floats()], attrs);
    for (way, result) in every_way(&call) {
        let e = result.unwrap_err();
        assert!(e.code() == InvalidArgument && e.to_string().contains("Key: x"), "{way}: {e}");
    }
}

#[test]
fn d15_an_event_writer_of_vectors() {
    let writer = || {
        example("SummaryWriter", vec![], vec![("shared_name", "d15".into())])
            .call(&step(2))
            .unwrap()
            .remove(0)
    };
    let good = || vec![writer(), s("/nonexistent/d15"), n(10), n(1000), s("")];
    let bad = [(1, words(&["a"])), (2, v(&[1; 12])), (3, v(&[1])), (3, v(&[])), (4, words(&[]))];
    for (i, wrong) in bad {
        let mut inputs = good();
        inputs[i] = wrong;
        let e = example("CreateSummaryFileWriter", inputs, vec![]).call(&step(2)).unwrap_err();
        assert_eq!(e.code(), InvalidArgument, "{i}: {e}");
    }
    // A writer without a file, and tensors of the wrong kind.
    let values = vec![writer(), Tensor::scalar(1i64), f(&[2]), s("tag"), s("")];
    assert_eq!(example("WriteSummary", values, vec![]).call(&step(2)).unwrap_err().code(), NotFound);
}

#[test]
fn e03_a_restore_of_no_name() {
    let dt = || vec![("dt", Attr::Type(DataType::Float))];
    for name in [words(&[]), words(&["a", "b"])] {
        check_refused("Restore", vec![s("/nonexistent/e03"), name.clone()], dt(), &[InvalidArgument]);
        let inputs = vec![s("/nonexistent/e03"), name.clone(), s("")];
        check_refused("RestoreSlice", inputs, dt(), &[InvalidArgument]);
        check_refused("RestoreSlice", vec![s("/nonexistent/e03"), s("a"), name], dt(), &[InvalidArgument]);
    }
    check_refused("Restore", vec![s("/nonexistent/e03"), s("a")], dt(), &[NotFound]);
    let types = || vec![("T", Attr::types(&[DataType::Float]))];
    check_refused("Save", vec![s("/nonexistent/e03"), words(&[]), f(&[2])], types(), &[InvalidArgument]);
    let inputs = vec![s("/nonexistent/e03"), words(&["a"]), words(&["9 x"]), f(&[2])];
    check_refused("SaveSlices", inputs, types(), &[InvalidArgument]);
}

#[test]
fn e06_a_matrix_remapped_by_scalars() {
    let attrs = |rows: i64| vec![("num_rows", Attr::Int(rows)), ("num_cols", Attr::Int(1))];
    let (none, one) = (|| Tensor::vector::<i64>(&[]).unwrap(), || Tensor::scalar(0i64));
    for (rows, cols) in [(one(), none()), (none(), one()), (none(), Tensor::vector(&[1i64, 2]).unwrap())] {
        let inputs = vec![s("/nonexistent/e06"), s("m"), rows, cols, f(&[0])];
        check_refused("LoadAndRemapMatrix", inputs, attrs(0), &[InvalidArgument]);
    }
    let inputs = || vec![s("/nonexistent/e06"), s("m"), none(), none(), f(&[0])];
    check_refused("LoadAndRemapMatrix", inputs(), attrs(1), &[InvalidArgument]);
    check_refused("LoadAndRemapMatrix", inputs(), attrs(0), &[NotFound]);
}
