# make test     everything CI checks: formatting, lints, tests, and the tests with real TensorFlow
# make check    the quick part: formatting and lints
# make isa      the tests of kernels with each instruction set below this machine's best
# make parquet  the tests of `thalweg train parquet`, which is behind a cargo feature
# make fuzz     the long property runs (CASES=10000000)
# make fuzz-quick      libFuzzer for SECONDS (60) on each target of crates/fuzzing, or on TARGETS; needs a C++ compiler and cargo-fuzz
# make python   the Python package: builds a wheel, installs it into a virtual environment of its own, and tests it there
# make capi     the C library and its tests: needs gcc and Python, and TensorFlow's package for the comparison with it
# make capi-bindings   bindings of other languages from their registries, with their own tests, on the C library
# make notebook the same package in a notebook, executed without a browser (PLOTS=folder keeps the plots)
# make wheel    the wheel that is published, in dist/
# make bench    Thalweg beside TensorFlow
# make differential  every op on TensorFlow and on a Thalweg server, N cases each (SEED=... repeats a run)
# make coverage-ops  the same, with the table: for each op the types, the cases, the largest difference
# make lectures        the lectures' programs with all their steps; asserts accuracy and loss (DATA=folder with MNIST's files)
# make kills           thalweg train mnist, killed and resumed at KILLS random moments (DATA=folder with MNIST's files)
# make dist     a release: static binary, man pages, completions, checksums, in dist/ (TARGET=x86_64-unknown-linux-musl if it is installed)
# make bench-server    thalweg server beside TensorFlow's, with TensorFlow's client
CASES ?= 10000000
VENV ?= .venv
PYVENV ?= .venv-python
NBVENV ?= .venv-notebook
PYTHON ?= python3
N ?= 100
KILLS ?= 100
SECONDS ?= 60
TARGETS ?= $(notdir $(wildcard fuzz/corpus/*))

.PHONY: test check rust features parquet isa python notebook capi capi-bindings wheel interop differential coverage-ops shuttle fuzz fuzz-quick threads lectures kills bench bench-server dist clean-venv

test: check rust isa shuttle features python interop capi

check:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings

# A program that only runs graphs builds neither the server nor the training.
features:
	cargo check -p thalweg --no-default-features

# With features of dependencies that rebuild the workspace: some minutes, and not a part of `test`.
parquet:
	cargo test -p thalweg-cli --features parquet --lib parquet

rust:
	cargo test --workspace

# Kernels are dispatched by instruction set: this tests the versions below this machine's best. With --workspace, so that nothing is rebuilt.
isa:
	for isa in avx2 baseline; do \
		THALWEG_MAX_ISA=$$isa cargo test --workspace --lib -- gemm:: random:: window:: || exit 1; \
		THALWEG_MAX_ISA=$$isa cargo test --workspace --test isa --test elementary --test random --test reduce --test softmax --test every_op || exit 1; \
	done

# The scheduling core under shuttle's random interleavings.
shuttle:
	cargo test -p thalweg-runtime --features shuttle --lib shuttle

# Real TensorFlow in its own virtual environment, created once.
$(VENV)/ready: tests/interop/requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check -r tests/interop/requirements.txt
	touch $@

# The Python package in an environment with nothing but numpy and pytest.
$(PYVENV)/ready: tests/python/requirements.txt
	$(PYTHON) -m venv --clear $(PYVENV)
	$(PYVENV)/bin/pip install --quiet --disable-pip-version-check -r tests/python/requirements.txt
	touch $@

# The engine as `rust` and `interop` build it, with --workspace; the stubs are generated from its op table.
python: $(PYVENV)/ready
	cargo build --workspace --lib --bins --examples
	$(PYVENV)/bin/python packaging/dev_wheel.py target/debug/lib_engine.so target/python
	$(PYVENV)/bin/pip install --quiet --disable-pip-version-check --force-reinstall --no-deps target/python/thalweg-*.whl
	cd tests/python && $(abspath $(PYVENV))/bin/python -m pytest -q .

# With TensorFlow's library as judge, if `make interop` or somebody else has installed it.
CAPI_PYTHON = $(if $(wildcard $(VENV)/ready),$(abspath $(VENV))/bin/python,$(PYTHON))
capi:
	cargo build --workspace --lib --bins --examples
	packaging/capi.sh target/debug target/capi
	cd tests/capi && $(CAPI_PYTHON) test_capi.py

# crates.io's `tensorflow` and npm's `@tensorflow/tfjs-node`, downloaded and built under target/bindings.
capi-bindings:
	cargo build -p thalweg-capi
	packaging/capi.sh target/debug target/capi
	tests/capi/rust_binding.sh target/capi target/bindings
	tests/capi/node_binding.sh target/capi target/bindings

$(NBVENV)/ready: tests/notebook/requirements.txt
	$(PYTHON) -m venv --clear $(NBVENV)
	$(NBVENV)/bin/pip install --quiet --disable-pip-version-check -r tests/notebook/requirements.txt
	touch $@

notebook: $(PYVENV)/ready $(NBVENV)/ready
	cargo build --workspace --lib
	$(PYVENV)/bin/python packaging/dev_wheel.py target/debug/lib_engine.so target/python
	$(NBVENV)/bin/pip install --quiet --disable-pip-version-check --force-reinstall --no-deps target/python/thalweg-*.whl
	cd tests/notebook && $(abspath $(NBVENV))/bin/python -m pytest -q .

# With zig as linker, so that it runs on any Linux of the last years; maturin checks that. The stubs come from the engine itself.
wheel: $(PYVENV)/ready
	$(PYVENV)/bin/pip install --quiet --disable-pip-version-check 'maturin[zig]>=1.9.4,<2'
	$(PYVENV)/bin/pip uninstall --quiet --yes thalweg
	cargo build --profile release -p thalweg-py
	cp target/release/lib_engine.so python/thalweg/_engine.abi3.so
	cd python && ../$(PYVENV)/bin/python -m thalweg._stubs thalweg
	rm python/thalweg/_engine.abi3.so
	$(PYVENV)/bin/maturin build --release --manifest-path crates/py/Cargo.toml --out dist

interop: $(VENV)/ready
	# With --workspace, as `rust` does: other features of dependencies would rebuild everything.
	cargo build --workspace --bins --examples
	$(VENV)/bin/python -m pytest -q tests/interop
	# With TensorFlow's own kernels, as on CPUs where oneDNN is not its default.
	TF_ENABLE_ONEDNN_OPTS=0 $(VENV)/bin/python -m pytest -q tests/interop/test_cases.py

differential coverage-ops: $(VENV)/ready
	cargo build --workspace --bins
	cd tests/interop && $(abspath $(VENV))/bin/python -m differential --cases $(N) $(if $(SEED),--seed $(SEED)) $(if $(filter coverage-ops,$@),--table)

# With overflow checks: sizes wrap silently in a release build.
fuzz:
	CARGO_PROFILE_BENCH_OVERFLOW_CHECKS=true THALWEG_FUZZ_CASES=$(CASES) cargo test --profile bench -p thalweg-runtime --test fuzz -- --nocapture

# Coverage-guided, on stable Rust, without a sanitizer: the fuzzed code has next to no unsafe code. fuzz/corpus is read-only; new inputs go
# to fuzz/found, and are added to the corpus by hand.
fuzz-quick:
	command -v cargo-fuzz > /dev/null || cargo install cargo-fuzz
	cargo fuzz build --sanitizer none any
	for target in $(TARGETS); do \
		mkdir -p fuzz/found/$$target; \
		echo "== $$target"; \
		THALWEG_FUZZ_TARGET=$$target cargo fuzz run --sanitizer none any fuzz/found/$$target fuzz/corpus/$$target -- \
			-max_total_time=$(SECONDS) -timeout=20 -rss_limit_mb=2048 -max_len=16384 -print_final_stats=1 -verbosity=0 || exit 1; \
	done

threads:
	THALWEG_STRESS_THREADS=64 THALWEG_STRESS_STEPS=20000 cargo test --profile bench -p thalweg-runtime --test threads -- --nocapture

lectures:
	cargo build --release -p thalweg-cli
	$(PYTHON) tests/interop/full_training.py $(if $(DATA),--data $(DATA))

kills: $(VENV)/ready
	cargo build --release -p thalweg-cli
	$(VENV)/bin/python tests/interop/kill_training.py --kills $(KILLS) $(if $(DATA),--data $(DATA))
	$(VENV)/bin/python tests/interop/kill_training.py --kills 10 --model cnn --steps 150 $(if $(DATA),--data $(DATA))

bench: $(VENV)/ready
	cargo run --release -p thalweg-cli -- bench exec --python $(VENV)/bin/python

bench-server: $(VENV)/ready
	cargo build --release -p thalweg-cli
	$(VENV)/bin/python tests/interop/bench_server.py

dist:
	packaging/dist.sh

clean-venv:
	rm -rf $(VENV) $(PYVENV) $(NBVENV)
