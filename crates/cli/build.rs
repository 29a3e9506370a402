//! Makes the binary smaller: identical code folding, as generic code has many duplicates (a tenth of it), and packed relative
//! relocations (a megabyte). And names the version: with the commit in a release build, whose crates are not built anew for each commit.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-env=THALWEG_VERSION={}", version());
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

/// `0.1.0 (commit 1a2b3c4, x86_64-unknown-linux-gnu)`, with the cargo features that are on. Builds outside of a checkout say in
/// THALWEG_COMMIT what they are of.
fn version() -> String {
    let var = |name: &str| std::env::var(name).unwrap_or_default();
    println!("cargo:rerun-if-env-changed=THALWEG_COMMIT");
    let commit = match (var("THALWEG_COMMIT"), var("PROFILE").as_str()) {
        (given, _) if !given.is_empty() => format!("commit {given}"),
        (_, "release") => {
            println!("cargo:rerun-if-changed=../../.git/logs/HEAD");
            git_commit().map_or("unknown commit".into(), |commit| format!("commit {commit}"))
        }
        _ => "debug build".into(),
    };
    let mut parts = vec![commit, var("TARGET")];
    let features: Vec<String> = std::env::vars()
        .filter_map(|(name, _)| {
            name.strip_prefix("CARGO_FEATURE_").map(|f| f.to_lowercase().replace('_', "-"))
        })
        .filter(|name| name != "default")
        .collect();
    if !features.is_empty() {
        parts.push(format!("features {}", features.join(" ")));
    }
    format!("{} ({})", var("CARGO_PKG_VERSION"), parts.join(", "))
}

fn git_commit() -> Option<String> {
    let output = std::process::Command::new("git").args(["rev-parse", "--short", "HEAD"]).output().ok()?;
    let commit = String::from_utf8(output.stdout).ok()?.trim().to_string();
    (output.status.success() && !commit.is_empty()).then_some(commit)
}
