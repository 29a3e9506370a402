//! The instruction set is detected in one file, and the limit is respected.

use std::path::{Path, PathBuf};
use std::process::Command;
use thalweg_math::isa::{self, Isa, MAX_ISA};

/// For any limit; the next test runs this one with each.
#[test]
fn kernels_keep_to_the_limit() {
    let limit = isa::limit().unwrap();
    assert!(isa::current() <= limit, "{} with {MAX_ISA}={limit}", isa::current());
    let sets: Vec<Isa> = isa::available().collect();
    assert_eq!((sets[0], sets[sets.len() - 1]), (isa::current(), Isa::Baseline));
}

#[test]
fn each_limit_holds_in_a_process_started_with_it() {
    for name in ["avx512", "avx2", "baseline"] {
        let mut again = Command::new(std::env::current_exe().unwrap());
        let done = again.args(["--exact", "kernels_keep_to_the_limit"]).env(MAX_ISA, name).output().unwrap();
        let text = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success() && text.contains("1 passed"), "{MAX_ISA}={name}: {text}");
    }
}

/// Kernels that use CPUID themselves would ignore `THALWEG_MAX_ISA`, and their other versions would not be tested.
#[test]
fn no_other_file_asks_the_cpu() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut asking = Vec::new();
    for file in sources(crates) {
        let text = std::fs::read_to_string(&file).unwrap();
        if ["feature_detected!", "__cpuid"].iter().any(|word| text.contains(word)) {
            asking.push(file.strip_prefix(crates).unwrap().to_path_buf());
        }
    }
    asking.sort();
    assert_eq!(asking, [Path::new("math/src/isa.rs"), Path::new("math/tests/isa.rs")]);
}

/// All Rust files below a directory.
fn sources(directory: &Path) -> Vec<PathBuf> {
    let (mut found, mut left) = (Vec::new(), vec![directory.to_path_buf()]);
    while let Some(at) = left.pop() {
        for entry in std::fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.push(path);
            }
        }
    }
    found
}
