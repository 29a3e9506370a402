"""Shared by the tests that compare with real TensorFlow."""

import os
import pathlib
import subprocess

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug"


@pytest.fixture(scope="session")
def thalweg():
    """Runs the program with arguments and gives the finished process."""

    def run(*args, **kwargs):
        return subprocess.run([TARGET / "thalweg", *map(str, args)], capture_output=True, text=True, timeout=120, **kwargs)

    return run


@pytest.fixture(scope="session")
def case_dump(tmp_path_factory):
    """All cases of all ops with our results, written by the example `dump_cases`."""
    path = tmp_path_factory.mktemp("cases") / "cases.bin"
    subprocess.run(["cargo", "run", "--quiet", "-p", "thalweg-runtime", "--example", "dump_cases", "--", str(path)], cwd=ROOT, check=True)
    return path


@pytest.fixture(scope="session")
def example():
    """Runs an example of one of our crates with arguments and gives what it prints."""

    def run(package, name, *args):
        cargo = ["cargo", "run", "--quiet", "-p", package, "--example", name, "--"]
        done = subprocess.run([*cargo, *map(str, args)], cwd=ROOT, capture_output=True, text=True, timeout=900)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
