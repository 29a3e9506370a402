"""Whole TensorFlow programs on `thalweg server`, compared with TensorFlow's own local session step by step."""

import csv
import gzip

import numpy as np
import pytest
import tensorflow as tf

from conftest import ROOT
from programs import on_both

tf1 = tf.compat.v1
errors = tf.errors


def test_the_relu_net_of_the_lectures(server):
    def program(session):
        b = tf1.Variable(tf1.zeros([100]))
        w = tf1.Variable(tf1.random_uniform([784, 100], -1, 1, seed=3))
        x = tf1.placeholder(tf.float32, [1, 784])
        relu = tf.nn.relu(tf.matmul(x, w) + b)
        session.run(tf1.global_variables_initializer())
        return [session.run(relu, {x: np.full([1, 784], i / 10, np.float32)}) for i in range(10)]

    theirs, ours = on_both(server, program)
    assert ours[3].shape == (1, 100) and (ours[3] > 0).any() and (ours[3] == 0).any()
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


def test_xor_with_a_hidden_layer(server):
    def program(session):
        x = tf.constant([[0.0, 0], [0, 1], [1, 0], [1, 1]])
        y = tf.constant([[0.0], [1], [1], [0]])
        w1 = tf1.Variable(tf1.random_uniform([2, 8], -1, 1, seed=1))
        w2 = tf1.Variable(tf1.random_uniform([8, 1], -1, 1, seed=2))
        hidden = tf.nn.tanh(x @ w1 + tf1.Variable(tf1.zeros([8])))
        out = tf.nn.sigmoid(hidden @ w2 + tf1.Variable(tf1.zeros([1])))
        train = tf1.train.GradientDescentOptimizer(2.0).minimize(tf1.reduce_mean(tf.square(y - out)))
        session.run(tf1.global_variables_initializer())
        for _ in range(1000):
            session.run(train)
        return session.run(out)

    theirs, ours = on_both(server, program)
    assert (np.round(ours) == [[0], [1], [1], [0]]).all()
    np.testing.assert_allclose(ours, theirs, atol=1e-3)


# Classifiers of three layers, with a softmax at the end.


def classifier(session, inputs, classes, hidden, batches, rate):
    """Trains on the batches of images and labels; returns the initial weights, the loss of each step and a prediction function."""
    tf1.set_random_seed(7)
    x = tf1.placeholder(tf.float32, [None, inputs])
    labels = tf1.placeholder(tf.int64, [None])
    layer, width, weights = x, inputs, []
    for i, units in enumerate([hidden, hidden, classes]):
        weights.append(tf1.get_variable(f"w{i}", initializer=tf1.truncated_normal([width, units], stddev=width**-0.5)))
        layer = layer @ weights[-1] + tf1.get_variable(f"b{i}", initializer=tf1.zeros([units]))
        layer, width = (tf.nn.relu(layer) if i < 2 else layer), units
    loss = tf1.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=layer))
    train = tf1.train.GradientDescentOptimizer(rate).minimize(loss)
    predicted = tf.argmax(layer, 1)
    session.run(tf1.global_variables_initializer())
    initial = session.run(weights)
    losses = [session.run([loss, train], {x: a, labels: b})[0] for a, b in batches]
    return initial, losses, lambda a: session.run(predicted, {x: a})


def follows(theirs, ours, relative):
    """Bit-identical at the start, and then the same losses."""
    for a, b in zip(theirs[0], ours[0], strict=True):
        assert a.tobytes() == b.tobytes()
    np.testing.assert_allclose(ours[1], theirs[1], rtol=relative)


def iris():
    names, rows = {}, []
    with open(ROOT / "crates/client/src/data/iris.csv") as file:
        for row in csv.reader(file):
            try:
                features = [float(v) for v in row[:4]]
            except ValueError:
                continue
            rows.append((features, names.setdefault(row[4], len(names))))
    assert len(rows) == 150 and len(names) == 3
    x, y = np.array([r[0] for r in rows], np.float32), np.array([r[1] for r in rows])
    return (x - x.mean(0)) / x.std(0), y


