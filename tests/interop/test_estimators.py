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


def wide_columns():
    return [fc.categorical_column_with_hash_bucket("colour", 20), fc.crossed_column(["colour", "code"], 30)]


def deep_columns():
    return [
        fc.numeric_column("age"),
        fc.embedding_column(fc.categorical_column_with_hash_bucket("colour", 20), 3),
        fc.indicator_column(fc.categorical_column_with_identity("code", 5)),
    ]


def linear_logits(features, columns, units):
    with tf1.variable_scope("linear"):
        return fc.linear_model(features, columns, units=units)


def dense(name, x, units, activation=tf.identity):
    with tf1.variable_scope(name):
        kernel = tf1.get_variable("kernel", [x.shape[1], units])
        return activation(tf.matmul(x, kernel) + tf1.get_variable("bias", [units]))


def dnn_logits(features, columns, hidden_units, units):
    with tf1.variable_scope("dnn"):
        with tf1.variable_scope("input_from_feature_columns"):
            x = fc.input_layer(features, columns)
        for i, size in enumerate(hidden_units):
            x = dense(f"hiddenlayer_{i}", x, size, tf.nn.relu)
        return dense("logits", x, units)


def ftrl(rate, columns):
    return tf1.train.FtrlOptimizer(min(rate, 1 / np.sqrt(len(columns))))


def build(kind, features):
    """Logits, and an optimizer for the variables of each scope; rates are those of TensorFlow's estimators."""
    if kind == "linear":
        columns = [fc.numeric_column("age"), *wide_columns()]
        return linear_logits(features, columns, 3), {"linear": ftrl(0.2, columns)}
    if kind == "dnn":
        return dnn_logits(features, deep_columns(), [8, 5], 3), {"dnn": tf1.train.AdagradOptimizer(0.05)}
    if kind == "wide_and_deep":
        logits = dnn_logits(features, deep_columns(), [8, 5], 3) + linear_logits(features, wide_columns(), 3)
        return logits, {"dnn": tf1.train.AdagradOptimizer(0.001), "linear": ftrl(0.005, wide_columns())}
    logits = dnn_logits(features, deep_columns(), [6], 1) + linear_logits(features, wide_columns(), 1)
    return logits, {"dnn": tf1.train.AdamOptimizer(0.01), "linear": tf1.train.MomentumOptimizer(0.002, 0.9)}


def minimize(loss, optimizers, step):
    """As TensorFlow's DNNLinearCombined: each optimizer updates the variables of its part, then the global step."""
    trained = [
        optimizer.minimize(loss, var_list=tf1.get_collection(tf1.GraphKeys.TRAINABLE_VARIABLES, scope=scope + "/"))
        for scope, optimizer in optimizers.items()
    ]
    with tf.control_dependencies(trained):
        return step.assign_add(1)


@pytest.mark.parametrize("kind", ["linear", "dnn", "wide_and_deep", "wide_and_deep_numbers"])
def test_training_follows_tensorflow(kind, tmp_path, example):
    printed = example("estimators", kind, tmp_path, STEPS)
    ours = {line.split()[0]: float(line.split()[1]) for line in printed.splitlines()}
    with tf.Graph().as_default(), tf1.Session() as session:
        tf1.enable_resource_variables()
        step = tf1.train.get_or_create_global_step()
        features = {k: tf1.placeholder(tf.as_dtype(v.dtype) if v.dtype != object else tf.string, [None]) for k, v in FEATURES.items()}
        labels = tf1.placeholder(tf.int64, [None])
        logits, optimizers = build(kind, features)
        # The deep model weights its examples.
        weights = features["weight"] if kind == "dnn" else tf.ones_like(features["weight"])
        if kind == "wide_and_deep_numbers":
            losses = tf.math.squared_difference(logits[:, 0], tf.cast(labels, tf.float32))
        else:
            losses = weights * tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        train = minimize(tf.reduce_sum(losses), optimizers, step)
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
        if kind != "wide_and_deep_numbers":
            assert ours["accuracy"] == pytest.approx(np.average(found.argmax(1) == LABELS, weights=counts))
        assert ours["average_loss"] == pytest.approx(each.sum() / counts.sum(), rel=1e-4)
        # Batches of five, five and two.
        assert ours["loss"] == pytest.approx(each.sum() / 3, rel=1e-4)
