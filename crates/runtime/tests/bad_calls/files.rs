//! Rows D and E that concern files: damaged records, and tensors saved to and restored from checkpoints. Errors name the node, and the
//! file or tensor.

use crate::common::constant;
use crate::state::add;
use crate::*;
use std::path::Path;
use thalweg_core::shape::PartialShape;
use thalweg_graph::Graph;
use thalweg_io::crc;
use thalweg_io::record::{Compression, RecordWriter};
use thalweg_io::scratch::Scratch;
use thalweg_proto::Bytes;

fn text(path: &Path) -> Tensor {
    s(path.to_str().unwrap())
}

fn words(items: &[&str]) -> Tensor {
    let items: Vec<Bytes> = items.iter().map(|s| Bytes::copy_from_slice(s.as_bytes())).collect();
    Tensor::from_objects(Shape::vector(items.len()), items).unwrap()
}

/// The call fails with this code in every way, and each error contains all of `words`.
fn refused_saying(
    op: &str,
    inputs: Vec<Tensor>,
    attrs: Vec<(&'static str, Attr)>,
    code: Code,
    words: &[&str],
) {
    check_refused(op, inputs.clone(), attrs.clone(), &[code]);
    for (way, result) in every_way(&example(op, inputs, attrs)) {
        let e = result.unwrap_err();
        assert!(words.iter().all(|w| e.to_string().contains(w)), "{op}, {way}: {e}");
    }
}

/// The records that a session reads from a file, up to the error.
fn records_of(path: &Path) -> (Vec<Bytes>, Error) {
    let mut g = Graph::new(registry().clone());
    let inputs = [text(path), s(""), Tensor::scalar(0i64)].map(|t| constant(&mut g, t).unwrap().into());
    let element = [
        ("output_types", Attr::types(&[DataType::String])),
        ("output_shapes", Attr::List(vec![Attr::Shape(PartialShape::scalar())])),
    ];
    let named = [("shared_name", "".into()), ("container", "".into())];
    let records = add(&mut g, "TFRecordDataset", "records", inputs.to_vec(), &[]).unwrap();
    let iterator = add(&mut g, "IteratorV2", "iterator", vec![], &[&named[..], &element].concat()).unwrap();
    let args = vec![records.into(), iterator.into()];
    let start = thalweg_graph::NodeRequest { op: "MakeIterator", name: "start", args, ..Default::default() };
    g.add_node(start).unwrap();
    add(&mut g, "IteratorGetNext", "next", vec![iterator.into()], &element).unwrap();
    let session = Session::of(&g, options(true, 2)).unwrap();
    session.run(&[], &[], &["start"]).unwrap();
    let mut all = Vec::new();
    loop {
        match session.run(&[], &["next:0"], &[]) {
            Ok(record) => all.push(record[0].strings().unwrap()[0].clone()),
            Err(e) => return (all, e),
        }
    }
}

fn one_record() -> Vec<u8> {
    let mut writer = RecordWriter::new(Vec::new(), Compression::None);
    writer.write(b"whole").unwrap();
    writer.finish().unwrap()
}

/// Bytes after a whole record; the error has the offset.
fn damaged_by(rest: &[u8]) {
    let dir = Scratch::new();
    let (path, whole) = (dir.path("records"), one_record());
    std::fs::write(&path, [&whole[..], rest].concat()).unwrap();
    let (all, e) = records_of(&path);
    assert_eq!(all, [&b"whole"[..]]);
    assert_eq!((e.code(), e.node()), (DataLoss, Some("next")), "{e}");
    for word in [path.to_str().unwrap(), &format!("at {}", whole.len())] {
        assert!(e.to_string().contains(word), "'{word}' is not in: {e}");
    }
}

#[test]
fn d12_record_of_2_to_the_63_bytes() {
    for length in [1u64 << 63, u64::MAX, 1 << 40] {
        let length = length.to_le_bytes();
        damaged_by(&[&length[..], &crc::masked(&length).to_le_bytes(), b"data"].concat());
    }
}

#[test]
fn d12_record_with_a_wrong_checksum() {
    for at in [8, one_record().len() - 1] {
        let mut bytes = one_record();
        bytes[at] ^= 1;
        damaged_by(&bytes);
    }
}

/// TensorFlow treats a truncated header as the end of the file.
#[test]
fn d13_record_cut_inside_its_header() {
    for length in 1..12 {
        damaged_by(&one_record()[..length]);
    }
    let dir = Scratch::new();
    std::fs::write(dir.path("records"), one_record()).unwrap();
    assert_eq!(records_of(&dir.path("records")).1.code(), OutOfRange);
}

fn floats(count: usize) -> (&'static str, Attr) {
    ("dtypes", Attr::types(&vec![DataType::Float; count]))
}

fn is_empty(dir: &Scratch) -> bool {
    std::fs::read_dir(dir.root()).unwrap().next().is_none()
}

#[test]
fn e01_save_of_more_tensors_than_names() {
    let dir = Scratch::new();
    let prefix = text(&dir.path("model"));
    for (names, slices) in
        [(&["a"][..], &[][..]), (&["a"], &["", "", ""]), (&["a", "b", "c"], &[]), (&[], &[])]
    {
        let inputs = vec![prefix.clone(), words(names), words(slices), f(&[1]), f(&[1]), f(&[1])];
        check_refused("SaveV2", inputs, vec![floats(3)], &[InvalidArgument]);
    }
    let spoilt = [
        vec![words(&["a"]), words(&["a"]), words(&[""]), f(&[1])],
        vec![prefix.clone(), s("a"), words(&[""]), f(&[1])],
        vec![prefix.clone(), words(&[""]), words(&[""]), f(&[1])],
        vec![prefix, words(&["a"]), words(&["9 0,9"]), f(&[1])],
    ];
    for inputs in spoilt {
        check_refused("SaveV2", inputs, vec![floats(1)], &[InvalidArgument]);
    }
    assert!(is_empty(&dir), "a refused save left a file");
}

#[test]
fn e02_save_of_a_handle() {
    let dir = Scratch::new();
    // Variants have a form in checkpoints; handles do not.
    let t = forged("v");
    let dtypes = ("dtypes", Attr::types(&[t.dtype()]));
    // The first tensor is written before the second fails.
    let both = ("dtypes", Attr::types(&[DataType::Float, t.dtype()]));
    let prefix = text(&dir.path("model"));
    let inputs = vec![prefix.clone(), words(&["handle"]), words(&[""]), t.clone()];
    refused_saying("SaveV2", inputs, vec![dtypes], InvalidArgument, &["'handle'"]);
    let inputs = vec![prefix, words(&["a", "b"]), words(&["", ""]), f(&[1]), t];
    refused_saying("SaveV2", inputs, vec![both], InvalidArgument, &["'b'"]);
    assert!(is_empty(&dir), "a refused save left a file");
}

/// A checkpoint with a tensor `weights` of shape (3, 4).
fn checkpoint(dir: &Scratch) -> Tensor {
    let prefix = text(&dir.path("model"));
    let inputs = vec![prefix.clone(), words(&["weights"]), words(&[""]), f(&[3, 4])];
    check_allowed("SaveV2", inputs, vec![floats(1)], None);
    prefix
}

fn restore_refused(
    prefix: Tensor,
    names: &[&str],
    slices: &[&str],
    dtype: DataType,
    code: Code,
    says: &[&str],
) {
    let dtypes = ("dtypes", Attr::types(&[dtype]));
    refused_saying("RestoreV2", vec![prefix, words(names), words(slices)], vec![dtypes], code, says);
}

#[test]
fn e03_restore_of_no_names() {
    let dir = Scratch::new();
    let prefix = checkpoint(&dir);
    for (names, slices) in
        [(&[][..], &[][..]), (&["weights"], &[]), (&[], &[""]), (&["weights"; 2], &[""; 2])]
    {
        restore_refused(prefix.clone(), names, slices, DataType::Float, InvalidArgument, &["RestoreV2"]);
    }
}

#[test]
fn e04_restore_of_a_slice_that_is_not_there() {
    let dir = Scratch::new();
    let prefix = checkpoint(&dir);
    for slice in [
        "3 4 0,9:0,4",
        "3 4 -1,2:0,4",
        "3 4 9223372036854775807,1:0,4",
        "3 4 1,9223372036854775807:0,4",
        "3 4 9223372036854775807,9223372036854775807:-",
        "3 4 0,0:0,4",
        "3 4 0,1",
        "3 4 0,1:-:-",
        "-3 4 0,1:-",
        "9223372036854775807 9223372036854775807 0,1:-",
        "4 3 0,1:-",
        "3 4",
        " ",
    ] {
        restore_refused(
            prefix.clone(),
            &["weights"],
            &[slice],
            DataType::Float,
            InvalidArgument,
            &["RestoreV2"],
        );
    }
}

#[test]
fn e05_restore_of_another_type_name_or_prefix() {
    let dir = Scratch::new();
    let prefix = checkpoint(&dir);
    let says = ["weights", "int32", "float"];
    restore_refused(prefix.clone(), &["weights"], &[""], DataType::Int32, InvalidArgument, &says);
    let says = ["Key weight not found", "did you mean 'weights'?"];
    restore_refused(prefix, &["weight"], &[""], DataType::Float, NotFound, &says);
    let missing = dir.path("other");
    let says = [missing.to_str().unwrap()];
    restore_refused(text(&missing), &["weights"], &[""], DataType::Float, NotFound, &says);
}
