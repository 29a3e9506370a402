"""Training graphs: ours trained further by TensorFlow, TensorFlow's by Thalweg. The same losses, step by step."""

import contextlib

import numpy as np
import pytest
import tensorflow as tf

tf1 = tf.compat.v1

BATCH = 16
STEPS = 100


def number(i, step, base):
    """As `examples/models.rs` makes its batches."""
    return (i * 7919 + step * 104729 + i * i % 31) % base


def batch(model, step):
    def floats(*dims):
        i = np.arange(int(np.prod(dims)), dtype=np.int64)
        return (number(i, step, 1009) / 1009.0).astype(np.float32).reshape(dims)

    def ints(*dims, factor=1):
        i = np.arange(int(np.prod(dims)), dtype=np.int64)
        return (number(i, step, 10) * factor % 10).astype(np.int32).reshape(dims)

    if model == "mlp":
        return floats(BATCH, 20), ints(BATCH)
    if model == "cnn":
        return floats(BATCH, 12, 12, 1), ints(BATCH)
    if model in ("words", "nce"):
        return ints(BATCH), ints(BATCH, factor=3)
    return ints(BATCH, 8), ints(BATCH, 8, factor=3)


def train(session, model, steps):
    """The loss of each step, on the graph's nodes x, y, loss and train."""
    losses = []
    for step in steps:
        x, y = batch(model, step)
        loss, _ = session.run(["loss:0", "train"], {"x:0": x, "y:0": y})
        losses.append(loss)
    return np.array(losses)


def assert_same(ours, theirs):
    worst = np.max(np.abs(ours - theirs) / np.abs(theirs))
    assert worst < 1e-4, f"worst relative difference {worst}:\n{ours}\n{theirs}"
    # The losses must change.
    assert np.ptp(theirs) > 0.05, theirs


@pytest.mark.parametrize("model", ["mlp", "cnn", "lstm", "words"])
def test_our_graphs_train_on_in_tensorflow_and_back(example, tmp_path, model):
    start, middle, end = (str(tmp_path / name) for name in ("start", "middle", "end"))
    example("models", model, "start", start)
    lines = example("models", model, "train", start, STEPS, 0, tmp_path / "ours")
    ours = np.array([float(n) for n in lines.split()])
    with tf1.Graph().as_default(), tf1.Session() as session:
        saver = tf1.train.import_meta_graph(start + ".meta")
        saver.restore(session, start)
        theirs = train(session, model, range(STEPS))
        saver.save(session, middle, write_meta_graph=False)
    assert_same(ours, theirs)
    # TensorFlow's checkpoint is trained further on both sides, each with fresh random numbers.
    lines = example("models", model, "train", middle, 20, STEPS, end)
    with tf1.Graph().as_default(), tf1.Session() as session:
        saver = tf1.train.import_meta_graph(start + ".meta")
        saver.restore(session, middle)
        theirs = train(session, model, range(STEPS, STEPS + 20))
        there = [session.run(v) for v in tf1.global_variables()]
        saver.restore(session, end)
        for here, there in zip([session.run(v) for v in tf1.global_variables()], there):
            assert np.allclose(here, there, rtol=1e-3, atol=1e-4)
    assert np.allclose([float(n) for n in lines.split()], theirs, rtol=1e-4)


def dense(x, units, name):
    w = tf1.get_variable(f"{name}/w", [int(x.shape[-1]), units], initializer=tf1.glorot_uniform_initializer(seed=2))
    return x @ w + tf1.get_variable(f"{name}/b", [units], initializer=tf1.zeros_initializer())


def lstm(inputs, units):
    """A loop over time, with state and outputs as loop variables."""
    kernel = tf1.get_variable("lstm/w", [int(inputs.shape[-1]) + units, 4 * units], initializer=tf1.glorot_uniform_initializer(seed=4))
    by_time = tf.transpose(inputs, [1, 0, 2])
    given = tf.TensorArray(tf.float32, 8).unstack(by_time)
    zeros = tf.zeros([BATCH, units])

    def body(t, c, h, out):
        i, j, f, o = tf.split(tf.concat([given.read(t), h], 1) @ kernel, 4, axis=1)
        c = c * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
        h = tf.tanh(c) * tf.sigmoid(o)
        return t + 1, c, h, out.write(t, h)

    _, _, _, out = tf1.while_loop(lambda t, *_: t < 8, body, [0, zeros, zeros, tf.TensorArray(tf.float32, 8)])
    return tf.reshape(tf.transpose(out.stack(), [1, 0, 2]), [-1, units])


