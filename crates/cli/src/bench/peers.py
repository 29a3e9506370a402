"""Measures TensorFlow, PyTorch and JAX for `thalweg bench`; run by it, not by hand.

serve THREADS: answers requests on standard input (see peer.rs). once GRAPH: feeds 1 to `x`,
fetches `sum`, and prints it with the peak memory of the process in kB and the size of the library in bytes.
"""

import os
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")


def once(path):
    import tensorflow.compat.v1 as tf
    graph_def = tf.GraphDef.FromString(open(path, "rb").read())
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
        with tf.Session(graph=graph) as session:
            value = session.run("sum:0", {"x:0": 1.0})
    status = open("/proc/self/status").read()
    size = 0
    for root, _, files in os.walk(os.path.dirname(sys.modules["tensorflow"].__file__)):
        size += sum(os.path.getsize(os.path.join(root, f)) for f in files)
    print(value, status.split("VmHWM:")[1].split()[0], size)


def per_run(f, seconds):
    n = 1
    while True:
        start = time.perf_counter()
        for _ in range(n):
            f()
        took = time.perf_counter() - start
        if took >= seconds / 2:
            return took / n
        n = int(n * min(10, max(2, seconds / max(took, 1e-9))))


class TensorFlow:
    """One session a graph; the callable that runs it goes straight to C++."""

    def __init__(self, threads, executor=""):
        import tensorflow.compat.v1 as tf
        tf.disable_eager_execution()
        self.tf, self.threads, self.executor = tf, threads, executor
        self.name = "TensorFlow" + (", 1-thread executor" if executor else "")
        self.steps = {}

    def config(self, optimise):
        tf = self.tf
        config = tf.ConfigProto(intra_op_parallelism_threads=self.threads)
        config.experimental.executor_type = self.executor
        if not optimise:
            config.graph_options.optimizer_options.opt_level = -1
            config.graph_options.rewrite_options.disable_meta_optimizer = True
        return config

    def step(self, id, path, feed, fetch, target, optimise):
        tf = self.tf
        if id not in self.steps:
            from tensorflow.core.protobuf import config_pb2
            graph_def = tf.GraphDef.FromString(open(path, "rb").read())
            graph = tf.Graph()
            with graph.as_default():
                tf.import_graph_def(graph_def, name="")
            session = tf.Session(graph=graph, config=self.config(optimise))
            options = config_pb2.CallableOptions()
            options.feed.extend([feed] if feed else [])
            options.fetch.extend([fetch] if fetch else [])
            options.target.extend([target] if target else [])
            call = session._make_callable_from_options(options)
            import numpy
            x = numpy.float32(1)
            self.steps[id] = (lambda: call(x)) if feed else call
        return self.steps[id]

    def build(self, nodes):
        tf = self.tf
        start = time.perf_counter()
        with tf.Graph().as_default() as graph:
            x = y = tf.placeholder(tf.float32, [])
            one = tf.constant(1.0)
            for _ in range(nodes):
                y = tf.raw_ops.AddV2(x=y, y=one)
            with tf.Session(graph=graph, config=self.config(True)) as session:
                session.run(y, {x: 1.0})
        return time.perf_counter() - start


class Torch:
    """Eager, as it is mostly used."""

    def __init__(self, threads):
        import torch
        self.torch, self.name = torch, "PyTorch"
        if threads:
            torch.set_num_threads(threads)
        torch.set_grad_enabled(False)

    def step(self, id, *_):
        torch = self.torch
        x, one = torch.tensor(1.0), torch.tensor(1.0)
        if id.startswith("chain"):
            def run():
                y = x
                for _ in range(1000):
                    y = y + one
                return y
            return run
        if id == "loop":
            limit, step = torch.tensor(10000, dtype=torch.int32), torch.tensor(1, dtype=torch.int32)

            def run():
                i = torch.tensor(0, dtype=torch.int32)
                while i < limit:
                    i = i + step
                return i
            return run
        if id.startswith("matmul"):
            m, k, n = map(int, id.split("-")[1:])
            a, b = torch.rand(m, k), torch.rand(k, n)
            return lambda: torch.mm(a, b)
        return None


class Jax:
    """Compiled by XLA."""

    def __init__(self, threads):
        if threads == 1:
            # No flag keeps XLA to one thread; one processor does.
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        import jax
        self.jax, self.name = jax, "JAX"

    def step(self, id, *_):
        jax = self.jax
        jnp = jax.numpy
        if id.startswith("chain"):
            def chain(x):
                for _ in range(1000):
                    x = x + 1
                return x
            f, x = jax.jit(chain), jnp.float32(1)
            return lambda: f(x).block_until_ready()
        if id == "loop":
            f = jax.jit(lambda n: jax.lax.while_loop(lambda i: i < n, lambda i: i + 1, 0))
            return lambda: f(10000).block_until_ready()
        if id.startswith("matmul"):
            m, k, n = map(int, id.split("-")[1:])
            a, b = jax.random.uniform(jax.random.key(0), (m, k)), jax.random.uniform(jax.random.key(1), (k, n))
            f = jax.jit(jnp.matmul)
            return lambda: f(a, b).block_until_ready()
        return None


def available(threads):
    makers = [
        lambda: TensorFlow(threads),
        lambda: TensorFlow(threads, "SINGLE_THREADED_EXECUTOR"),
        lambda: Torch(threads),
        lambda: Jax(threads),
    ]
    for make in makers:
        try:
            yield make()
        except ImportError:
            pass


def serve(threads):
    # What libraries print must not get among the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    peers = list(available(threads))
    for peer in peers:
        print(peer.name, 0, sep="\t", file=answers)
    print("end", file=answers, flush=True)
    kept = {}
    for line in sys.stdin:
        kind, id, *fields = line.rstrip("\n").split("\t")
        for peer in peers:
            try:
                if kind == "build":
                    if not hasattr(peer, "build") or getattr(peer, "executor", ""):
                        continue
                    seconds = peer.build(int(fields[0]))
                else:
                    path, feed, fetch, target, optimise, round_seconds = fields
                    key = (peer.name, id)
                    if key not in kept:
                        kept[key] = peer.step(id, path, feed, fetch, target, optimise == "1")
                    if kept[key] is None:
                        continue
                    kept[key]()
                    seconds = per_run(kept[key], float(round_seconds))
                print(peer.name, seconds, sep="\t", file=answers)
            except Exception as e:
                kept[(peer.name, id)] = None
                print(peer.name, id, e, file=sys.stderr)
        print("end", file=answers, flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "once":
        once(sys.argv[2])
    else:
        serve(int(sys.argv[2]))
