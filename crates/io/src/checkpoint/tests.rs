use super::*;
use crate::bundle::{BundleWriter, data_path, index_path};
use crate::scratch::Scratch;
use std::fs;
use std::path::{Path, PathBuf};
use thalweg_core::tensor::Tensor;

fn save(dir: &Scratch, step: i64, keep: usize) -> PathBuf {
    let prefix = dir.path(&format!("model-{step}"));
    let mut writer = BundleWriter::create(&prefix).unwrap();
    writer.add("step", &Tensor::scalar(step)).unwrap();
    writer.finish().unwrap();
    let mut state = State::read(dir.root()).unwrap().unwrap_or_default();
    let old = state.push(&prefix, keep);
    state.write(dir.root()).unwrap();
    old.iter().for_each(|p| remove(p).unwrap());
    prefix
}

fn names(paths: &[PathBuf]) -> Vec<&str> {
    paths.iter().map(|p| p.file_name().unwrap().to_str().unwrap()).collect()
}

#[test]
fn the_newest_few_are_kept() {
    let dir = Scratch::new();
    assert_eq!(latest_checkpoint(dir.root()).unwrap(), None);
    // Removing model-1 must not remove model-10's files.
    for step in [1, 10, 11, 12] {
        save(&dir, step, 3);
    }
    let state = State::read(dir.root()).unwrap().unwrap();
    assert_eq!(names(&state.all), ["model-10", "model-11", "model-12"]);
    assert_eq!(fs::read_dir(dir.root()).unwrap().count(), 3 * 2 + 1);
    assert_eq!(latest_checkpoint(dir.root()).unwrap(), Some(dir.path("model-12")));
    let text = fs::read_to_string(dir.path("checkpoint")).unwrap();
    assert_eq!(text.lines().next(), Some("model_checkpoint_path: \"model-12\""));
    // Saved again, it is the newest again and not listed twice.
    save(&dir, 10, 0);
    let state = State::read(dir.root()).unwrap().unwrap();
    assert_eq!(names(&state.all), ["model-11", "model-12", "model-10"]);
}

fn flip(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    bytes[0] ^= 1;
    fs::write(path, bytes).unwrap();
}

#[test]
fn damaged_checkpoints_and_state_files_are_passed_over() {
    let dir = Scratch::new();
    let saved: Vec<PathBuf> = (1..=4).map(|step| save(&dir, step, 0)).collect();
    let latest = || latest_checkpoint(dir.root()).unwrap();
    flip(&data_path(&saved[3], 0, 1));
    assert_eq!(latest(), Some(saved[2].clone()));
    fs::remove_file(index_path(&saved[2])).unwrap();
    assert_eq!(latest(), Some(saved[1].clone()));
    for text in [&b""[..], b"nonsense", &[0xff, 0xfe]] {
        fs::write(dir.path("checkpoint"), text).unwrap();
        assert_eq!(latest(), Some(saved[1].clone()));
    }
    fs::remove_file(dir.path("checkpoint")).unwrap();
    fs::write(dir.path("model-9.data-00000-of-00001.tempstate1"), b"half").unwrap();
    assert_eq!(latest(), Some(saved[1].clone()));
    flip(&index_path(&saved[1]));
    flip(&index_path(&saved[0]));
    assert_eq!(latest(), None);
    assert_eq!(latest_checkpoint(&dir.path("not/there")).unwrap(), None);
}

#[test]
fn absolute_paths_in_a_state_file_stay_so() {
    let dir = Scratch::new();
    let text = "model_checkpoint_path: \"/elsewhere/m-2\"\nall_model_checkpoint_paths: \"m-1\"\nall_model_checkpoint_paths: \"/elsewhere/m-2\"\n";
    fs::write(dir.path("checkpoint"), text).unwrap();
    let state = State::read(dir.root()).unwrap().unwrap();
    assert_eq!(state.all, [dir.path("m-1"), PathBuf::from("/elsewhere/m-2")]);
}

