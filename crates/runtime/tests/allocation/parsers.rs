//! Every file format, with each large allocation failing in turn.

use crate::child;
use crate::common::assert_none;
use crate::failing::{READERS, fail_nth, fill_caches};
use std::io::Write;
use thalweg_core::dtype::DataType;
use thalweg_core::error::{Code, Result};
use thalweg_core::shape::Shape;
use thalweg_core::tensor::Tensor;
use thalweg_io::bundle::{BundleReader, BundleWriter};
use thalweg_io::record::{Compression, RecordReader, RecordWriter};
use thalweg_io::scratch::Scratch;
use thalweg_io::{bounded_read, idx, npy, wire};
use thalweg_proto::Bytes;

/// Reads one format; returns a checksum.
type Read = Box<dyn Fn() -> Result<usize>>;

#[test]
fn no_file_ends_the_process_when_an_allocation_fails() {
    let folder = Scratch::new();
    let formats = formats(&folder);
    let Some(from) = child::from() else {
        let test = "parsers::no_file_ends_the_process_when_an_allocation_fails";
        return assert_none("readings did not survive", child::run(test, formats.len(), None));
    };
    fill_caches();
    for (piece, (name, read)) in formats.iter().enumerate().skip(from) {
        let without = read().unwrap_or_else(|e| panic!("{name}: {e}"));
        for n in 1.. {
            child::at(piece, &format!("{name}, allocation {n}"));
            let (result, did_fail) = fail_nth(n, READERS, read);
            match result {
                Ok(found) if found == without => {}
                Err(e) if did_fail && e.code() == Code::ResourceExhausted => {}
                other => child::failed(piece, &format!("{name}, allocation {n}: {other:?}")),
            }
            if !did_fail {
                break;
            }
        }
    }
}

fn formats(folder: &Scratch) -> Vec<(&'static str, Read)> {
    let mut all: Vec<(&'static str, Read)> = vec![
        ("TFRecord", records(Compression::None)),
        ("TFRecord, gzip", records(Compression::Gzip)),
        ("TFRecord, zlib", records(Compression::Zlib)),
        ("idx", idx(false)),
        ("idx, gzip", idx(true)),
        ("checkpoint", checkpoint(folder)),
        ("a whole file", a_file(folder)),
    ];
    for (name, t) in tensors() {
        let file = npy::write(&t).unwrap();
        all.push((name, Box::new(move || npy::read(&file).map(|t| t.byte_len()))));
        let message = wire::tensor_to_proto(&t).unwrap();
        all.push((name, Box::new(move || wire::tensor_from_proto(&message).map(|t| t.byte_len()))));
    }
    all
}

fn tensors() -> Vec<(&'static str, Tensor)> {
    let floats = Tensor::full(Shape::new(&[100, 500]).unwrap(), 1.5f32).unwrap();
    let items = (0..30_000).map(|i| Bytes::from(format!("string {i}"))).collect();
    let strings = Tensor::from_objects(Shape::new(&[30_000]).unwrap(), items).unwrap();
    vec![("tensor of floats", floats), ("tensor of strings", strings)]
}

fn records(compression: Compression) -> Read {
    let mut writer = RecordWriter::new(Vec::new(), compression);
    for i in 0..4u8 {
        writer.write(&vec![i; 300_000]).unwrap();
    }
    let file = writer.finish().unwrap();
    Box::new(move || {
        let reader = RecordReader::new(&file[..], compression, "records");
        reader.map(|r| r.map(|r| r.len())).sum()
    })
}

fn idx(zipped: bool) -> Read {
    let mut file = vec![0, 0, 8, 2, 0, 0, 2, 0, 0, 0, 2, 0];
    file.extend((0..512 * 512).map(|i| (i * 7 % 251) as u8));
    if zipped {
        let mut zip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        zip.write_all(&file).unwrap();
        file = zip.finish().unwrap();
    }
    Box::new(move || idx::parse(&file).map(|i| i.bytes.iter().map(|b| *b as usize).sum()))
}

fn checkpoint(folder: &Scratch) -> Read {
    let prefix = folder.path("model");
    let mut writer = BundleWriter::create(&prefix).unwrap();
    for (i, (_, t)) in tensors().iter().enumerate() {
        writer.add(&format!("variable/{i}"), t).unwrap();
    }
    for i in 0..5000 {
        writer.add(&format!("w/{i}"), &Tensor::zeros(DataType::Float, Shape::vector(2)).unwrap()).unwrap();
    }
    writer.finish().unwrap();
    Box::new(move || {
        let mut reader = BundleReader::open(&prefix)?;
        reader.verify()?;
        let mut read = |i| reader.read(&format!("variable/{i}")).map(|t| t.byte_len());
        Ok(read(0)? + read(1)?)
    })
}

fn a_file(folder: &Scratch) -> Read {
    let path = folder.path("file");
    std::fs::write(&path, vec![7; 500_000]).unwrap();
    Box::new(move || bounded_read::read(&path).map(|b| b.len()))
}
