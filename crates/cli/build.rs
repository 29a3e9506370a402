//! Makes the binary smaller: identical code folding, as generic code has many duplicates (a tenth of it), and packed relative
//! relocations (a megabyte).

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|v| v == value);
    // The linker that Rust ships for this target supports it; others may not.
    if !(is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ARCH", "x86_64")
        && is("PROFILE", "release"))
    {
        return;
    }
    println!("cargo:rustc-link-arg-bins=-Wl,--icf=all");
    let here = std::env::var("HOST").is_ok_and(|host| is("TARGET", &host));
    if here && is("CARGO_CFG_TARGET_ENV", "gnu") && glibc().is_some_and(|version| version >= (2, 36)) {
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The glibc version of this machine. Loaders before 2.36 do not support packed relocations.
fn glibc() -> Option<(u32, u32)> {
    let output = std::process::Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
