//! `thalweg inspect` on files of every kind.

use std::path::Path;
use std::process::Command;
use thalweg_core::tensor::Tensor;
use thalweg_io::bundle::{BundleWriter, data_path};
use thalweg_io::checkpoint::State;
use thalweg_io::event::EventWriter;
use thalweg_io::npy;
use thalweg_io::record::{Compression, RecordWriter};
use thalweg_io::scratch::Scratch;
use thalweg_proto::event::What;
use thalweg_proto::{Summary, summary};

/// Exit code, standard output, standard error.
fn inspect(path: &Path) -> (i32, String, String) {
    let out = Command::new(env!("CARGO_BIN_EXE_thalweg")).arg("inspect").arg(path).output().unwrap();
    let text = |b: Vec<u8>| String::from_utf8(b).unwrap();
    (out.status.code().unwrap_or(-1), text(out.stdout), text(out.stderr))
}

fn shows(path: &Path, wanted: &[&str]) {
    let (code, out, err) = inspect(path);
    assert_eq!((code, err.as_str()), (0, ""), "{}", path.display());
    for text in wanted {
        assert!(out.contains(text), "'{text}' is not in:\n{out}");
    }
}

fn checkpoint(dir: &Scratch, name: &str) {
    let prefix = dir.path(name);
    let mut writer = BundleWriter::create(&prefix).unwrap();
    writer.add("layer/w", &Tensor::vector(&[1f32, 2.0]).unwrap()).unwrap();
    writer.add("step", &Tensor::scalar(7i64)).unwrap();
    writer.finish().unwrap();
    let mut state = State::read(dir.root()).unwrap().unwrap_or_default();
    state.push(&prefix, 0);
    state.write(dir.root()).unwrap();
}

#[test]
fn checkpoints_by_prefix_by_file_and_by_directory() {
    let dir = Scratch::new();
    checkpoint(&dir, "model-1");
    checkpoint(&dir, "model-2");
    let table = "tensor   type   shape  bytes\nlayer/w  float  [2]        8\nstep     int64  []         8\n";
    for name in ["model-1", "model-1.index", "model-1.data-00000-of-00001"] {
        shows(&dir.path(name), &[table, "2 tensors, 3 elements, 16 bytes in 1 shard; whole"]);
    }
    shows(dir.root(), &["model-1           2  whole   yes\nmodel-2           2  newest  yes\n", table]);
    std::fs::write(data_path(&dir.path("model-2"), 0, 1), [0; 16]).unwrap();
    shows(&dir.path("model-2"), &["DAMAGED", "Checksum does not match"]);
    shows(dir.root(), &["model-1           2  newest   yes\nmodel-2           ?  DAMAGED  yes\n"]);
}

#[test]
fn events_tag_by_tag() {
    let dir = Scratch::new();
    let mut writer = EventWriter::create(dir.root(), "").unwrap();
    for step in 1..=3 {
        let value = Some(summary::value::Value::SimpleValue(0.5 / step as f32));
        let value = vec![summary::Value { tag: "loss".into(), value, ..Default::default() }];
        writer.add(step, What::Summary(Summary { value })).unwrap();
    }
    writer.flush().unwrap();
    let table = "tag   kind    values  steps   last value\nloss  scalar       3  1 to 3  0.16666667\n";
    shows(writer.path(), &["1 event file, 4 events", table]);
    shows(dir.root(), &[table]);
}

#[test]
fn records_also_if_compressed_or_damaged() {
    let dir = Scratch::new();
    for compression in [Compression::None, Compression::Zlib, Compression::Gzip] {
        let mut writer = RecordWriter::create(&dir.path("r"), compression).unwrap();
        ["one", "three"].iter().for_each(|r| writer.write(r.as_bytes()).unwrap());
        writer.finish().unwrap();
        shows(&dir.path("r"), &["2 records", ": 8 bytes, from 3 to 5 each"]);
    }
    let mut writer = RecordWriter::create(&dir.path("r"), Compression::None).unwrap();
    // An Example with the feature a: [1, 2].
    writer.write(b"\x0a\x0d\x0a\x0b\x0a\x01a\x12\x06\x1a\x04\x0a\x02\x01\x02").unwrap();
    writer.finish().unwrap();
    shows(&dir.path("r"), &["feature  kind   examples  values\na        int64         1  2\n"]);
    let bytes = std::fs::read(dir.path("r")).unwrap();
    std::fs::write(dir.path("r"), &bytes[..bytes.len() - 1]).unwrap();
    shows(&dir.path("r"), &["0 records", "DAMAGED: ", "truncated record at 0"]);
}

#[test]
fn compressed_data_of_another_kind_is_no_damaged_record_file() {
    let dir = Scratch::new();
    // "a,b\n1,2\n", by gzip.
    let table =
        b"\x1f\x8b\x08\0\0\0\0\0\x02\xff\x4b\xd4\x49\xe2\x32\xd4\x31\xe2\x02\0\x7b\x07\x97\x0a\x08\0\0\0";
    std::fs::write(dir.path("table.csv.gz"), table).unwrap();
    let (exit, out, err) = inspect(&dir.path("table.csv.gz"));
    assert!(exit == 1 && out.is_empty(), "{out}");
    // The first two bytes are those of zlib.
    std::fs::write(dir.path("text"), "x is a letter").unwrap();
    assert!(inspect(&dir.path("text")).2.contains("it looks like text"));
    assert!(
        err.contains("compressed data without TFRecords") && err.contains("decompress it first"),
        "{err}"
    );
}

#[test]
fn arrays_and_graphs() {
    let dir = Scratch::new();
    npy::write_file(&dir.path("a"), &Tensor::vector(&[1i32, 2]).unwrap()).unwrap();
    shows(&dir.path("a"), &["int32 array of shape [2]\n[1 2]"]);
    let graph = "node { name: 'x' op: 'Placeholder' } node { name: 'y' op: 'Neg' input: 'x' } node { name: 'z' op: 'NoSuchOp' input: 'x' }";
    std::fs::write(dir.path("g"), graph).unwrap();
    let table = "op           nodes\nNeg              1\nNoSuchOp         1  missing\nPlaceholder      1\n";
    shows(&dir.path("g"), &["graph of 3 nodes", table, "feeds    x\nresults  y z\n"]);
}

#[test]
fn what_is_none_of_these_is_an_error() {
    let dir = Scratch::new();
    std::fs::write(dir.path("junk"), [0xff; 40]).unwrap();
    for (path, code) in [("none", "NOT_FOUND"), ("", "NOT_FOUND"), ("junk", "DATA_LOSS")] {
        let (exit, out, err) = inspect(&dir.path(path));
        assert!(exit == 1 && out.is_empty() && err.starts_with(&format!("error: {code}")), "{path}: {err}");
    }
    let (_, _, err) = inspect(&dir.path("junc"));
    assert!(err.contains("did you mean 'junk'?"), "{err}");
}