def test_iris(server):
    x, y = iris()

    def program(session):
        initial, losses, predict = classifier(session, 4, 3, 16, [(x, y)] * 300, 0.3)
        return initial, losses, (predict(x) == y).mean()

    theirs, ours = on_both(server, program)
    follows(theirs, ours, 1e-4)
    assert ours[2] >= 0.96


def idx(path, header):
    return np.frombuffer(gzip.decompress(path.read_bytes())[header:], np.uint8)


def digits():
    """MNIST if available; else ten synthetic patterns with noise."""
    folder = ROOT.parent / "shared/data/mnist"
    if folder.exists():
        x = idx(folder / "train-images-idx3-ubyte.gz", 16).reshape(-1, 784)
        return x / np.float32(255), idx(folder / "train-labels-idx1-ubyte.gz", 8).astype(np.int64)
    rng = np.random.default_rng(5)
    y = rng.integers(0, 10, 20000)
    patterns = rng.random((10, 784)) < 0.2
    noise = rng.random((len(y), 784), np.float32)
    return (patterns[y] * np.float32(0.7) + np.float32(0.3)) * noise, y


def test_mnist_follows_tensorflow(server):
    x, y = digits()
    batches = [(x[i : i + 100], y[i : i + 100]) for i in range(0, 200 * 100, 100)]
    unseen = slice(-1000, None)

    def program(session):
        initial, losses, predict = classifier(session, 784, 10, 64, [(a, b) for a, b in batches], 0.1)
        return initial, losses, (predict(x[unseen]) == y[unseen]).mean()

    theirs, ours = on_both(server, program)
    follows(theirs, ours, 1e-4)
    assert ours[2] > 0.8 and abs(ours[2] - theirs[2]) < 0.01


# Random numbers: the same bits for the same seeds.

INITIALIZERS = {
    "random_uniform": lambda: tf1.random_uniform([37, 5], -2, 3, seed=4),
    "random_uniform_double": lambda: tf1.random_uniform([37], dtype=tf.float64, seed=4),
    "random_uniform_half": lambda: tf1.random_uniform([37], dtype=tf.float16, seed=4),
    "random_uniform_int": lambda: tf1.random_uniform([37], 5, 1000, dtype=tf.int32, seed=4),
    "random_uniform_int64": lambda: tf1.random_uniform([37], -5, 1 << 40, dtype=tf.int64, seed=4),
    "random_normal": lambda: tf1.random_normal([999], 1, 2, seed=4),
    "random_normal_double": lambda: tf1.random_normal([99], dtype=tf.float64, seed=4),
    "truncated_normal": lambda: tf1.truncated_normal([999], 1, 2, seed=4),
    "truncated_normal_double": lambda: tf1.truncated_normal([999], dtype=tf.float64, seed=4),
    "graph_seed": lambda: tf1.random_normal([7, 3]),
    "random_shuffle": lambda: tf1.random_shuffle(tf.range(100), seed=4),
    "multinomial": lambda: tf1.random.categorical([[0.1, 2.0, 1.0]], 50, seed=4),
    "glorot_uniform": lambda: tf1.glorot_uniform_initializer(seed=2)([30, 20]),
    "glorot_normal": lambda: tf1.glorot_normal_initializer(seed=2)([30, 20]),
    "he_normal": lambda: tf1.keras.initializers.he_normal(seed=2)([30, 20]),
    "he_uniform": lambda: tf1.keras.initializers.he_uniform(seed=2)([3, 3, 8, 4]),
    "lecun_normal": lambda: tf1.keras.initializers.lecun_normal(seed=2)([30, 20]),
    "variance_scaling": lambda: tf1.variance_scaling_initializer(seed=2)([30, 20]),
    "random_normal_initializer": lambda: tf1.random_normal_initializer(stddev=0.1, seed=2)([30]),
    "truncated_normal_initializer": lambda: tf1.truncated_normal_initializer(stddev=0.1, seed=2)([30]),
    "stateless_uniform": lambda: tf.random.stateless_uniform([50], seed=[1, 2]),
    "stateless_normal": lambda: tf.random.stateless_normal([50], seed=[1, 2]),
    "stateless_truncated_normal": lambda: tf.random.stateless_truncated_normal([50], seed=[1, 2]),
}


