#!/bin/sh
# npm's `@tensorflow/tfjs-node` on the C library: its own tests, those of tfjs-core on its backend.
#
#     tests/capi/node_binding.sh PREFIX FOLDER      PREFIX as packaging/capi.sh made it; FOLDER is where the package is built
#
# The package's install script would download TensorFlow's library: it is not run. Its addon is compiled from its sources with our headers.
# NODE_HEADERS: the folder with node_api.h (/usr/include/node).
set -eu
version=4.22.0
prefix=$(cd "$1" && pwd)
mkdir -p "$2/node"
cd "$2/node"
[ -f package.json ] || npm init -y > /dev/null
npm install --ignore-scripts --no-audit --no-fund "@tensorflow/tfjs-node@$version" jasmine@3 jasmine-core@3 yargs@16 esbuild@0.25
cd node_modules/@tensorflow/tfjs-node
mkdir -p lib/napi-v8
g++ -O1 -std=c++17 -fPIC -shared -DNAPI_VERSION=8 -I. -I"${NODE_HEADERS:-/usr/include/node}" -I"$prefix/include" \
    binding/tfjs_backend.cc binding/tfjs_binding.cc -o lib/napi-v8/tfjs_binding.node -L"$prefix/lib" -lthalweg -Wl,-rpath,"$prefix/lib"
# The tests are modules of another kind than the package: one file of both.
npx esbuild dist/run_tests.js --bundle --ignore-annotations --platform=node --main-fields=main --log-level=error \
    --external:@mapbox/node-pre-gyp --external:jasmine --external:jasmine-core --external:yargs --outfile=dist/all_tests.js
node dist/all_tests.js > tests.txt 2>&1 || { tail -100 tests.txt; exit 1; }
grep " specs" tests.txt
