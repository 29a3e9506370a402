//! The library's name, and the version of its symbols.

/// The number changes when a function's arguments do.
const SONAME: &str = "libthalweg.so.1";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        // Every exported symbol has the library's name as its version. The compiler brings a version script of its own, beside which only
        // GNU ld takes this.
        for arg in ["-fuse-ld=bfd", "-Wl,--default-symver", &format!("-Wl,-soname,{SONAME}")] {
            println!("cargo:rustc-cdylib-link-arg={arg}");
        }
    }
}
