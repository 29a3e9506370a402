"""Our canned estimators against the same models made of TensorFlow's own parts, from the same checkpoint: weights, slots and metrics after training."""

import numpy as np
import pytest
import tensorflow as tf

tf1 = tf.compat.v1
fc = tf.compat.v1.feature_column

STEPS = 40
COLOURS = [b"red", b"green", b"blue", b"black"]
FEATURES = {
    "age": np.array([i * 7 % 12 for i in range(12)], np.float32),
    "colour": np.array([COLOURS[i * 5 % 4] for i in range(12)], object),
    "code": np.array([i * i % 5 for i in range(12)], np.int64),
    "weight": np.array([i % 4 / 2 for i in range(12)], np.float32),
}
LABELS = np.array([i % 3 for i in range(12)], np.int64)


def linear(features):
    columns = [
        fc.numeric_column("age"),
        fc.categorical_column_with_hash_bucket("colour", 20),
        fc.crossed_column(["colour", "code"], 30),
    ]
    with tf1.variable_scope("linear"):
        logits = fc.linear_model(features, columns, units=3)
    return logits, tf1.train.FtrlOptimizer(min(0.2, 1 / np.sqrt(len(columns))))


def dense(name, x, units, activation=tf.identity):
    with tf1.variable_scope(name):
        kernel = tf1.get_variable("kernel", [x.shape[1], units])
        return activation(tf.matmul(x, kernel) + tf1.get_variable("bias", [units]))


def dnn(features):
    columns = [
        fc.numeric_column("age"),
        fc.embedding_column(fc.categorical_column_with_hash_bucket("colour", 20), 3),
        fc.indicator_column(fc.categorical_column_with_identity("code", 5)),
    ]
    with tf1.variable_scope("dnn"):
        with tf1.variable_scope("input_from_feature_columns"):
            x = fc.input_layer(features, columns)
        x = dense("hiddenlayer_0", x, 8, tf.nn.relu)
        x = dense("hiddenlayer_1", x, 5, tf.nn.relu)
        logits = dense("logits", x, 3)
    return logits, tf1.train.AdagradOptimizer(0.05)


@pytest.mark.parametrize("kind", ["linear", "dnn"])
def test_training_follows_tensorflow(kind, tmp_path, example):
    printed = example("thalweg-train", "estimators", kind, tmp_path, STEPS)
    ours = {line.split()[0]: float(line.split()[1]) for line in printed.splitlines()}
    with tf.Graph().as_default(), tf1.Session() as session:
        tf1.enable_resource_variables()
        step = tf1.train.get_or_create_global_step()
        features = {k: tf1.placeholder(tf.as_dtype(v.dtype) if v.dtype != object else tf.string, [None]) for k, v in FEATURES.items()}
        labels = tf1.placeholder(tf.int64, [None])
        logits, optimizer = {"linear": linear, "dnn": dnn}[kind](features)
        # The deep net counts its examples by weight.
        weights = features["weight"] if kind == "dnn" else tf.ones_like(features["weight"])
        losses = weights * tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        train = optimizer.minimize(tf.reduce_sum(losses), global_step=step)
        # Restoring needs every name and shape to be the same, those of the slots too.
        saver = tf1.train.Saver()
        session.run(tf1.tables_initializer())
        saver.restore(session, str(tmp_path / "model.ckpt-0"))

        def feed(rows):
            return {labels: LABELS[rows]} | {features[k]: v[rows] for k, v in FEATURES.items()}

        for i in range(STEPS):
            session.run(train, feed(slice(0, 6) if i % 2 == 0 else slice(6, 12)))
        newest = tf.train.load_checkpoint(tf.train.latest_checkpoint(tmp_path))
        variables = tf1.global_variables()
        assert sorted(newest.get_variable_to_shape_map()) == sorted(v.op.name for v in variables)
        for v in variables:
            np.testing.assert_allclose(newest.get_tensor(v.op.name), session.run(v), rtol=2e-4, atol=2e-6, err_msg=v.op.name)
        found, each, counts = session.run([logits, losses, weights], feed(slice(None)))
        assert ours["accuracy"] == pytest.approx(np.average(found.argmax(1) == LABELS, weights=counts))
        assert ours["average_loss"] == pytest.approx(each.sum() / counts.sum(), rel=1e-4)
        # Batches of five, five and two.
        assert ours["loss"] == pytest.approx(each.sum() / 3, rel=1e-4)
