//! Lines, records and columns of files.

use super::{cached, flat, iterator, n, next, pipeline, range, with_functions};
use crate::prelude::*;
use crate::testing::{call_in, step};
use flate2::Compression as Level;
use flate2::write::{GzEncoder, ZlibEncoder};
use std::io::Write;
use thalweg_io::record::{Compression, RecordWriter};
use thalweg_io::scratch::Scratch;

fn names(files: &[&std::path::Path]) -> Tensor {
    let names = files.iter().map(|f| bytes::Bytes::from(f.display().to_string())).collect();
    Tensor::from_objects(Shape::vector(files.len()), names).unwrap()
}

/// The elements of a dataset of strings, or the error that ends it.
fn strings(dataset: &Tensor) -> (Vec<String>, Error) {
    let (step, _) = with_functions();
    let attrs = vec![
        ("output_types", Attr::types(&[DataType::String])),
        ("output_shapes", Attr::List(vec![Attr::Shape(PartialShape::scalar())])),
    ];
    let handle = [attrs.clone(), vec![("shared_name", "it".into()), ("container", "".into())]].concat();
    let handle = call_in(&step, "IteratorV2", &[], &handle).unwrap().remove(0);
    call_in(&step, "MakeIterator", &[dataset.clone(), handle.clone()], &[]).unwrap();
    let mut all = Vec::new();
    loop {
        match call_in(&step, "IteratorGetNext", &[handle.clone()], &attrs) {
            Ok(t) => all.push(String::from_utf8_lossy(&t[0].strings().unwrap()[0]).into_owned()),
            Err(e) => return (all, e),
        }
    }
}

#[test]
fn lines_of_several_files_plain_and_compressed() {
    let dir = Scratch::new();
    let text = b"one\r\ntwo\n\nlast";
    let mut gz = GzEncoder::new(Vec::new(), Level::fast());
    gz.write_all(text).unwrap();
    let mut zlib = ZlibEncoder::new(Vec::new(), Level::fast());
    zlib.write_all(text).unwrap();
    for (kind, bytes) in
        [("", text.to_vec()), ("GZIP", gz.finish().unwrap()), ("ZLIB", zlib.finish().unwrap())]
    {
        let file = dir.path("lines");
        std::fs::write(&file, bytes).unwrap();
        let inputs = [names(&[&file, &file]), Tensor::string(kind), n(0)];
        let (lines, end) = strings(&pipeline("TextLineDataset", &step(1), &inputs, &[]).unwrap());
        assert_eq!(lines, ["one", "two", "", "last", "one", "two", "", "last"], "{kind}");
        assert_eq!(end.code(), Code::OutOfRange);
    }
    let missing = [names(&[&dir.path("none")]), Tensor::string(""), n(0)];
    let (_, e) = strings(&pipeline("TextLineDataset", &step(1), &missing, &[]).unwrap());
    assert_eq!(e.code(), Code::NotFound);
}

#[test]
fn records_and_a_damaged_file() {
    let dir = Scratch::new();
    let file = dir.path("records");
    let mut writer = RecordWriter::new(Vec::new(), Compression::None);
    writer.write(b"one").unwrap();
    writer.write(b"two").unwrap();
    let mut bytes = writer.finish().unwrap();
    std::fs::write(&file, &bytes).unwrap();
    let dataset = |file| {
        pipeline("TFRecordDataset", &step(1), &[names(&[file]), Tensor::string(""), n(0)], &[]).unwrap()
    };
    assert_eq!(strings(&dataset(&file)).0, ["one", "two"]);
    let from = [names(&[&file]), Tensor::string(""), n(0), Tensor::vector(&[19i64]).unwrap()];
    assert_eq!(strings(&pipeline("TFRecordDatasetV2", &step(1), &from, &[]).unwrap()).0, ["two"]);
    bytes.truncate(bytes.len() - 2);
    std::fs::write(&file, &bytes).unwrap();
    let (all, e) = strings(&dataset(&file));
    assert_eq!((all, e.code()), (vec!["one".to_string()], Code::DataLoss));
}

