#!/bin/sh
# The `tensorflow` crate of crates.io on the C library: its unit tests and its examples.
#
#     tests/capi/rust_binding.sh PREFIX FOLDER      PREFIX as packaging/capi.sh made it; FOLDER is where the crate is built
#
# Its build script asks pkg-config for `tensorflow`, and downloads nothing if it is there.
set -eu
version=0.21.0
prefix=$(cd "$1" && pwd)
mkdir -p "$2"
folder=$(cd "$2" && pwd)
cd "$folder"
if [ ! -d "tensorflow-$version" ]; then
    # The crate's sources, from wherever cargo is told to get them.
    cargo new --quiet --vcs none source
    cargo add --quiet --manifest-path source/Cargo.toml "tensorflow@=$version"
    cargo metadata --format-version 1 --manifest-path source/Cargo.toml |
        sed -n 's|.*"manifest_path":"\([^"]*/tensorflow-'"$version"'\)/Cargo.toml".*|\1|p' > source/where
    cp -R "$(cat source/where)" .
    rm -rf source "tensorflow-$version/Cargo.lock"
fi
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig" LD_LIBRARY_PATH="$prefix/lib" CARGO_TARGET_DIR="$folder/rust-target"
export RUSTFLAGS="--cap-lints allow"
cd "tensorflow-$version"
pkg-config --exists tensorflow
cargo test --lib --features eager,tensorflow_unstable,experimental,ndarray
# mobilenetv3 needs a model that TensorFlow makes from downloaded weights.
for example in addition regression regression_checkpoint regression_savedmodel xor expressions; do
    echo "== $example"
    cargo run --quiet --features eager,tensorflow_unstable,experimental,ndarray --example $example | tail -3
done
