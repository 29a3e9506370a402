//! Release builds fold functions that came out the same: of kernels for types of the same size there are many.

fn main() {
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|v| v == value);
    // Only where Rust itself brings the linker that can do it.
    let linked_by_lld = is("TARGET", "x86_64-unknown-linux-gnu");
    if is("PROFILE", "release") && linked_by_lld {
        println!("cargo:rustc-link-arg-bins=-Wl,--icf=all");
    }
    println!("cargo:rerun-if-changed=build.rs");
}