def build(model):
    """The same models, built by TensorFlow."""
    if model in ("words", "nce"):
        return build_sampled(model)
    if model == "mlp":
        x = tf1.placeholder(tf.float32, [BATCH, 20], "x")
        hidden = tf.nn.dropout(tf.nn.relu(dense(x, 32, "hidden")), rate=0.25, seed=5)
        optimizer = tf1.train.AdamOptimizer(0.01)
    elif model == "cnn":
        x = tf1.placeholder(tf.float32, [BATCH, 12, 12, 1], "x")
        filters = tf1.get_variable("filters", [3, 3, 1, 8], initializer=tf1.truncated_normal_initializer(stddev=0.3, seed=3))
        image = tf.nn.max_pool2d(tf.nn.relu(tf.nn.conv2d(x, filters, 1, "SAME")), 2, 2, "VALID")
        hidden = tf.reshape(image, [BATCH, -1])
        optimizer = tf1.train.MomentumOptimizer(0.05, 0.9)
    else:
        x = tf1.placeholder(tf.int32, [BATCH, 8], "x")
        table = tf1.get_variable("table", [10, 12], initializer=tf1.random_uniform_initializer(-0.5, 0.5, seed=6))
        hidden = lstm(tf.nn.embedding_lookup(table, x), 12)
        optimizer = tf1.train.GradientDescentOptimizer(1.0)
    y = tf1.placeholder(tf.int32, [BATCH, 8] if model.startswith("lstm") else [BATCH], "y")
    logits = dense(hidden, 10, "logits")
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.reshape(y, [-1]), logits=logits), name="loss")
    gradients, variables = zip(*optimizer.compute_gradients(loss))
    clipped, _ = tf.clip_by_global_norm(gradients, 1.0)
    optimizer.apply_gradients(zip(clipped, variables), name="train")


def build_sampled(model):
    """Losses over a sample of the classes."""
    x, y = tf1.placeholder(tf.int32, [BATCH], "x"), tf1.placeholder(tf.int32, [BATCH], "y")
    uniform = tf1.random_uniform_initializer(-0.5, 0.5, seed=6)
    parts = {"initializer": uniform, "partitioner": tf1.fixed_size_partitioner(3)}
    inputs = tf.nn.embedding_lookup(tf1.get_variable("table", [10, 6], initializer=uniform), x)
    weights, biases = tf1.get_variable("weights", [10, 6], **parts), tf1.get_variable("biases", [10], **parts)
    labels = tf.reshape(tf.cast(y, tf.int64), [-1, 1])
    sampled = tf.random.log_uniform_candidate_sampler(labels, 1, 4, True, 10, seed=8)
    of = tf1.nn.sampled_softmax_loss if model == "words" else tf1.nn.nce_loss
    losses = of(weights, biases, labels, inputs, 4, 10, sampled_values=sampled, partition_strategy="div")
    tf1.train.AdagradOptimizer(0.2).minimize(tf.reduce_mean(losses, name="loss"), name="train")


@contextlib.contextmanager
def loops_of(model):
    """Control flow as functions (v2), or of the primitives (v1)."""
    was = tf1.control_flow_v2_enabled()
    (tf1.enable_control_flow_v2 if model == "lstm_functions" else tf1.disable_control_flow_v2)()
    try:
        yield
    finally:
        (tf1.enable_control_flow_v2 if was else tf1.disable_control_flow_v2)()


@pytest.mark.parametrize("model", ["mlp", "cnn", "lstm", "lstm_functions", "words", "nce"])
def test_tensorflows_graphs_train_in_thalweg(own_server, tmp_path, model):
    with tf1.Graph().as_default() as graph, loops_of(model):
        tf1.set_random_seed(9)
        build(model)
        saver, start = tf1.train.Saver(), str(tmp_path / "start")
        with tf1.Session(graph=graph) as session:
            session.run(tf1.global_variables_initializer())
            saver.save(session, start)
            theirs = train(session, model, range(STEPS))
        with tf1.Session(own_server.target, graph=graph) as session:
            saver.restore(session, start)
            ours = train(session, model, range(STEPS))
    assert_same(ours, theirs)
