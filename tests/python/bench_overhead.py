"""What Python costs: import, size, calls of a session, eager ops, feeds and fetches, a training loop. Prints a table; with `--json`, numbers.

    python bench_overhead.py                 # this package
    python bench_overhead.py tensorflow      # the same with TensorFlow; or torch, jax, where they are installed
"""

import json
import statistics
import subprocess
import sys
import time

import numpy as np

BATCH, SIZES = 100, (784, 128, 10)


def per_call(f, seconds=0.4, rounds=7):
    """The median time of a call, in microseconds."""
    f()
    count, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds / 4:
        f()
        count += 1
    count = max(1, count * 4 // rounds)
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        for _ in range(count):
            f()
        times.append((time.perf_counter() - began) / count)
    return statistics.median(times) * 1e6


def import_time(module):
    """Milliseconds, without the interpreter's and numpy's own."""
    program = f"import numpy, time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    run = lambda: float(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()[-1])
    run()
    return statistics.median(run() for _ in range(7)) * 1e3


def data():
    r = np.random.RandomState(0)
    x = r.rand(BATCH, SIZES[0]).astype(np.float32)
    weights = [(r.rand(a, b).astype(np.float32) - 0.5) / 10 for a, b in zip(SIZES, SIZES[1:])]
    return x, r.randint(0, 10, BATCH), weights


def deferred(tf, found):
    """TensorFlow 1's interface."""
    with tf.Graph().as_default():
        constant, x = tf.constant(1.0), tf.placeholder(tf.float32, [4 << 20])
        moved, back = tf.reduce_max(x[:1]), x + 1.0
        sess = tf.Session()
        large = np.zeros(4 << 20, np.float32)
        found["session.run of a constant, us"] = per_call(lambda: sess.run(constant))
        found["feed of 16 MiB, us"] = per_call(lambda: sess.run(moved, {x: large}))
        variable = tf.Variable(tf.zeros([4 << 20]))
        sess.run(variable.initializer)
        plus = variable + 1.0
        found["fetch of 16 MiB (computed), us"] = per_call(lambda: sess.run(plus))
        found["the same without the fetch, us"] = per_call(lambda: sess.run(plus.op))
        sess.close()
    with tf.Graph().as_default():
        images, labels, weights = data()
        x, y = tf.placeholder(tf.float32, [None, SIZES[0]]), tf.placeholder(tf.int32, [None])
        h = x
        for i, w in enumerate(weights):
            h = tf.matmul(h, tf.Variable(w)) + tf.Variable(tf.zeros([w.shape[1]]))
            h = tf.nn.relu(h) if i == 0 else h
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=h))
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        sess = tf.Session()
        sess.run(tf.global_variables_initializer())
        labels = labels.astype(np.int32)
        found["MLP step, batch 100, us"] = per_call(lambda: sess.run([train, loss], {x: images, y: labels}), seconds=1.5)
        sess.close()


def eager(tf, found):
    a, b = tf.constant(1.0), tf.constant(2.0)
    found["eager a + b, us"] = per_call(lambda: a + b)
    m = tf.constant(np.ones((2, 2), np.float32))
    found["eager matmul 2x2, us"] = per_call(lambda: tf.matmul(m, m))
    v = tf.Variable(1.0)

    def gradient():
        with tf.GradientTape() as tape:
            y = v * v
        return tape.gradient(y, v)

    found["tape of v * v, us"] = per_call(gradient)
    f = tf.function(lambda x: x + 1.0)
    found["call of a function, us"] = per_call(lambda: f(a))
    found["a.numpy(), us"] = per_call(lambda: a.numpy())


def with_thalweg(found):
    import thalweg as tf

    found["import, ms"] = import_time("thalweg")
    deferred(tf, found)
    tf.enable_eager_execution()
    eager(tf, found)


def with_tensorflow(found):
    import tensorflow.compat.v1 as tf

    found["import, ms"] = import_time("tensorflow")
    deferred(tf, found)
    tf.enable_eager_execution()
    eager(tf, found)


def with_torch(found):
    import torch

    torch.set_num_threads(2)
    found["import, ms"] = import_time("torch")
    a, b = torch.tensor(1.0), torch.tensor(2.0)
    found["eager a + b, us"] = per_call(lambda: a + b)
    m = torch.ones(2, 2)
    found["eager matmul 2x2, us"] = per_call(lambda: torch.matmul(m, m))
    v = torch.tensor(1.0, requires_grad=True)
    found["tape of v * v, us"] = per_call(lambda: torch.autograd.grad(v * v, v))
    found["a.numpy(), us"] = per_call(lambda: a.numpy())
    images, labels, weights = data()
    x, y = torch.from_numpy(images), torch.from_numpy(labels)
    parameters = [p for w in weights for p in (torch.from_numpy(w).requires_grad_(), torch.zeros(w.shape[1], requires_grad=True))]
    optimizer = torch.optim.SGD(parameters, 0.1)

    def step():
        h = torch.relu(x @ parameters[0] + parameters[1]) @ parameters[2] + parameters[3]
        loss = torch.nn.functional.cross_entropy(h, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    found["MLP step, batch 100, us"] = per_call(step, seconds=1.5)


def with_jax(found):
    import jax
    import jax.numpy as jnp

    found["import, ms"] = import_time("jax")
    a, b = jnp.float32(1.0), jnp.float32(2.0)
    found["eager a + b, us"] = per_call(lambda: (a + b).block_until_ready())
    f = jax.jit(lambda x: x + 1.0)
    found["call of a function, us"] = per_call(lambda: f(a).block_until_ready())
    images, labels, weights = data()
    parameters = [(jnp.asarray(w), jnp.zeros(w.shape[1])) for w in weights]

    def loss(parameters, x, y):
        h = jax.nn.relu(x @ parameters[0][0] + parameters[0][1]) @ parameters[1][0] + parameters[1][1]
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(h), y[:, None], 1))

    @jax.jit
    def step(parameters, x, y):
        value, gradients = jax.value_and_grad(loss)(parameters, x, y)
        return value, jax.tree.map(lambda p, g: p - 0.1 * g, parameters, gradients)

    state = [parameters]

    def run():
        value, state[0] = step(state[0], images, labels)
        return float(value)

    found["MLP step, batch 100, us"] = per_call(run, seconds=1.5)


def main():
    library = next((a for a in sys.argv[1:] if not a.startswith("-")), "thalweg")
    found = {}
    {"thalweg": with_thalweg, "tensorflow": with_tensorflow, "torch": with_torch, "jax": with_jax}[library](found)
    if "--json" in sys.argv:
        print(json.dumps(found))
    else:
        for name, value in found.items():
            print(f"{name:40} {value:12.2f}")


if __name__ == "__main__":
    main()