@pytest.mark.parametrize("name", INITIALIZERS)
def test_initial_weights_are_bit_identical(server, name):
    def program(session):
        tf1.set_random_seed(11)
        value = INITIALIZERS[name]()
        return [session.run(value) for _ in range(2)]

    theirs, ours = on_both(server, program)
    for a, b in zip(theirs, ours, strict=True):
        assert a.dtype == b.dtype and a.tobytes() == b.tobytes(), (a, b)


# Threads, and checks inside graphs.


def test_a_queue_runner_with_a_coordinator(server):
    def program(session):
        queue = tf1.FIFOQueue(5, [tf.float32], [[]])
        counter = tf1.Variable(0.0)
        put = queue.enqueue(counter.assign_add(1.0))
        tf1.train.add_queue_runner(tf1.train.QueueRunner(queue, [put]))
        get = queue.dequeue_many(4)
        session.run(tf1.global_variables_initializer())
        coordinator = tf1.train.Coordinator()
        threads = tf1.train.start_queue_runners(session, coordinator)
        got = [session.run(get) for _ in range(5)]
        coordinator.request_stop()
        coordinator.join(threads, stop_grace_period_secs=60)
        return got

    theirs, ours = on_both(server, program)
    assert np.concatenate(ours).tolist() == np.concatenate(theirs).tolist() == list(range(1, 21))


def test_an_input_pipeline_of_queues_ends_with_its_epochs(server):
    def program(session):
        number = tf1.train.limit_epochs(tf.range(10), num_epochs=2)
        queue = tf1.FIFOQueue(32, [tf.int32], [[]])
        tf1.train.add_queue_runner(tf1.train.QueueRunner(queue, [queue.enqueue_many([number * 10])]))
        batch = queue.dequeue_up_to(4)
        session.run([tf1.global_variables_initializer(), tf1.local_variables_initializer()])
        coordinator = tf1.train.Coordinator()
        threads = tf1.train.start_queue_runners(session, coordinator)
        got = []
        with pytest.raises(errors.OutOfRangeError):
            while True:
                got.append(session.run(batch).tolist())
        coordinator.request_stop()
        coordinator.join(threads, stop_grace_period_secs=60)
        return got

    theirs, ours = on_both(server, program)
    assert ours == theirs and len(ours) == 5


def test_add_check_numerics_ops(server):
    def program(session):
        x = tf1.placeholder(tf.float32, [3])
        y = tf.sqrt(tf.math.log(x, name="logged"), name="rooted") * 2
        check = tf1.add_check_numerics_ops()
        fine = session.run([y, check], {x: [1, 2, 3]})[0]
        with pytest.raises(errors.InvalidArgumentError) as e:
            session.run([y, check], {x: [1, 0.5, 3]})
        return fine, e.value.op.name, e.value.message.splitlines()

    theirs, ours = on_both(server, program)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-6)
    assert ours[1] == theirs[1] and "rooted:0" in " ".join(ours[2])


@pytest.mark.parametrize("v2", [False, True], ids=["v1", "v2"])
def test_gradients_through_loops_and_branches(server, v2):
    def program(session):
        (tf1.enable_control_flow_v2 if v2 else tf1.disable_control_flow_v2)()
        try:
            x = tf1.placeholder(tf.float32, [3])
            _, y = tf1.while_loop(lambda i, _: i < 4, lambda i, a: (i + 1, tf1.cond(i % 2 < 1, lambda: a * x, lambda: tf.sin(a))), [0, x])
            slope = tf1.gradients(y, x)[0]
        finally:
            tf1.enable_control_flow_v2()
        return session.run([y, slope], {x: [0.5, -1.0, 2.0]})

    theirs, ours = on_both(server, program)
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)