#[test]
fn records_of_one_length_between_header_and_footer() {
    let dir = Scratch::new();
    let file = dir.path("fixed");
    let read = |text: &[u8], kind: &str| {
        std::fs::write(&file, text).unwrap();
        let inputs = [names(&[&file]), n(1), n(2), n(3), n(0), Tensor::string(kind)];
        strings(&pipeline("FixedLengthRecordDatasetV2", &step(1), &inputs, &[]).unwrap())
    };
    assert_eq!(read(b"haabbccfff", "").0, ["aa", "bb", "cc"]);
    let mut gz = GzEncoder::new(Vec::new(), Level::fast());
    gz.write_all(b"haabbccfff").unwrap();
    assert_eq!(read(&gz.finish().unwrap(), "GZIP").0, ["aa", "bb", "cc"]);
    assert!(read(b"haabfff", "").1.message().contains("not an exact multiple"));
    assert_eq!(read(b"h", "").1.code(), Code::InvalidArgument);
}

#[test]
fn columns_are_typed_quoted_missing_and_chosen() {
    let dir = Scratch::new();
    let file = dir.path("csv");
    std::fs::write(&file, "a,b,c\n1,2.5,\"x, \"\"y\"\"\nz\"\n2,,NA\n\n3,x,w\n").unwrap();
    let (step, _) = with_functions();
    let types = [DataType::Int64, DataType::Float, DataType::String];
    let attrs = vec![
        ("output_types", Attr::types(&types)),
        ("output_shapes", Attr::List(vec![Attr::Shape(PartialShape::scalar()); 3])),
    ];
    let none = Tensor::vector::<i64>(&[]).unwrap();
    let inputs = [
        names(&[&file]),
        Tensor::string(""),
        n(0),
        Tensor::scalar(true),
        Tensor::string(","),
        Tensor::scalar(true),
        Tensor::string("NA"),
        none.clone(),
        none.clone(),
        Tensor::vector(&[7.5f32]).unwrap(),
        Tensor::string("default"),
        none,
    ];
    let dataset = pipeline("CSVDatasetV2", &step, &inputs, &attrs).unwrap();
    let handle = [attrs.clone(), vec![("shared_name", "it".into()), ("container", "".into())]].concat();
    let handle = call_in(&step, "IteratorV2", &[], &handle).unwrap().remove(0);
    call_in(&step, "MakeIterator", &[dataset, handle.clone()], &[]).unwrap();
    let row = || {
        let r = call_in(&step, "IteratorGetNext", &[handle.clone()], &attrs)?;
        let text = String::from_utf8_lossy(&r[2].strings()?[0]).into_owned();
        Ok((r[0].to_scalar::<i64>()?, r[1].to_scalar::<f32>()?, text))
    };
    assert_eq!(row().unwrap(), (1, 2.5, "x, \"y\"\nz".to_string()));
    assert_eq!(row().unwrap(), (2, 7.5, "default".to_string()));
    let e: Error = row().unwrap_err();
    let told =
        format!("{}, line 6: Field 1 in record is not a valid float: x; correct the line", file.display());
    assert!(e.message().starts_with(&told), "{e}");
    assert_eq!(row().unwrap_err().code(), Code::OutOfRange);
}

#[test]
fn a_cache_in_files_outlives_its_input_and_keeps_a_second_writer_away() {
    let dir = Scratch::new();
    let prefix = dir.path("cache").display().to_string();
    let (first, second) = (with_functions().0, with_functions().0);
    let writer = iterator(&first, &cached(&range(0, 3), &prefix));
    assert_eq!(next(&first, &writer).unwrap().to_scalar::<i64>().unwrap(), 0);
    let late = iterator(&second, &cached(&range(5, 9), &prefix));
    let e = next(&second, &late).unwrap_err();
    assert_eq!(e.code(), Code::AlreadyExists);
    assert!(e.message().contains("cache lockfile already exists"), "{e}");
    for expected in [1, 2] {
        assert_eq!(next(&first, &writer).unwrap().to_scalar::<i64>().unwrap(), expected);
    }
    assert_eq!(next(&first, &writer).unwrap_err().code(), Code::OutOfRange);
    assert_eq!(flat(&cached(&range(5, 9), &prefix)), [0, 1, 2]);
    let mut left: Vec<_> = std::fs::read_dir(dir.path("."))
        .unwrap()
        .map(|f| f.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["cache.data-00000-of-00001", "cache.index"]);
}

#[test]
fn a_cache_in_files_that_is_broken_off_is_begun_anew() {
    let dir = Scratch::new();
    let prefix = dir.path("cache").display().to_string();
    {
        let step = with_functions().0;
        let writer = iterator(&step, &cached(&range(0, 3), &prefix));
        next(&step, &writer).unwrap();
    }
    assert_eq!(flat(&cached(&range(5, 9), &prefix)), [5, 6, 7, 8]);
    assert_eq!(flat(&cached(&range(0, 1), &prefix)), [5, 6, 7, 8]);
}
