//! `thalweg train csv` and `thalweg predict`, as somebody with a file of their own uses them.

use std::path::{Path, PathBuf};
use std::process::Command;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("thalweg-csv-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_string()
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Standard output, standard error, exit code.
fn thalweg(args: &[&str]) -> (String, String, Option<i32>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_thalweg"));
    let done = command.args(args).env_remove("TF_CONFIG").output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&done.stdout), text(&done.stderr), done.status.code())
}

fn good(args: &[&str]) -> String {
    let (out, err, code) = thalweg(args);
    assert_eq!(code, Some(0), "{out}{err}");
    out
}

fn bad(args: &[&str]) -> String {
    let (out, err, code) = thalweg(args);
    assert!(code.is_some_and(|c| c == 1 || c == 2), "{out}{err}");
    err
}

/// The number at the start of a result.
fn number(output: &str, name: &str) -> f64 {
    let line =
        output.lines().rev().find(|l| l.starts_with(name)).unwrap_or_else(|| panic!("no {name} in {output}"));
    let word = line[name.len()..].split_whitespace().next().unwrap_or_default();
    word.parse().unwrap_or_else(|_| panic!("{line}"))
}

/// Fruit by weight, colour and shop, with quotes and missing values: what kind it is depends on the first two.
fn fruit(rows: usize) -> String {
    let mut text = String::from("id,weight,colour,\"shop, city\",kind,price\n");
    for i in 0..rows {
        let turn = (i * 7919) % 1000;
        let kind = ["apple", "lemon", "plum"][turn % 3];
        let weight = match (kind, i % 11) {
            (_, 0) => "NA".to_string(),
            ("plum", _) => format!("{:.1}", 30.0 + (turn % 20) as f64),
            _ => format!("{:.1}", 120.0 + (turn % 50) as f64),
        };
        let colour = match (kind, i % 13) {
            (_, 0) => "",
            ("apple", _) => "red",
            ("lemon", _) => "yellow",
            _ => "blue",
        };
        let price = turn as f64 / 100.0;
        text.push_str(&format!("f{i},{weight},{colour},\"Rome, \"\"{}\"\"\",{kind},{price}\n", i % 4));
    }
    text
}

#[test]
fn a_table_is_learned_and_its_rows_predicted() {
    let dir = Folder::new("fruit");
    let (data, logdir) = (dir.file("fruit.csv", &fruit(300)), dir.path("run"));
    let out = good(&[
        "train", "csv", &data, "--label", "kind", "--ignore", "price", "--steps", "300", "--logdir", &logdir,
    ]);
    let line = |name: &str| {
        out.lines().find(|l| l.starts_with(name)).unwrap_or_else(|| panic!("no {name} in {out}")).to_string()
    };
    assert!(line("id ").contains("ignored") && line("id ").contains("never the same"), "{out}");
    assert!(line("weight ").contains("number") && line("weight ").contains(" 28 "), "{out}");
    assert!(line("colour ").contains("3 words") && line("colour ").contains("red"), "{out}");
    assert!(line("shop, city ").contains("4 words"), "{out}");
    assert!(line("price ").contains("as asked"), "{out}");
    assert!(out.contains("kind: apple 105 (35.0 %), lemon 99 (33.0 %), plum 96 (32.0 %)"), "{out}");
    assert!(out.contains("240 rows to learn from, 60 for validation"), "{out}");
    assert!(number(&out, "validation accuracy") > 0.9, "{out}");
    assert!(number(&out, "always the majority") < 0.5, "{out}");
    assert!(line("is \\ predicted").ends_with("right"), "{out}");

    let predictions = dir.path("predictions.csv");
    let told = good(&["predict", &logdir, &data, "--out", &predictions]);
    assert!(told.starts_with("300 rows in ") && number(&told, "accuracy ") > 0.9, "{told}");
    let written = std::fs::read_to_string(&predictions).unwrap();
    let mut lines = written.lines();
    assert_eq!(lines.next(), Some("id,weight,colour,\"shop, city\",kind,price,predicted_kind,probability"));
    assert!(lines.next().is_some_and(|l| l.starts_with("f0,NA,,\"Rome, \"\"0\"\"\",apple,0,")));
    assert_eq!(written.lines().count(), 301);
    // The exported model says the same.
    let (model, again) = (dir.path("model"), dir.path("again.csv"));
    let train = ["train", "csv", &data, "--label", "kind", "--ignore", "price", "--steps", "20"];
    let run = dir.path("other");
    good(&[&train[..], &["--logdir", &run, "--export", &model]].concat());
    good(&["predict", &model, &data, "--out", &again]);
    let e = bad(&["predict", &model, &data, "--newest"]);
    assert!(e.contains("--newest has no effect on an exported model"), "{e}");
    let newest = dir.path("newest.csv");
    good(&["predict", &run, &data, "--newest", "--out", &newest]);
    assert!(std::fs::read(&again).unwrap() == std::fs::read(&newest).unwrap());
    let e = bad(&[&train[..], &["--export", &model]].concat());
    assert!(e.contains("exists already"), "{e}");
    assert!(bad(&["train", "linear", "--export", &dir.path("line")]).contains("no inputs"));
    // Columns are found by name, and the label is not needed.
    let few = dir.file("few.csv", "colour;shop, city;weight\nyellow;elsewhere;130\nblue;;35\n");
    let out = good(&["predict", &logdir, &few]);
    let kinds: Vec<&str> = out.lines().skip(1).filter_map(|l| l.split(';').nth(3)).collect();
    assert_eq!(kinds, ["lemon", "plum"], "{out}");
    let e = bad(&["predict", &logdir, &dir.file("less.csv", "colour,weight\nred,1\n")]);
    assert!(e.contains("has no column 'shop, city', which the model needs; it has: colour, weight"), "{e}");
}

