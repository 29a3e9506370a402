//! The fuzzing corpus, and mutations of it: nothing panics.

use std::path::PathBuf;
use thalweg_fuzzing::TARGETS;

fn corpus(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let files = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files: Vec<PathBuf> = files.map(|f| f.unwrap().path()).collect();
    files.sort();
    files.into_iter().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

/// A xorshift generator.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 as usize % below.max(1)
    }
}

#[test]
fn what_was_found_before_and_its_neighbours_are_handled() {
    for target in TARGETS {
        let found = corpus(target.name);
        assert!(!found.is_empty(), "{} has no corpus", target.name);
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        for (path, bytes) in &found {
            let run = |bytes: &[u8]| {
                let handled = std::panic::catch_unwind(|| (target.run)(bytes));
                assert!(
                    handled.is_ok(),
                    "{}: {} or a change of it: {bytes:02x?}",
                    target.name,
                    path.display()
                );
            };
            run(bytes);
            for _ in 0..8 {
                let mut changed = bytes.clone();
                for _ in 0..=random.next(3) {
                    let at = random.next(changed.len());
                    match random.next(3) {
                        0 => changed.truncate(at),
                        1 => changed.insert(at, random.next(256) as u8),
                        _ => changed.iter_mut().skip(at).take(1).for_each(|b| *b ^= 1 << random.next(8)),
                    }
                }
                run(&changed);
            }
        }
    }
}
