"""Our losses, metrics and clipping against TensorFlow's, on the numbers of crates/train/examples/measures.rs."""

import numpy as np
import pytest
import tensorflow as tf

tf1 = tf.compat.v1
losses, metrics = tf1.losses, tf1.metrics

TRUTH = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 1], [1, 0, 0]], np.float32)
FOUND = np.array([[0.2, 0.7, 0.1], [0.6, 0.3, 0.1], [0.25, 0.5, 0.25], [0.9, 0.05, 0.05]], np.float32)
LOGITS = np.array([[1.5, -0.5, 2.0], [0.1, 0.2, 0.3], [-2.0, 4.0, 1.0], [0.0, 0.5, -0.5]], np.float32)
CLASSES = np.array([1, 0, 2, 0])
ROWS = np.array([1, 0, 2, 0.5], np.float32)
EACH = ROWS[:, None]

LABELS = np.array([1, 0, 1, 1, 0, 0, 1, 0, 1, 0])
CHANCES = np.array([0.9, 0.4, 0.3, 0.8, 0.6, 0.1, 0.55, 0.7, 0.45, 0.2], np.float32)
WEIGHTS = np.array([1, 2, 0.5, 0, 3, 1, 1, 0.25, 2, 1.5], np.float32)


@pytest.fixture(scope="module")
def ours(example):
    return {line.split()[0]: float(line.split()[1]) for line in example("measures").splitlines()}


def test_losses_are_tensorflows(ours):
    with tf.Graph().as_default(), tf1.Session() as session:
        theirs = {
            "mean_squared_error": losses.mean_squared_error(TRUTH, FOUND),
            "mean_squared_error_weighted": losses.mean_squared_error(TRUTH, FOUND, EACH),
            "absolute_difference": losses.absolute_difference(TRUTH, FOUND, EACH),
            "huber_loss": losses.huber_loss(TRUTH, LOGITS, EACH, delta=0.8),
            "log_loss": losses.log_loss(TRUTH, FOUND, EACH),
            "hinge_loss": losses.hinge_loss(TRUTH, LOGITS, EACH),
            "cosine_distance": losses.cosine_distance(TRUTH, FOUND, axis=1, weights=EACH),
            "sigmoid_cross_entropy": losses.sigmoid_cross_entropy(TRUTH, LOGITS, EACH),
            "softmax_cross_entropy": losses.softmax_cross_entropy(TRUTH, LOGITS, ROWS),
            "sparse_softmax": losses.sparse_softmax_cross_entropy(CLASSES, LOGITS, ROWS),
            "sparse_softmax_plain": losses.sparse_softmax_cross_entropy(CLASSES, LOGITS),
        }
        expected = session.run(theirs)
    found = {name: value for name, value in ours.items() if not name.startswith(("metric_", "clip_"))}
    assert found == pytest.approx(expected, rel=1e-6)


def test_metrics_are_tensorflows(ours):
    with tf.Graph().as_default(), tf1.Session() as session:
        labels, chances, weights = (tf1.placeholder(t, [None]) for t in (tf.int64, tf.float32, tf.float32))
        guesses, numbers = chances > 0.5, tf.cast(labels, tf.float32)
        theirs = {}
        for suffix, w in [("", None), ("_weighted", weights)]:
            theirs |= {
                f"metric_mean{suffix}": metrics.mean(chances, w),
                f"metric_accuracy{suffix}": metrics.accuracy(labels, tf.cast(guesses, tf.int64), w),
                f"metric_mean_squared_error{suffix}": metrics.mean_squared_error(numbers, chances, w),
                f"metric_root_mean_squared_error{suffix}": metrics.root_mean_squared_error(numbers, chances, w),
                f"metric_mean_absolute_error{suffix}": metrics.mean_absolute_error(numbers, chances, w),
                f"metric_precision{suffix}": metrics.precision(labels, guesses, w),
                f"metric_recall{suffix}": metrics.recall(labels, guesses, w),
                f"metric_auc{suffix}": metrics.auc(labels, chances, w, num_thresholds=200),
            }
        session.run(tf1.local_variables_initializer())
        for rows in (slice(0, 5), slice(5, 10)):
            session.run([update for _, update in theirs.values()], {labels: LABELS[rows], chances: CHANCES[rows], weights: WEIGHTS[rows]})
        expected = session.run({name: value for name, (value, _) in theirs.items()})
    found = {name: value for name, value in ours.items() if name.startswith("metric_")}
    assert found == pytest.approx(expected, rel=1e-6)


def test_clipping_is_tensorflows(ours):
    x = np.array([[0.2, -0.7, 0.1], [2.5, 0.3, -3.0], [0.25, 0.5, 0.25], [0.9, 0.05, 1.5]], np.float32)
    expected = {}
    with tf.Graph().as_default(), tf1.Session() as session:
        for limit in (0.2, 40):
            theirs = {
                "clip_by_value": tf.clip_by_value(x, -limit, limit),
                "clip_by_norm": tf.clip_by_norm(x, limit),
                "clip_by_average_norm": tf1.clip_by_average_norm(x, limit),
                "clip_by_global_norm": tf.clip_by_global_norm([x, None], limit)[0][0],
            }
            for name, values in session.run(theirs).items():
                expected |= {f"{name}_{limit}/{i}": value for i, value in enumerate(values.flatten())}
    found = {name: value for name, value in ours.items() if name.startswith("clip_")}
    assert found == pytest.approx(expected, rel=1e-6)