/// The result and the log of `recover`.
fn recovered(dir: &Scratch) -> (thalweg_core::error::Result<Option<PathBuf>>, Vec<String>) {
    let said = std::cell::RefCell::default();
    let found = recover(dir.root(), &|line: &str| Vec::push(&mut said.borrow_mut(), line.to_string()));
    (found, said.into_inner())
}

#[test]
fn a_corrupt_newest_checkpoint_is_logged_and_quarantined() {
    let dir = Scratch::new();
    for round in 0..2 {
        let saved: Vec<PathBuf> = (1..=3).map(|step| save(&dir, step, 0)).collect();
        flip(&data_path(&saved[2], 0, 1));
        let bytes = fs::read(data_path(&saved[2], 0, 1)).unwrap();
        let (found, said) = recovered(&dir);
        assert_eq!(found.unwrap(), Some(saved[1].clone()));
        assert!(said.len() == 1 && said[0].contains("damaged checkpoint"), "{said:?}");
        assert!(said[0].contains("model-3"), "{said:?}");
        // Two of the same name are both kept.
        let aside = dir.path(["damaged", "damaged-1"][round]).join("model-3");
        assert_eq!(fs::read(data_path(&aside, 0, 1)).unwrap(), bytes);
        assert!(index_path(&aside).is_file() && !index_path(&saved[2]).exists());
        let state = State::read(dir.root()).unwrap().unwrap();
        assert_eq!(names(&state.all), ["model-1", "model-2"]);
        let (found, said) = recovered(&dir);
        assert_eq!((found.unwrap(), said.len()), (Some(saved[1].clone()), 0));
    }
}

#[test]
fn with_no_whole_checkpoint_training_does_not_start_from_nothing() {
    let dir = Scratch::new();
    assert_eq!(recovered(&dir).0.unwrap(), None);
    let saved = [save(&dir, 1, 0), save(&dir, 2, 0)];
    saved.iter().for_each(|p| flip(&data_path(p, 0, 1)));
    let e = recovered(&dir).0.unwrap_err();
    assert!(e.message().contains("none of the 2 checkpoints") && e.message().contains("model-2"), "{e}");
    assert!(saved.iter().all(|p| index_path(p).is_file()));
    // A user who removed them intends to start from the beginning.
    saved.iter().for_each(|p| remove(p).unwrap());
    let (found, said) = recovered(&dir);
    assert_eq!((found.unwrap(), said.len()), (None, 2));
}

#[test]
fn a_directory_is_used_once_it_has_a_checkpoint() {
    let dir = Scratch::new();
    assert!(!has_checkpoints(&dir.path("not/there")).unwrap());
    fs::write(dir.path("events.out.tfevents.1"), "").unwrap();
    assert!(!has_checkpoints(dir.root()).unwrap());
    save(&dir, 1, 0);
    assert!(has_checkpoints(dir.root()).unwrap());
}

#[test]
fn a_state_file_that_cannot_be_read_is_not_one_that_is_not_there() {
    let dir = Scratch::new();
    assert_eq!(State::read(dir.root()).unwrap(), None);
    std::fs::create_dir(dir.path("checkpoint")).unwrap();
    assert!(State::read(dir.root()).is_err());
    std::fs::remove_dir(dir.path("checkpoint")).unwrap();
    std::fs::write(dir.path("checkpoint"), "all_model_checkpoint_paths: 'a'").unwrap();
    let state = State::read(dir.root()).unwrap().unwrap();
    assert_eq!((state.all.len(), state.latest()), (1, Some(&dir.path("a"))));
}

#[test]
fn the_latest_of_the_state_file_has_an_index_but_is_not_verified() {
    let dir = Scratch::new();
    assert_eq!(latest_in_state(dir.root()).unwrap(), None);
    let saved = [save(&dir, 1, 0), save(&dir, 2, 0)];
    flip(&data_path(&saved[1], 0, 1));
    assert_eq!(latest_in_state(dir.root()).unwrap().as_ref(), Some(&saved[1]));
    assert_eq!(latest_checkpoint(dir.root()).unwrap().as_ref(), Some(&saved[0]));
    fs::remove_file(index_path(&saved[1])).unwrap();
    assert_eq!(latest_in_state(dir.root()).unwrap(), None);
}
