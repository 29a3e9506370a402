"""Gradients of TensorFlow 1's functions (SymbolicGradient), calls on other devices (RemoteCall), For: on `thalweg server` and on TensorFlow's own session."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework import function
from tensorflow.python.ops import functional_ops

from clusters import Cluster

tf1 = tf.compat.v1
raw = tf.raw_ops
TWO = {"device_count": {"CPU": 2}}


def on_both(server, program, **config):
    results = []
    for target in ("", server.target):
        options = tf1.ConfigProto(isolate_session_state=bool(target), **config)
        with tf1.Graph().as_default(), tf1.Session(target, config=options) as session:
            results.append(program(session))
    return results


def same(server, program, **config):
    theirs, ours = on_both(server, program, **config)
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def test_the_gradient_of_a_function(server):
    def program(session):
        @function.Defun(tf.float32, tf.float32)
        def inner(x, y):
            return tf.tanh(x) * y + tf.reduce_sum(y)

        @function.Defun(tf.float32, tf.float32)
        def net(x, w):
            return tf.nn.softmax(inner(tf.matmul(x, w), tf.matmul(x, w) + 1.0)), tf.reduce_mean(w)

        x, w = tf.constant([[1.0, 2.0], [3.0, -1.0]]), tf.constant([[0.5, 0.1], [-0.2, 0.3]])
        y, mean = net(x, w)
        first = tf1.gradients(tf.reduce_sum(y * y) + mean, [x, w])
        assert any(op.type == "SymbolicGradient" for op in tf1.get_default_graph().get_operations())
        return np.concatenate([v.ravel() for v in session.run(first)])

    same(server, program)


def test_the_gradient_through_variables_that_a_function_captures(server):
    def program(session):
        v = tf1.get_variable("v", initializer=[1.0, 2.0], use_resource=True)
        u = tf1.get_variable("u", initializer=[3.0, 4.0], use_resource=False)

        @function.Defun(tf.float32)
        def f(x):
            return x * v + u * x

        y = f(tf.constant([5.0, 6.0]))
        train = tf1.train.GradientDescentOptimizer(0.01).minimize(tf.reduce_sum(y * y))
        session.run(tf1.global_variables_initializer())
        for _ in range(3):
            session.run(train)
        return np.concatenate(session.run([v.read_value(), u.read_value()]))

    same(server, program)


def test_a_gradient_function_of_the_library(server):
    """It stands in for the gradient that would be made: here a wrong one on purpose."""

    def program(session):
        @function.Defun(tf.float32, tf.float32)
        def grad(x, dy):
            return dy * 100.0 + x

        @function.Defun(tf.float32, grad_func=grad)
        def f(x):
            return tf.sin(x)

        x = tf.constant([1.0, 2.0])
        return session.run(tf1.gradients(f(x), [x]))[0]

    same(server, program)


def test_a_function_with_a_loop_and_a_branch(server):
    """TensorFlow gives zeros for it: its symbolic gradients stop at loops and branches."""
    with tf1.Graph().as_default(), tf1.Session(server.target) as session:

        @function.Defun(tf.float32)
        def f(x):
            _, y = tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y * x), [0, x])
            return tf.cond(tf.reduce_sum(y) > 0, lambda: tf.sin(y), lambda: y * y)

        at = np.array([0.5, -1.5], np.float32)
        x = tf.constant(at)
        np.testing.assert_allclose(session.run(tf1.gradients(f(x), [x]))[0], np.cos(at**4) * 4 * at**3, rtol=1e-5)


def test_for(server):
    def program(session):
        @function.Defun(tf.int32, tf.float32, tf.float32)
        def body(i, x, y):
            return x + tf.cast(i, tf.float32) * y, y * 0.5

        return session.run(functional_ops.For(tf1.placeholder_with_default(1, []), 6, 2, [tf.constant(1.0), tf.constant(2.0)], body))

    same(server, program)


@pytest.mark.parametrize("fed", [False, True])
def test_a_call_on_another_device(server, fed):
    def program(session):
        with tf.device("/cpu:1"):
            v = tf1.get_variable("v", initializer=[1.0, 2.0], use_resource=True)

        @function.Defun(tf.float32)
        def f(x):
            return x * 2.0 + 1.0, tf.reduce_sum(x)

        name = "/job:localhost/replica:0/task:0/device:CPU:1"
        target = tf1.placeholder_with_default(name, []) if fed else tf.constant(name)
        with tf.device("/cpu:0"):
            y, total = functional_ops.remote_call(args=[tf.constant([3.0, 4.0])], Tout=[tf.float32, tf.float32], f=f, target=target)
        session.run(v.initializer)
        return session.run(tf.concat([y, [total], v], 0))

    same(server, program, **TWO)


@pytest.mark.parametrize("device", ["/cpu:1", "/cpu:0"])
def test_an_iterator_of_another_device(server, device):
    """Its string handle is used by a call on its own device, to the end; on the other device it is refused."""

    def program(session):
        with tf.device("/cpu:1"):
            iterator = tf1.data.make_one_shot_iterator(tf.data.Dataset.range(3))
            handle = iterator.string_handle()

        @function.Defun(tf.string)
        def following(h):
            return tf1.data.Iterator.from_string_handle(h, tf.int64, tf.TensorShape([])).get_next()

        target = f"/job:localhost/replica:0/task:0/device:{device[1:].upper()}"
        with tf.device("/cpu:0"):
            value = functional_ops.remote_call(args=[handle], Tout=[tf.int64], f=following, target=tf.constant(target))
        got = []
        for _ in range(4):
            try:
                got.append(int(np.ravel(session.run(value))[0]))
            except tf.errors.OpError as e:
                got.append((type(e).__name__, "from handle defined on device" in e.message))
        return got

    theirs, ours = on_both(server, program, **TWO)
    assert ours == theirs


@pytest.mark.parametrize("kinds", [["thalweg", "thalweg"], ["thalweg", "tensorflow"], ["tensorflow", "thalweg"]])
def test_a_call_on_another_task(server, kinds):
    """The iterator lives there; the call brings its elements, and the error of its end."""
    cluster = Cluster({"worker": kinds})
    try:
        with tf1.Graph().as_default():
            with tf.device("/job:worker/task:1"):
                iterator = tf1.data.make_one_shot_iterator(tf.data.Dataset.range(3).map(lambda x: x * x))
                handle = iterator.string_handle()

            @function.Defun(tf.string)
            def following(h):
                return tf1.data.Iterator.from_string_handle(h, tf.int64, tf.TensorShape([])).get_next()

            target = "/job:worker/replica:0/task:1/device:CPU:0"
            with tf.device("/job:worker/task:0"):
                (value,) = functional_ops.remote_call(args=[handle], Tout=[tf.int64], f=following, target=tf.constant(target))
                doubled = value * 2
            with tf1.Session(cluster.target("worker", 0), config=tf1.ConfigProto(operation_timeout_in_ms=60_000)) as session:
                assert [int(session.run(doubled)) for _ in range(3)] == [0, 2, 8]
                with pytest.raises(tf.errors.OutOfRangeError):
                    session.run(doubled)
    finally:
        cluster.stop()
