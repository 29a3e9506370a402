"""Shared by the tests that compare with real TensorFlow."""

import os
import pathlib
import re
import subprocess

import pytest

import judge

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug"


def pytest_configure():
    """Before any test file loads TensorFlow: its settings; and the program and the examples, once for all tests. With --workspace, as
    `cargo test` has built them: a package alone has other features of dependencies, and everything would be rebuilt."""
    judge.prepare()
    subprocess.run(["cargo", "build", "--quiet", "--workspace", "--bins", "--examples"], cwd=ROOT, check=True)


@pytest.fixture(scope="session")
def thalweg():
    """Runs the program with arguments and returns the completed process."""

    def run(*args, **kwargs):
        return subprocess.run([TARGET / "thalweg", *map(str, args)], capture_output=True, text=True, timeout=120, **kwargs)

    return run


@pytest.fixture(scope="session")
def case_dumps(tmp_path_factory):
    """All cases of all ops with our results, by the instruction set that computed them; written by the example `dump_cases`."""
    paths = {isa: tmp_path_factory.mktemp("cases") / isa for isa in ("avx512", "avx2", "baseline")}
    for isa, path in paths.items():
        command = [TARGET / "examples" / "dump_cases", str(path)]
        subprocess.run(command, cwd=ROOT, check=True, env=os.environ | {"THALWEG_MAX_ISA": isa})
    return paths


@pytest.fixture(scope="session")
def example():
    """Runs an example of one of our crates with arguments and returns its output."""

    def run(name, *args):
        command = [TARGET / "examples" / name, *map(str, args)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


class Server:
    """A `thalweg server` in a process of its own."""

    def __init__(self, *args):
        command = [TARGET / "thalweg", "server", *map(str, args or ("--port", 0))]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.ready = self.process.stdout.readline()
        found = re.fullmatch(r"thalweg server: listening on (grpcs?://\S+), task (\S+)\n", self.ready)
        if not found:
            self.process.kill()
            raise RuntimeError(f"the server did not start: {self.ready!r}")
        self.target, self.task = found.groups()

    def stop(self):
        """Shuts it down, and returns the exit code."""
        self.process.terminate()
        try:
            return self.process.wait(timeout=30)
        finally:
            self.process.kill()
            self.process.stdout.close()


@pytest.fixture(scope="session")
def start_server():
    """Starts servers with the arguments given; all are stopped at the end."""
    servers = []

    def start(*args):
        servers.append(Server(*args))
        return servers[-1]

    yield start
    for server in servers:
        if server.process.poll() is None:
            server.stop()


@pytest.fixture(scope="session")
def server(start_server):
    """One server for all tests. Its variables outlive sessions: tests use unique names, or reset."""
    return start_server()


@pytest.fixture
def own_server(start_server):
    """A server for one test."""
    server = start_server()
    yield server
    if server.process.poll() is None:
        assert server.stop() == 0
