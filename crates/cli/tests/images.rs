//! `thalweg train images`: a folder of images for each class.

use std::path::{Path, PathBuf};
use std::process::Command;

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("thalweg-images-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    path
}

fn thalweg(args: &[&str]) -> (String, Option<i32>) {
    let done =
        Command::new(env!("CARGO_BIN_EXE_thalweg")).args(args).env_remove("TF_CONFIG").output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    (format!("{out}{err}"), done.status.code())
}

/// A BMP file of 24 bits a pixel: stripes that lie or stand, in a shade that changes.
fn stripes(path: &Path, stand: bool, turn: usize) {
    let (width, height) = (20 + turn % 9, 24);
    let stride = (width * 3).div_ceil(4) * 4;
    let mut file = b"BM".to_vec();
    let size = 54 + stride * height;
    for n in [size, 0, 54, 40, width, height] {
        file.extend((n as u32).to_le_bytes());
    }
    file.extend([1, 0, 24, 0]);
    file.extend([0; 24]);
    for y in 0..height {
        let mut row = Vec::new();
        for x in 0..width {
            let along = if stand { x } else { y } + turn;
            let shade = if (along / 4).is_multiple_of(2) { 200 } else { 40 + (turn % 50) as u8 };
            row.extend([shade, shade / 2, 255 - shade]);
        }
        row.resize(stride, 0);
        file.extend(row);
    }
    std::fs::write(path, file).unwrap();
}

#[test]
fn images_are_told_apart() {
    let (data, logdir) = (folder("data"), folder("run"));
    for (class, stand) in [("lying", false), ("standing", true)] {
        std::fs::create_dir_all(data.join(class)).unwrap();
        for turn in 0..40 {
            stripes(&data.join(class).join(format!("{turn:02}.bmp")), stand, turn * 7);
        }
    }
    std::fs::write(data.join("lying/readme.txt"), "not an image").unwrap();
    let [from, to] = [&data, &logdir].map(|p| p.to_str().unwrap());
    let train = ["train", "images", from, "--size", "16", "--steps", "60", "--batch", "16", "--logdir", to];
    let (out, code) = thalweg(&train);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("images: lying 40 (50.0 %), standing 40 (50.0 %)"), "{out}");
    assert!(out.contains("64 to learn from, 16 for validation"), "{out}");
    let line = out.lines().find(|l| l.starts_with("validation accuracy")).unwrap();
    assert!(line.contains("(16 of 16)") || line.contains("(15 of 16)"), "{out}");
    let (out, code) = thalweg(&["predict", to, data.join("standing").to_str().unwrap()]);
    assert_eq!(code, Some(0), "{out}");
    assert_eq!(out.lines().next(), Some("file,prediction,probability"));
    assert!(out.lines().filter(|l| l.contains(".bmp,standing,")).count() >= 38, "{out}");
    let (out, code) = thalweg(&["predict", to, from, "--no-header"]);
    assert!(code == Some(1) && out.contains("--no-header has no effect on images"), "{out}");
    // Of the folders that it was trained on, the names say what is right.
    let predictions = logdir.join("predictions.csv");
    let (out, code) = thalweg(&["predict", to, from, "--out", predictions.to_str().unwrap()]);
    assert_eq!(code, Some(0), "{out}");
    let right: usize = out.split_once(" (").and_then(|(_, r)| r.split(' ').next()?.parse().ok()).unwrap();
    assert!(out.starts_with("80 images in ") && out.contains(&format!("({right} of 80 in")), "{out}");
    let written = std::fs::read_to_string(&predictions).unwrap();
    let agrees = |line: &&str| {
        ["lying", "standing"]
            .iter()
            .any(|c| line.contains(&format!("/{c}/")) && line.contains(&format!(",{c},")))
    };
    assert!(right >= 76 && written.lines().filter(agrees).count() == right, "{out}{written}");
    // A file that is no image is named; or left out, if that is asked for.
    std::fs::write(data.join("lying/broken.png"), "no image").unwrap();
    let (out, code) = thalweg(&[&train[..], &["--overwrite"]].concat());
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("broken.png: not an image") && out.contains("--skip-bad-images"), "{out}");
    let few = ["train", "images", from, "--size", "8", "--steps", "2", "--skip-bad-images"];
    let (out, code) = thalweg(&few);
    assert!(code == Some(0) && out.contains("1 files that cannot be decoded are left out"), "{out}");
    let _ = (std::fs::remove_dir_all(&data), std::fs::remove_dir_all(&logdir));
}

#[test]
fn folders_without_classes_are_told() {
    let dir = folder("none");
    std::fs::create_dir_all(dir.join("one")).unwrap();
    let (out, code) = thalweg(&["train", "images", dir.to_str().unwrap()]);
    assert_eq!(code, Some(1));
    assert!(out.contains("has 0 folders with images") && out.contains("at least 2"), "{out}");
    let (out, _) = thalweg(&["train", "images", dir.join("nowhere").to_str().unwrap()]);
    assert!(out.contains("No such file"), "{out}");
    let (out, _) = thalweg(&["train", "images", dir.to_str().unwrap(), "--size", "5000"]);
    assert!(out.contains("--size 5000 must be from 8 to 1024"), "{out}");
    let _ = std::fs::remove_dir_all(&dir);
}
