"""Steps over a cluster: Thalweg's beside TensorFlow's own, with the same client and graphs, in alternating rounds.

    python bench_cluster.py [--thalweg PROGRAM] [--rounds N] [--torch PYTHON] [--only TEXT]

Both clusters are driven by TensorFlow's client, and ours also by our own (`thalweg run --session`): a step's time includes its
client's. Null step: each worker adds one to a number that it reads from the ps. Dense: each worker reads 100 MB of parameters. MLP: two
workers compute gradients of 784-512-512-10 on 64 examples each, which are averaged and applied on the ps; PyTorch does it with
DistributedDataParallel over gloo, if a Python that has it is named. Rows: a worker looks up 32 rows of a table on the ps, and the ps
updates them; the two tables' times must be the same.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

import judge

judge.quiet()

import numpy as np
import tensorflow as tf

import clusters

v1 = tf.compat.v1


def null_step(workers):
    with v1.device("/job:ps/task:0"):
        v = v1.get_variable("v", [], initializer=v1.zeros_initializer(), use_resource=True)
    updates = []
    for i in range(workers):
        with v1.device(f"/job:worker/task:{i}"):
            new = v.read_value() * 0 + 1
        with v1.device("/job:ps/task:0"):
            updates.append(v.assign_add(new, read_value=False))
    return {}, tf.group(*updates)


def dense(workers):
    with v1.device("/job:ps/task:0"):
        initial = v1.zeros_initializer()
        tables = [v1.get_variable(f"v{i}", [25_000_000 // 5], initializer=initial, use_resource=True) for i in range(5)]
    kept = []
    for i in range(workers):
        with v1.device(f"/job:worker/task:{i}"):
            # An element of each is fetched: unused tensors would not be sent.
            for j, table in enumerate(tables):
                first = v1.get_variable(f"first{i}_{j}", [1], initializer=initial, use_resource=True)
                kept.append(first.assign(table.read_value()[:1], read_value=False))
    return {}, tf.group(*kept)


def mlp(workers):
    sizes = [784, 512, 512, 10]
    layers = []
    for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
        with v1.device("/job:ps/task:0"):
            w = v1.get_variable(f"w{i}", [a, b], initializer=v1.glorot_uniform_initializer(seed=i))
            layers.append((w, v1.get_variable(f"b{i}", [b], initializer=v1.zeros_initializer())))
    optimizer, towers, feeds = v1.train.GradientDescentOptimizer(0.01), [], {}
    for i in range(workers):
        with v1.device(f"/job:worker/task:{i}"):
            x, y = v1.placeholder(tf.float32, [64, 784]), v1.placeholder(tf.int64, [64])
            random = np.random.RandomState(i)
            feeds[x], feeds[y] = random.rand(64, 784).astype("f"), random.randint(0, 10, 64)
            h = x
            for w, b in layers[:-1]:
                h = tf.nn.relu(tf.matmul(h, w) + b)
            logits = tf.matmul(h, layers[-1][0]) + layers[-1][1]
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
            towers.append(optimizer.compute_gradients(loss))
    with v1.device("/job:ps/task:0"):
        averaged = [(tf.add_n([g for g, _ in of]) / workers, of[0][1]) for of in zip(*towers)]
        return feeds, optimizer.apply_gradients(averaged)


def rows(megabytes):
    """A table of rows of 64 numbers, of which a worker looks up 32, others in each step."""
    count = megabytes * 1_000_000 // 256

    def make(workers):
        with v1.device("/job:ps/task:0"):
            table = v1.get_variable("table", [count, 64], initializer=v1.zeros_initializer(), use_resource=True)
        with v1.device("/job:worker/task:0"):
            which = v1.random_uniform([32], 0, count, tf.int32)
            loss = tf.reduce_sum(tf.square(tf.gather(table, which) - 1))
            gradients = v1.train.GradientDescentOptimizer(0.01).compute_gradients(loss)
        return {}, v1.train.GradientDescentOptimizer(0.01).apply_gradients(gradients)

    return make


def step(target, make, workers):
    graph = v1.Graph()
    with graph.as_default():
        feeds, train = make(workers)
        init = v1.global_variables_initializer()
    session = v1.Session(target, graph=graph)
    session.run(init)
    keys, values = list(feeds), list(feeds.values())
    call = session.make_callable(train, keys)
    return session, lambda: call(*values)


def timed(f, seconds):
    """The median time of a call, within a time budget."""
    f()
    times, end = [], time.perf_counter() + seconds
    while not times or time.perf_counter() < end:
        start = time.perf_counter()
        f()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


class OwnClient:
    """The same step, driven by `thalweg run`."""

    def __init__(self, target, make, workers, folder):
        graph = v1.Graph()
        with graph.as_default():
            feeds, train = make(workers)
            init = v1.global_variables_initializer()
        file = os.path.join(folder, "graph.pb")
        with open(file, "wb") as out:
            out.write(graph.as_graph_def().SerializeToString())
        self.command = [clusters.PROGRAM, "run", file, "--session", target, "--init", init.name, "--target", train.name]
        for i, (tensor, value) in enumerate(feeds.items()):
            np.save(os.path.join(folder, f"{i}.npy"), value)
            self.command += ["--feed", f"{tensor.name}={folder}/{i}.npy"]

    def timed(self, calls):
        told = subprocess.run(self.command + ["--repeat", str(calls)], capture_output=True, text=True, check=True).stderr
        number, unit = re.search(r"median ([0-9.]+)(\S+),", told).groups()
        return float(number) * {"s": 1, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}[unit]


DDP = """
import os, sys, time, torch, torch.distributed as dist, torch.nn as nn
rank = int(sys.argv[1])
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=sys.argv[2])
torch.set_num_threads(1)
dist.init_process_group("gloo", rank=rank, world_size=2)
net = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
x, y = torch.rand(64, 784), torch.randint(0, 10, (64,))
def step():
    optimizer.zero_grad()
    nn.functional.cross_entropy(net(x), y).backward()
    optimizer.step()
