"""GFLOP/s of f32 matrix products in TensorFlow, PyTorch and numpy on this machine.

    python gemm_peers.py LIBRARY THREADS      one library, in this process
    python gemm_peers.py                      all that are installed, 1 and 2 threads

Thread counts are fixed when a library starts, so each combination runs in a process of
its own. PEER_PYTHONS may list the interpreters to try, separated by colons. Prints one
line `library threads m k n gflops` per size: the median of several rounds, the best of
those medians over a few visits to the size, since the machine may be busy with others.
"""

import os
import statistics
import subprocess
import sys
import time

SQUARES = [64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048]
SIZES = [(s, s, s) for s in SQUARES] + [(128, 784, 512), (20, 400, 800)]
LIBRARIES = ["tensorflow", "torch", "numpy"]
VISITS, ROUNDS, ROUND_SECONDS = 6, 7, 0.005


def tensorflow(threads):
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import numpy as np
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)

    def make(m, k, n):
        a = tf.constant(np.random.rand(m, k).astype("f"))
        b = tf.constant(np.random.rand(k, n).astype("f"))
        # The raw op: eager execution with the least call overhead.
        raw = tf.raw_ops.MatMul
        return lambda: raw(a=a, b=b)

    return make


def tensorflow_graph(threads):
    """A chain of products in one graph call, so that the call overhead is amortised."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import numpy as np
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    # Grappler would prune unused products.
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    count = 50

    def make(m, k, n):
        a = [tf.constant(np.random.rand(m, k).astype("f")) for _ in range(2)]
        b = tf.constant(np.random.rand(k, n).astype("f"))

        @tf.function(input_signature=[tf.TensorSpec((m, k)), tf.TensorSpec((m, k)), tf.TensorSpec((k, n))])
        def chain(x, y, w):
            # Control dependencies order the products and prevent common subexpression elimination.
            last = tf.no_op()
            for i in range(count):
                with tf.control_dependencies([last]):
                    last = tf.raw_ops.MatMul(a=x if i % 2 else y, b=w).op
            with tf.control_dependencies([last]):
                return tf.constant(0)

        call = lambda: chain(a[0], a[1], b)
        call.count = count
        return call

    return make


def torch(threads):
    import torch as t

    t.set_num_threads(threads)
    t.set_grad_enabled(False)

    def make(m, k, n):
        a, b, c = t.rand(m, k), t.rand(k, n), t.empty(m, n)
        return lambda: t.mm(a, b, out=c)

    return make


def numpy(threads):
    os.environ["OPENBLAS_NUM_THREADS"] = str(threads)
    import numpy as np

    def make(m, k, n):
        a, b = np.random.rand(m, k).astype("f"), np.random.rand(k, n).astype("f")
        c = np.empty((m, n), "f")
        return lambda: np.matmul(a, b, out=c)

    return make


def seconds(call, calls):
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - start) / calls


def busy_ticks():
    with open("/proc/stat") as stat:
        ticks = [int(x) for x in stat.readline().split()[1:]]
    return sum(ticks) - ticks[3] - ticks[4]


def wait_until_quiet():
    """Waits, with a timeout of some seconds, until the machine is idle."""
    for _ in range(100):
        before = busy_ticks()
        time.sleep(0.06)
        if busy_ticks() <= before + 1:
            return


def run(library, threads):
    make = globals()[library](threads)
    best = {}
    for _ in range(VISITS):
        for size in SIZES:
            m, k, n = size
            call = make(m, k, n)
            wait_until_quiet()
            count = getattr(call, "count", 1)
            seconds(call, 3)
            calls = max(1, int(ROUND_SECONDS / seconds(call, 3)))
            rounds = [seconds(call, calls) / count for _ in range(ROUNDS)]
            best[size] = max(best.get(size, 0), 2 * m * k * n / statistics.median(rounds) / 1e9)
    for (m, k, n), gflops in best.items():
        print(f"{library} {threads} {m} {k} {n} {gflops:.1f}", flush=True)


def run_all():
    pythons = os.environ.get("PEER_PYTHONS", sys.executable).split(":")
    for library in LIBRARIES + ["tensorflow_graph"]:
        module = library.split("_")[0]
        for python in pythons:
            if subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0:
                for threads in (1, 2):
                    subprocess.run([python, __file__, library, str(threads)], stderr=subprocess.DEVNULL)
                break
        else:
            print(f"# {library} is not installed")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        run(sys.argv[1], int(sys.argv[2]))
    else:
        run_all()
