"""`thalweg run` on GraphDef files that real TensorFlow wrote, against what TensorFlow computes and prints."""

import numpy as np
import pytest
import tensorflow as tf

tf1 = tf.compat.v1


def arithmetic():
    x = tf1.placeholder(tf.float32, [2], name="x")
    tf.identity(tf.reduce_sum(x * 3.0 + tf.constant([1.0, 2.0])) ** 2, name="y")
    return {"x:0": np.array([1.5, -2.0], np.float32)}, ["y:0"]


def relu_net():
    rng = np.random.default_rng(0)
    x = tf1.placeholder(tf.float32, [1, 4], name="x")
    w = tf.constant(rng.integers(-3, 4, (4, 3)).astype(np.float32))
    tf.nn.relu(tf.matmul(x, w) + [0.5, -0.5, 1.0], name="y")
    return {"x:0": np.array([[1, 2, 3, 4]], np.float32)}, ["y:0"]


def cond_v1():
    tf1.disable_control_flow_v2()
    p = tf1.placeholder(tf.bool, [], name="p")
    x = tf.constant([1, 2, 3])
    tf.identity(tf1.cond(p, lambda: x * 2, lambda: -x), name="y")
    return {"p:0": np.array(False)}, ["y:0"]


def while_v1():
    tf1.disable_control_flow_v2()
    n = tf1.placeholder(tf.int32, [], name="n")
    i, s = tf1.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + i * i), [0, 0])
    tf.identity(s, name="y")
    return {"n:0": np.array(100, np.int32)}, ["y:0"]


def while_v2():
    tf1.enable_control_flow_v2()
    n = tf1.placeholder(tf.int32, [], name="n")
    i, s = tf1.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, tf1.cond(i % 2 < 1, lambda: s + i, lambda: s - 1)), [0, 0])
    tf.identity(s, name="y")
    return {"n:0": np.array(100, np.int32)}, ["y:0"]


def function():
    tf1.enable_control_flow_v2()

    @tf.function
    def f(a, b):
        return a @ b + 1.0

    x = tf1.placeholder(tf.float32, [2, 2], name="x")
    tf.identity(f(f(x, x), x), name="y")
    return {"x:0": np.array([[1, 2], [3, 4]], np.float32)}, ["y:0"]


def variables():
    v = tf1.get_variable("v", initializer=[1.0, 2.0], use_resource=True)
    with tf1.control_dependencies([v.initializer]):
        with tf1.control_dependencies([v.assign_add([1.0, 1.0])]):
            tf.identity(v.read_value(), name="y")
    return {}, ["y:0"]


def seeded_random():
    tf1.set_random_seed(7)
    tf.identity(tf1.random_uniform([5]) + tf1.random_normal([5]) + tf1.truncated_normal([5]), name="y")
    return {}, ["y:0"]


def strings():
    x = tf1.placeholder(tf.string, [2], name="x")
    tf1.identity(tf1.strings.join([x, ["-a", "-b"]]), name="y")
    return {"x:0": np.array([b"left", b"right"], object)}, ["y:0"]


GRAPHS = [arithmetic, relu_net, cond_v1, while_v1, while_v2, function, variables, seeded_random, strings]


def literal(a):
    if a.dtype == object:
        return str([v.decode() for v in a.ravel()]).replace("'", '"')
    return str(a.tolist()).lower() if a.dtype == bool else str(a.tolist())


@pytest.mark.parametrize("build", GRAPHS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("form", ["pb", "pbtxt"])
def test_run_prints_what_tensorflow_prints(build, form, thalweg, tmp_path):
    graph = tf1.Graph()
    with graph.as_default():
        feeds, fetches = build()
        with tf1.Session() as session:
            expected = session.run(fetches, feeds)
    path = tmp_path / f"graph.{form}"
    tf.io.write_graph(graph.as_graph_def(), str(tmp_path), path.name, as_text=form == "pbtxt")
    args = [a for name, value in feeds.items() for a in ("--feed", f"{name}={literal(value)}")]
    args += [a for name in fetches for a in ("--fetch", name)]
    done = thalweg("run", path, *args)
    assert done.returncode == 0, done.stderr
    for value in expected:
        assert str(value) in done.stdout