for _ in range(20):
    step()
n = int(sys.argv[3])
start = time.perf_counter()
for _ in range(n):
    step()
if rank == 0:
    print((time.perf_counter() - start) / n)
"""


def ddp(python):
    port = str(clusters.free_ports(1)[0])
    command = lambda rank: [python, "-c", DDP, str(rank), port, "100"]
    other = subprocess.Popen(command(1), stderr=subprocess.DEVNULL)
    seconds = float(subprocess.run(command(0), capture_output=True, text=True, check=True).stdout)
    other.wait()
    return seconds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--thalweg", default=None)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--torch", default=None)
    parser.add_argument("--only", default="", help="rows of the table whose names have this in them")
    args = parser.parse_args()
    if args.thalweg:
        clusters.PROGRAM = args.thalweg
    print(f"{'':34}{'thalweg':>12}{'TensorFlow':>12}{'ratio':>8}{'own client':>13}{'ratio':>8}")
    for name, make, workers, seconds in [
        ("null step, 1 worker", null_step, 1, 0.3),
        ("null step, 4 workers", null_step, 4, 0.3),
        ("100 MB dense, 1 worker", dense, 1, 1.0),
        ("100 MB dense, 4 workers", dense, 4, 2.0),
        ("MLP, synchronous, 2 workers", mlp, 2, 0.5),
        ("32 rows of 100 MB", rows(100), 1, 0.3),
        ("32 rows of 4 GB", rows(4000), 1, 0.3),
    ]:
        if args.only not in name:
            continue
        sessions, folder = [], tempfile.TemporaryDirectory()
        made = {kind: clusters.Cluster({"ps": [kind], "worker": [kind] * workers}) for kind in ("thalweg", "tensorflow")}
        try:
            steps = {}
            for kind, c in made.items():
                session, steps[kind] = step(c.target("worker", 0), make, workers)
                sessions.append(session)
            own = OwnClient(made["thalweg"].target("worker", 0), make, workers, folder.name)
            times = {kind: [] for kind in [*made, "own"]}
            for _ in range(args.rounds):
                for kind, run in steps.items():
                    times[kind].append(timed(run, seconds))
                times["own"].append(own.timed(max(10, int(seconds / times["thalweg"][-1]))))
            ours, theirs, own = (statistics.median(times[k]) for k in ("thalweg", "tensorflow", "own"))
            row = f"{name:34}{ours * 1e3:9.2f} ms{theirs * 1e3:9.2f} ms{ours / theirs:7.2f}x"
            print(f"{row}{own * 1e3:10.2f} ms{own / theirs:7.2f}x", flush=True)
        finally:
            # Closing a session waits for a server that was stopped.
            for session in sessions:
                session.close()
            for c in made.values():
                c.stop()
            folder.cleanup()
    if args.torch:
        found = statistics.median(ddp(args.torch) for _ in range(args.rounds))
        print(f"{'MLP, PyTorch DDP over gloo':34}{'':12}{found * 1e3:9.2f} ms")


if __name__ == "__main__":
    main()
