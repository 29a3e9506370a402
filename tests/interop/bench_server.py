"""`thalweg server` beside TensorFlow's own, with the same client: the real TensorFlow package.

Rounds alternate between the two, the medians are compared. Both servers run for the whole time, each in a process of its own.

    python tests/interop/bench_server.py [--binary target/release/thalweg] [--rounds 7] [--only WORDS]
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import judge

judge.quiet()

import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))


class Served:
    """A server process: the line it prints names its target."""

    def __init__(self, *command):
        self.process = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.target = next(w for w in self.process.stdout.readline().split() if w.startswith("grpc://")).rstrip(",")

    def resident(self):
        """Resident memory in mebibytes."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    def stop(self):
        self.process.kill()
        self.process.wait()


# The benchmarks. Each adds to the current graph and returns a function from a target to the seconds of one round.


def steps(count, prepare):
    """The time per step of `count` steps, in one open session."""
    open_sessions = {}

    def round_(target):
        if target not in open_sessions:
            session = tf1.Session(target)
            open_sessions[target] = prepare(session)
        step = open_sessions[target]
        began = time.perf_counter()
        for _ in range(count):
            step()
        return (time.perf_counter() - began) / count

    return round_


def trivial():
    c = tf.constant(1.0)
    return steps(500, lambda s: lambda: s.run(c))


def training_graph():
    """One example through 784 x 100 weights and a relu, and a step of gradient descent."""
    x = tf1.placeholder(tf.float32, [1, 784])
    w = tf1.get_variable("w", initializer=tf1.random_normal([784, 100], stddev=0.01, seed=1))
    b = tf1.get_variable("b", initializer=tf1.zeros([100]))
    loss = tf1.reduce_sum(tf.square(tf.nn.relu(x @ w + b) - 1.0))
    return x, tf1.train.GradientDescentOptimizer(1e-4).minimize(loss), loss


def training():
    x, train, loss = training_graph()
    image = np.random.default_rng(0).random((1, 784), np.float32)

    def prepare(session):
        session.run(tf1.global_variables_initializer())
        return lambda: session.run([train, loss], {x: image})

    return steps(300, prepare)


def large_feed_and_fetch():
    x = tf1.placeholder(tf.float32, [None])
    y = tf.identity(x)
    value = np.ones(4 << 20, np.float32)
    return steps(5, lambda s: lambda: s.run(y, {x: value}))


def first_run(nodes):
    """A new session, and the first step in it."""

    def make():
        tf1.placeholder(tf.float32, [4], name="x")
        definition = tf1.get_default_graph().as_graph_def()
        previous = ["x", "x"]
        for i in range(nodes - 1):
            node = definition.node.add(name=f"n{i}", op=("AddV2", "Mul", "Sub")[i % 3])
            node.input.extend(previous)
            node.attr["T"].type = 1
            previous = [f"n{i}", previous[i % 2]]
        graph = tf1.Graph()
        with graph.as_default():
            tf1.import_graph_def(definition, name="")
        fetch, feed = f"n{nodes - 2}:0", {"x:0": np.full(4, 0.5, np.float32)}

        def round_(target):
            session = tf1.Session(target, graph=graph)
            began = time.perf_counter()
            session.run(fetch, feed)
            took = time.perf_counter() - began
            session.close()
            return took

        return round_

    return make


CLIENTS, CLIENT_STEPS = 8, 400


def many_clients():
    """Concurrent client processes that run training steps; the time per step over all of them."""

    def round_(target):
        command = [sys.executable, __file__, "--client", target]
        pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        said = [tempfile.TemporaryFile("w+") for _ in range(CLIENTS)]
        clients = [subprocess.Popen(command, stderr=file, **pipes) for file in said]

        def expect(word):
            for c, file in zip(clients, said):
                if c.stdout.readline() != word + "\n":
                    file.seek(0)
                    raise RuntimeError(f"a client of {target} ended with {c.wait()}:\n{file.read()}")

        expect("ready")
        began = time.perf_counter()
        for c in clients:
            c.stdin.write("go\n")
            c.stdin.flush()
        expect("done")
        took = time.perf_counter() - began
        for c in clients:
            c.communicate("bye\n")
        return took / (CLIENTS * CLIENT_STEPS)

    return round_


def client(target):
    """One of the client processes. Each has its own variables."""
    x, train, loss = training_graph()
    image = np.random.default_rng(0).random((1, 784), np.float32)
    with tf1.Session(target, config=tf1.ConfigProto(isolate_session_state=True)) as session:
        session.run(tf1.global_variables_initializer())
        for _ in range(20):
            session.run([train, loss], {x: image})
        print("ready", flush=True)
        sys.stdin.readline()
        for _ in range(CLIENT_STEPS):
            session.run([train, loss], {x: image})
        print("done", flush=True)
        sys.stdin.readline()


# Name, constructor, unit, units per second, the largest acceptable ratio, the limit on rounds.
CASES = [
    ("trivial fetch", trivial, "µs", 1e6, 0.6, None),
    ("training step 1x784x100", training, "µs", 1e6, 0.6, None),
    ("feed and fetch 16 MiB", large_feed_and_fetch, "ms", 1e3, 0.7, None),
    ("first run, 1,000 nodes", first_run(1000), "ms", 1e3, 0.3, None),
    ("first run, 20,000 nodes", first_run(20000), "ms", 1e3, 0.3, 3),
    (f"{CLIENTS} clients, time of a step", many_clients, "µs", 1e6, 0.5, 3),
]


def row(name, ours, theirs, unit, target):
    ratio = ours / theirs
    verdict = "ok" if ratio <= target else "MISSED"
    print(f"{name:<28} {ours:>10.1f} {theirs:>12.1f} {unit:<4} {ratio:>6.2f} {target:>7.2f}  {verdict}", flush=True)


def serve_tensorflow():
    server = tf.distribute.Server.create_local_server()
    print(server.target, flush=True)
    server.join()


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--binary", default=TARGET / "release/thalweg")
    arguments.add_argument("--rounds", type=int, default=7)
    arguments.add_argument("--only", default="")
    arguments.add_argument("--client", help=argparse.SUPPRESS)
    arguments.add_argument("--tensorflow", action="store_true", help=argparse.SUPPRESS)
    arguments = arguments.parse_args()
    if arguments.tensorflow:
        return serve_tensorflow()
    tf1.disable_eager_execution()
    if arguments.client:
        return client(arguments.client)
    servers = [Served(arguments.binary, "server", "--port", 0), Served(sys.executable, __file__, "--tensorflow")]
    try:
        compare(servers, arguments)
    finally:
        for server in servers:
            server.stop()


def compare(servers, arguments):
    print(f"{'':<28} {'thalweg':>10} {'tensorflow':>12} {'':<4} {'ratio':>6} {'target':>7}")
    for name, make, unit, scale, target, limit in CASES:
        if arguments.only not in name:
            continue
        with tf1.Graph().as_default():
            round_ = make()
            for server in servers:
                round_(server.target)
            rounds = range(min(arguments.rounds, limit or arguments.rounds))
            times = [[round_(server.target) for server in servers] for _ in rounds]
        ours, theirs = (statistics.median(t) * scale for t in zip(*times))
        row(name, ours, theirs, unit, target)
    row("resident memory after it all", *(s.resident() for s in servers), "MiB", 0.2)


if __name__ == "__main__":
    main()
