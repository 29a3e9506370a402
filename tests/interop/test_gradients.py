"""Gradients through control flow and functions of TensorFlow's graphs, first and second, beside TensorFlow's own."""

import contextlib

import numpy as np
import pytest
import tensorflow as tf

tf1 = tf.compat.v1
AT = np.array([0.4, -0.7, 1.1])


@tf.function
def cube(x):
    return x * x * x


@tf.function
def outer(x, w):
    return tf.sin(cube(x) * w) + cube(w)


def calls(x):
    return outer(x, x + 0.5) * outer(cube(x), x)


def branches(x):
    """Both branches of nested conditions."""
    first = tf.cond(x[0] < x[1], lambda: tf.exp(x), lambda: x * x * x)
    second = tf.cond(x[0] > x[1], lambda: tf.cond(x[2] > 1.0, lambda: tf.sin(first) * x, lambda: x), lambda: first)
    return first * second


def loop(x):
    _, y, z = tf1.while_loop(lambda i, *_: i < 4, lambda i, y, z: (i + 1, tf.sin(y * x) + z, z * y), [0, x, x * x])
    return y * z


def loop_of_calls(x):
    _, y = tf1.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, tf.tanh(outer(y, x))), [0, x])
    return y


def condition_in_a_loop(x):
    def body(i, y):
        return i + 1, tf.cond(tf.reduce_sum(y) > 1.0, lambda: tf.sin(y * x), lambda: y * y + x)

    return tf1.while_loop(lambda i, _: i < 5, body, [0, x])[1]


def loop_in_a_loop(x):
    def inner(y):
        return tf1.while_loop(lambda j, _: j < 2, lambda j, z: (j + 1, tf.sin(z * x)), [0, y])[1]

    return tf1.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, inner(y) + y), [0, x])[1]


def array_in_a_loop(x):
    """Writes and reads of a TensorArray, which functional loops lower to tensor lists."""
    given = tf.TensorArray(tf.float64, 3).unstack(x)

    def body(i, total, out):
        item = given.read(i)
        total = total * item + item
        return i + 1, total, out.write(i, total * total)

    return tf1.while_loop(lambda i, *_: i < 3, body, [0, tf.constant(1.0, tf.float64), tf.TensorArray(tf.float64, 3)])[2].stack()


def switch_case(x):
    pick = tf.cast(tf.math.floor(tf.reduce_sum(x)), tf.int32)
    return tf.switch_case(pick + 1, [lambda: x * x, lambda: tf.sin(x) * x, lambda: tf.exp(x)])


PROGRAMS = [calls, branches, loop, loop_of_calls, condition_in_a_loop, loop_in_a_loop, array_in_a_loop, switch_case]


@contextlib.contextmanager
def control_flow(functions):
    was = tf1.control_flow_v2_enabled()
    (tf1.enable_control_flow_v2 if functions else tf1.disable_control_flow_v2)()
    try:
        with tf1.Graph().as_default() as graph, tf1.Session(graph=graph) as session:
            yield graph, session
    finally:
        (tf1.enable_control_flow_v2 if was else tf1.disable_control_flow_v2)()


def expected(program, order):
    """By TensorFlow, with control flow v2: it has no second gradients of v1 loops."""
    with control_flow(True) as (_, session):
        x = tf.constant(AT)
        y = program(x)
        for _ in range(order):
            (y,) = tf1.gradients(y, x)
        return session.run(y)


def run_in_tensorflow(path):
    graph_def = tf1.GraphDef.FromString(path.read_bytes())
    with tf1.Graph().as_default() as graph, tf1.Session(graph=graph) as session:
        tf.import_graph_def(graph_def, name="")
        return session.run("result:0")


def written(program, functions, path):
    with control_flow(functions) as (graph, _):
        tf.identity(program(tf.constant(AT, name="x")), name="y")
        path.write_bytes(graph.as_graph_def().SerializeToString())
    return path


# TensorArrays in v1 loops have no second gradients.
CASES = [
    (program, functions, order)
    for program in PROGRAMS
    for functions in (True, False)
    for order in (1, 2)
    if (program, functions, order) != (array_in_a_loop, False, 2)
]


@pytest.mark.parametrize("program, functions, order", CASES, ids=lambda v: getattr(v, "__name__", str(v)))
def test_gradients_of_tensorflows_graphs(example, tmp_path, program, functions, order):
    graph = written(program, functions, tmp_path / "graph.pb")
    printed = example("differentiate", graph, order, tmp_path / "out.pb")
    want = expected(program, order)
    assert np.allclose([float(n) for n in printed.split()], want, rtol=1e-9, atol=1e-12)
    # The added gradients are ordinary nodes.
    assert np.allclose(run_in_tensorflow(tmp_path / "out.pb"), want, rtol=1e-9, atol=1e-12)