#[test]
fn a_number_is_learned() {
    let dir = Folder::new("number");
    let mut text = String::from("x,z,y\n");
    for i in 0..400 {
        let (x, z) = ((i * 37 % 101) as f64 / 10.0, (i * 53 % 97) as f64);
        text.push_str(&format!("{x},{z},{}\n", 5000.0 + 300.0 * x - 20.0 * z));
    }
    let (data, logdir) = (dir.file("y.csv", &text), dir.path("run"));
    let out =
        good(&["train", "csv", &data, "--label", "y", "--steps", "400", "--lr", "0.02", "--logdir", &logdir]);
    assert!(number(&out, "R squared") > 0.98, "{out}");
    assert!(number(&out, "validation RMSE") < 0.15 * number(&out, "always the mean"), "{out}");
    let told = good(&["predict", &logdir, &data, "--out", &dir.path("p.csv")]);
    assert!(told.contains("RMSE "), "{told}");
    // A linear model suffices.
    let out =
        good(&["train", "csv", &data, "--label", "y", "--hidden", "", "--steps", "600", "--lr", "0.05"]);
    assert!(out.contains("a 2-1 net") && number(&out, "R squared") > 0.98, "{out}");
}

#[test]
fn a_resumed_run_ends_as_one_that_was_not_interrupted() {
    let dir = Folder::new("resumed");
    let data = dir.file("fruit.csv", &fruit(100));
    let train = |run: &str, more: &[&str]| {
        let path = dir.path(run);
        good(
            &[&["train", "csv", &data, "--label", "kind", "--threads", "1", "--logdir", &path][..], more]
                .concat(),
        )
    };
    let weights = |run: &str| {
        std::fs::read(Path::new(&dir.path(run)).join("model.ckpt-20.data-00000-of-00001")).unwrap()
    };
    train("whole", &["--steps", "20"]);
    train("parts", &["--steps", "8"]);
    train("parts", &["--steps", "20", "--resume"]);
    assert!(weights("whole") == weights("parts"), "the weights differ");
    // Another model is not continued.
    let path = dir.path("parts");
    let e = bad(&["train", "csv", &data, "--label", "kind", "--hidden", "5", "--logdir", &path, "--resume"]);
    assert!(e.contains("describes another model") && e.contains("--overwrite"), "{e}");
}

