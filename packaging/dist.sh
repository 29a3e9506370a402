#!/usr/bin/env bash
# A release for Linux: a static binary, man pages, completions, checksums, in dist/.
#
# TARGET is the target triple. A musl target that is installed (`rustup target add x86_64-unknown-linux-musl`) is used if TARGET names it;
# without, glibc is linked statically.
set -euo pipefail
cd "$(dirname "$0")/.."

host="$(rustc -vV | sed -n 's/^host: //p')"
TARGET="${TARGET:-$host}"
PROFILE="${PROFILE:-release}"
folder="$PROFILE"
[ "$PROFILE" = dev ] && folder=debug
built="${CARGO_TARGET_DIR:-target}/$folder"
across=()
if [ "$TARGET" != "$host" ]; then
    across=(--target "$TARGET")
    built="${CARGO_TARGET_DIR:-target}/$TARGET/$folder"
fi
cargo rustc --profile "$PROFILE" "${across[@]}" -p thalweg-cli --bin thalweg -- -C target-feature=+crt-static

version="$("$built/thalweg" --version | cut -d' ' -f2)"
name="thalweg-$version-$TARGET"
out="dist/$name"
rm -rf "$out"
mkdir -p "$out/man" "$out/completions"
cp "$built/thalweg" "$out/"
"$out/thalweg" generate man --out "$out/man"
"$out/thalweg" generate bash > "$out/completions/thalweg.bash"
"$out/thalweg" generate zsh > "$out/completions/_thalweg"
"$out/thalweg" generate fish > "$out/completions/thalweg.fish"
cp LICENSE README.md "$out/"
cp -r packaging/systemd packaging/kubernetes "$out/"
tar -C dist --sort=name --owner=0 --group=0 --numeric-owner -czf "dist/$name.tar.gz" "$name"
(cd dist && sha256sum "$name.tar.gz" > "$name.tar.gz.sha256")
(cd "$out" && find . -type f ! -name SHA256SUMS -print0 | sort -z | xargs -0 sha256sum > SHA256SUMS)
if ldd "$out/thalweg" 2>&1 | grep -q '=>'; then
    echo "the binary is not static" >&2
    exit 1
fi
echo "dist/$name.tar.gz"
