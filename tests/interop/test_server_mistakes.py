"""Users' mistakes: the same exception class as TensorFlow's own gRPC server raises, naming the same node."""

import threading

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2

tf1 = tf.compat.v1
errors = tf.errors


@pytest.fixture(scope="session")
def tensorflow_server():
    return tf.distribute.Server.create_local_server()


def ones(*shape):
    return np.ones(shape, np.float32)


# Each takes a session with an empty graph and makes its mistake.


def missing_feed(session):
    session.run(tf1.placeholder(tf.float32, [2], name="given") * 2)


def matrices_that_do_not_fit(session):
    a, b = tf1.placeholder(tf.float32, None), tf1.placeholder(tf.float32, None)
    session.run(tf.matmul(a, b, name="product"), {a: ones(2, 3), b: ones(2, 3)})


def shapes_that_do_not_broadcast(session):
    a, b = tf1.placeholder(tf.float32, None), tf1.placeholder(tf.float32, None)
    session.run(tf.add(a, b, name="sum"), {a: ones(2), b: ones(3)})


def reshape_to_another_size(session):
    a = tf1.placeholder(tf.float32, None)
    session.run(tf.reshape(a, [4], name="shaped"), {a: ones(3)})


def concat_of_different_sizes(session):
    a = tf1.placeholder(tf.float32, None)
    session.run(tf.concat([a, ones(2, 3)], 0, name="joined"), {a: ones(2, 2)})


def index_out_of_range(session):
    i = tf1.placeholder(tf.int32, None)
    session.run(tf.gather([1, 2, 3], i, name="picked"), {i: 7})


def slice_out_of_range(session):
    n = tf1.placeholder(tf.int32, [1])
    session.run(tf.slice([1, 2, 3], n, [2], name="part"), {n: [2]})


def label_out_of_range(session):
    i = tf1.placeholder(tf.int64, None)
    session.run(tf.nn.embedding_lookup(tf.constant(ones(3, 2)), i, name="looked_up"), {i: [0, -1]})


def uninitialized_variable(session):
    session.run(tf1.Variable(1.0, use_resource=False, name="w") + 1)


def uninitialized_resource_variable(session):
    session.run(tf1.Variable(1.0, use_resource=True, name="u") + 1)


def not_a_number(session):
    x = tf1.placeholder(tf.float32, [])
    session.run(tf1.check_numerics(x, "not a number", name="checked"), {x: np.nan})


def failed_assertion(session):
    x = tf1.placeholder(tf.float32, [])
    session.run(tf1.Assert(x > 0, [x], name="positive"), {x: -1})


def division_by_zero(session):
    x = tf1.placeholder(tf.int32, [])
    session.run(tf1.floordiv(7, x, name="parts"), {x: 0})


def text_that_is_no_number(session):
    x = tf1.placeholder(tf.string, [])
    session.run(tf1.string_to_number(x, name="read"), {x: "seven"})


def unknown_device(session):
    with tf.device("/job:nosuch/task:0"):
        c = tf.constant(1.0, name="away")
    session.run(c)


def unknown_op(session):
    session.run(tf1.placeholder(tf.float32, [], name="x"), {"x:0": 1.0})
    options = config_pb2.CallableOptions(target=["nosuch"])
    session._make_callable_from_options(options)()


def dequeue_from_a_closed_empty_queue(session):
    queue = tf1.FIFOQueue(2, [tf.float32], [[]], name="q")
    get, close = queue.dequeue(name="get"), queue.close()
    session.run(close)
    session.run(get)


def enqueue_to_a_closed_queue(session):
    queue = tf1.FIFOQueue(2, [tf.float32], [[]], name="q")
    put, close = queue.enqueue(1.0, name="put"), queue.close()
    session.run(close)
    session.run(put)


def cancelled_enqueue(session):
    queue = tf1.FIFOQueue(1, [tf.float32], [[]], name="q")
    put, close = queue.enqueue(1.0, name="put"), queue.close(cancel_pending_enqueues=True)
    size = queue.size()
    session.run(put)
    caught = []

    def wait():
        try:
            session.run(put)
        except errors.OpError as e:
            caught.append(e)

    waiter = threading.Thread(target=wait)
    waiter.start()
    session.run(size)
    session.run(close)
    waiter.join()
    raise caught[0]


def time_out(session):
    get = tf1.FIFOQueue(1, [tf.float32]).dequeue(name="get")
    session.run(get, options=tf1.RunOptions(timeout_in_ms=200))


def session_closed_on_the_server(session):
    c = tf.constant(1.0)
    session.run(c)
    tf1.Session.reset(session.sess_str)
    session.run(c)


def partial_run_of_what_was_not_set_up(session):
    a, b = tf1.placeholder(tf.float32, []), tf1.placeholder(tf.float32, [])
    c, d = a + b, a * b
    handle = session.partial_run_setup([c], [a, b])
    session.partial_run(handle, d, {a: 1.0})


def partial_run_without_its_feeds(session):
    a, b = tf1.placeholder(tf.float32, []), tf1.placeholder(tf.float32, [])
    c = tf.add(a, b, name="c")
    handle = session.partial_run_setup([c], [a, b])
    session.partial_run(handle, c, {a: 1.0})


def fetch_from_a_branch_not_taken(session):
    p = tf1.placeholder(tf.bool, [])
    no, _ = tf.raw_ops.Switch(data=tf.constant(3.0), pred=p)
    session.run(tf.identity(no, name="y"), {p: True})


MISTAKES = [
    missing_feed,
    matrices_that_do_not_fit,
    shapes_that_do_not_broadcast,
    reshape_to_another_size,
    concat_of_different_sizes,
    index_out_of_range,
    slice_out_of_range,
    label_out_of_range,
    uninitialized_variable,
    uninitialized_resource_variable,
    not_a_number,
    failed_assertion,
    division_by_zero,
    text_that_is_no_number,
    unknown_device,
    unknown_op,
    dequeue_from_a_closed_empty_queue,
    enqueue_to_a_closed_queue,
    cancelled_enqueue,
    time_out,
    session_closed_on_the_server,
    partial_run_of_what_was_not_set_up,
    partial_run_without_its_feeds,
    fetch_from_a_branch_not_taken,
]


def caught(target, mistake):
    with tf1.Graph().as_default(), tf1.Session(target) as session:
        with pytest.raises((errors.OpError, ValueError, RuntimeError)) as e:
            mistake(session)
        if mistake is session_closed_on_the_server:
            # Closing it a second time is a mistake too.
            with pytest.raises(errors.AbortedError):
                session.close()
    return e.value


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: m.__name__)
def test_the_same_error_as_on_a_tensorflow_server(own_server, tensorflow_server, mistake):
    theirs, ours = caught(tensorflow_server.target, mistake), caught(own_server.target, mistake)
    assert type(ours) is type(theirs), (str(theirs), str(ours))
    if isinstance(theirs, errors.OpError):
        names = [e.op and e.op.name for e in (theirs, ours)]
        # Where TensorFlow names no node, ours may.
        assert names[0] in (None, names[1]), (str(theirs), str(ours))
        assert theirs.node_def in (None, ours.node_def)