#[test]
fn small_and_broken_files() {
    let dir = Folder::new("small");
    // Ten rows.
    let out = good(&["train", "csv", &dir.file("ten.csv", &fruit(10)), "--label", "kind", "--steps", "20"]);
    assert!(out.contains("8 rows to learn from, 2 for validation"), "{out}");
    let ten = fruit(10);
    let broken = dir.file("broken.csv", &format!("{ten}f11,1,red\n{}", "f12,1,red,Rome,apple,1\n"));
    let e = bad(&["train", "csv", &broken, "--label", "kind"]);
    assert!(
        e.contains("line 12: 3 fields, but the first line has 6") && e.contains("--skip-bad-rows"),
        "{e}"
    );
    let out = good(&["train", "csv", &broken, "--label", "kind", "--skip-bad-rows", "--steps", "5"]);
    assert!(out.contains("1 rows that cannot be read are left out") && out.contains("line 12"), "{out}");
    let open = dir.file("open.csv", "a,b\n1,2\n\"3,4\n5,6\n");
    assert!(bad(&["train", "csv", &open, "--label", "b"]).contains("line 3: a quoted field is not closed"));
    let e = bad(&["train", "csv", &broken, "--label", "sort"]);
    assert!(e.contains("--label names 'sort'") && e.contains("id, weight, colour"), "{e}");
    assert!(bad(&["train", "csv", &dir.file("empty.csv", ""), "--label", "b"]).contains("is empty"));
    assert!(bad(&["train", "csv", &dir.path("no.csv"), "--label", "b"]).contains("No such file"));
    assert!(
        bad(&["train", "csv", &broken, "--label", "kind", "--hidden", "1,x"]).contains("--hidden has 'x'")
    );
    assert!(bad(&["train", "csv", &broken, "--label", "kind", "--validation", "2"]).contains("up to 0.5"));
    assert!(bad(&["predict", &dir.path("nothing"), &broken]).contains("thalweg train csv"));
}

#[test]
fn files_that_are_no_text_are_told_as_what_they_look_like() {
    let dir = Folder::new("binary");
    for (name, bytes, like) in [
        ("a.csv", &b"PAR1\x15\x04\x15\x10"[..], "a Parquet file"),
        ("b.csv", b"\x89PNG\r\n\x1a\n\0\0", "a PNG image"),
        ("c.csv", b"\xff\xfea\0,\0b\0", "UTF-16 text; save it as UTF-8"),
        ("d.csv", b"a,\x1b[31mb\n1,2\n", "bytes that no text has"),
    ] {
        let path = dir.path(name);
        std::fs::write(&path, bytes).unwrap();
        let e = bad(&["train", "csv", &path, "--label", "a"]);
        assert!(e.contains(like) && e.starts_with("error: INVALID_ARGUMENT: "), "{e}");
        assert!(!e.trim_end().chars().any(char::is_control), "{e:?}");
    }
}

#[test]
fn a_thousand_columns() {
    let dir = Folder::new("wide");
    let mut text: Vec<String> = vec![(0..1000).map(|i| format!("c{i}")).collect::<Vec<_>>().join(",") + ",y"];
    for row in 0..40 {
        let numbers: Vec<String> = (0..1000).map(|i| ((row * 31 + i * 17) % 23).to_string()).collect();
        text.push(format!("{},{}", numbers.join(","), if row % 2 == 0 { "even" } else { "odd" }));
    }
    let data = dir.file("wide.csv", &text.join("\n"));
    let out = good(&["train", "csv", &data, "--label", "y", "--steps", "10"]);
    assert!(out.contains(".. and 940 more columns") && out.contains("a 1000-16-16-2 net"), "{out}");
}

/// Rows that do not fit are refused before they are read into memory.
#[test]
fn a_table_that_exceeds_the_memory_limit_is_refused() {
    let dir = Folder::new("memory");
    let names: Vec<String> = (0..80).map(|i| format!("c{i}")).collect();
    let row = |turn: usize| {
        (0..80)
            .map(|i| char::from(b'0' + ((turn + i * i) % 10) as u8).to_string())
            .collect::<Vec<_>>()
            .join(",")
    };
    let turns: Vec<String> = (0..10).map(row).collect();
    let mut text = names.join(",") + "\n";
    for i in 0..200_000 {
        text.push_str(&turns[i % 10]);
        text.push('\n');
    }
    let data = dir.file("long.csv", &text);
    let e = bad(&["--memory-limit", "64MiB", "train", "csv", &data, "--label", "c0"]);
    assert!(
        e.contains("RESOURCE_EXHAUSTED: 200000 rows of 79 columns need 64000000 bytes")
            && e.contains("--ignore"),
        "{e}"
    );
}
