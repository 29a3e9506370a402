//! Runs the fuzz target named by `THALWEG_FUZZ_TARGET`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;
use thalweg_fuzzing::Target;

static TARGET: OnceLock<&'static Target> = OnceLock::new();

fuzz_target!(|bytes: &[u8]| {
    let target = TARGET.get_or_init(|| {
        let name = std::env::var("THALWEG_FUZZ_TARGET").unwrap_or_default();
        thalweg_fuzzing::target(&name).unwrap_or_else(|| {
            let names: Vec<_> = thalweg_fuzzing::TARGETS.iter().map(|t| t.name).collect();
            panic!("THALWEG_FUZZ_TARGET is '{name}', not one of {}", names.join(", "))
        })
    });
    (target.run)(bytes);
});
