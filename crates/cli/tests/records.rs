//! `thalweg train records`: TFRecord files of tf.Example.

use std::path::{Path, PathBuf};
use std::process::Command;
use thalweg_io::record::{Compression, RecordWriter};
use thalweg_proto::feature::Kind;
use thalweg_proto::{BytesList, Example, Feature, Features, FloatList, Int64List, encode};

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("thalweg-records-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

fn thalweg(args: &[&str]) -> (String, Option<i32>) {
    let done =
        Command::new(env!("CARGO_BIN_EXE_thalweg")).args(args).env_remove("TF_CONFIG").output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    (format!("{out}{err}"), done.status.code())
}

fn floats(values: &[f32]) -> Kind {
    Kind::FloatList(FloatList { value: values.to_vec() })
}

fn bytes(text: &str) -> Kind {
    Kind::BytesList(BytesList { value: vec![text.to_string().into()] })
}

/// Points left and right of a line, with a colour and a list of changing length.
fn write(path: &Path, compression: Compression, from: usize, to: usize) {
    let mut out = RecordWriter::create(path, compression).unwrap();
    for i in from..to {
        let (x, y) = ((i * 37 % 101) as f32 / 101.0, (i * 53 % 97) as f32 / 97.0);
        let side = if x > y { "right" } else { "left" };
        let all = [
            ("at", floats(&[x, y])),
            ("colour", bytes(["red", "blue"][i % 2])),
            ("number", Kind::Int64List(Int64List { value: vec![i as i64 % 5] })),
            ("list", floats(&vec![1.0; i % 3])),
            ("side", bytes(side)),
        ];
        let feature = |(name, kind): (&str, Kind)| (name.to_string(), Feature { kind: Some(kind) });
        let features = Some(Features { feature: all.into_iter().map(feature).collect() });
        out.write(&encode(&Example { features })).unwrap();
    }
    out.finish().unwrap();
}

#[test]
fn examples_are_learned_and_predicted() {
    let dir = folder("learned");
    let (a, b, logdir) = (dir.join("a.tfrecord"), dir.join("b.tfrecord.gz"), dir.join("run"));
    write(&a, Compression::None, 0, 200);
    write(&b, Compression::Gzip, 200, 400);
    let [a, b, logdir] = [&a, &b, &logdir].map(|p| p.to_str().unwrap());
    let (out, code) = thalweg(&[
        "train", "records", a, b, "--label", "side", "--steps", "400", "--lr", "0.02", "--logdir", logdir,
    ]);
    assert_eq!(code, Some(0), "{out}");
    let line = |name: &str| {
        out.lines().find(|l| l.starts_with(name)).unwrap_or_else(|| panic!("no {name} in {out}"))
    };
    assert!(line("at[0] ").contains("number") && line("at[1] ").contains("number"), "{out}");
    assert!(line("colour ").contains("2 words") && line("number ").contains("number"), "{out}");
    assert!(out.contains("number of values changes are left out: list"), "{out}");
    let accuracy: f64 = line("validation accuracy").split_whitespace().nth(2).unwrap().parse().unwrap();
    assert!(accuracy > 0.9, "{out}");
    let (out, code) = thalweg(&["predict", logdir, b]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.starts_with("at[0],at[1],colour,number,side,predicted_side,probability\n"), "{out}");
    assert_eq!(out.lines().count(), 201);
    let _ = std::fs::remove_dir_all(&dir);
}

#[test]
fn other_files_are_told() {
    let dir = folder("others");
    let (text, none) = (dir.join("text.txt"), dir.join("none.tfrecord"));
    std::fs::write(&text, "hello, this is not a record file").unwrap();
    let mut out = RecordWriter::create(&none, Compression::None).unwrap();
    out.write(b"\xff\xff\xff no example").unwrap();
    out.finish().unwrap();
    let told = |path: &Path| thalweg(&["train", "records", path.to_str().unwrap(), "--label", "x"]);
    assert!(told(&text).0.contains("is no TFRecord file"), "{:?}", told(&text));
    assert!(told(&none).0.contains("record 1: not a tf.Example"), "{:?}", told(&none));
    assert_eq!(told(&dir.join("missing")).1, Some(1));
    let _ = std::fs::remove_dir_all(&dir);
}
