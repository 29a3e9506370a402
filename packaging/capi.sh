#!/bin/sh
# Lays out the C library as a system would: lib/, include/ and pkg-config files under PREFIX.
#
#     packaging/capi.sh target/debug target/capi       (after cargo build -p thalweg-capi)
#
# tensorflow.pc names the same library: bindings that look for TensorFlow find it with PKG_CONFIG_PATH=PREFIX/lib/pkgconfig.
set -eu
built=$1
mkdir -p "$2"
prefix=$(cd "$2" && pwd)
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$prefix/lib/pkgconfig" "$prefix/include"
cp -f "$built/libthalweg_capi.so" "$prefix/lib/libthalweg.so.1"
ln -sf libthalweg.so.1 "$prefix/lib/libthalweg.so"
cp -R "$root/crates/capi/include/." "$prefix/include/"
for name in thalweg tensorflow; do
    cat > "$prefix/lib/pkgconfig/$name.pc" <<END
prefix=$prefix
Name: $name
Description: TensorFlow's C API over Thalweg's engine
Version: 2.21.0
Libs: -L\${prefix}/lib -lthalweg
Cflags: -I\${prefix}/include
END
done
