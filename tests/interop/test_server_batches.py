"""Steps whose inputs are batched together: BatchFunction, Batch and Unbatch, on `thalweg server` and on TensorFlow's own session."""

import threading

import tensorflow as tf
from tensorflow.python.ops import batch_ops

tf1 = tf.compat.v1


def on_both(server, program):
    results = []
    for target in ("", server.target):
        options = tf1.ConfigProto(isolate_session_state=bool(target))
        with tf1.Graph().as_default(), tf1.Session(target, config=options) as session:
            results.append(program(session))
    return results


def at_once(*calls):
    got = [None] * len(calls)

    def run(i):
        got[i] = calls[i]()

    steps = [threading.Thread(target=run, args=(i,)) for i in range(len(calls))]
    [s.start() for s in steps]
    [s.join(60) for s in steps]
    return got


def test_two_steps_share_a_call_of_a_function(server):
    def program(session):
        @batch_ops.batch_function(1, 10, 500000, allowed_batch_sizes=[2, 10])
        def f(x):
            return x + 1.0, tf.ones_like(x) * tf.cast(tf.shape(x)[0], tf.float32)

        x = tf1.placeholder(tf.float32, [None])
        y, size = f(x)
        return [r.tolist() for pair in at_once(*(lambda v=v: session.run([y, size], {x: [v]}) for v in (1.0, 5.0))) for r in pair]

    theirs, ours = on_both(server, program)
    assert ours == theirs == [[2.0], [2.0], [6.0], [2.0]]


def test_two_steps_are_batched_and_get_their_own_rows(server):
    def program(session):
        x = tf1.placeholder(tf.float32, [1])
        batched, index, id_ = tf.raw_ops.Batch(in_tensors=[x], num_batch_threads=1, max_batch_size=2, batch_timeout_micros=36000000, grad_timeout_micros=0)
        y = tf.raw_ops.Unbatch(batched_tensor=batched[0] * batched[0], batch_index=index, id=id_, timeout_micros=10000000)
        grad = tf.raw_ops.UnbatchGrad(original_input=batched[0], batch_index=index, grad=y * 10.0, id=id_)
        rows = at_once(*(lambda v=v: session.run([y, grad], {x: [v]}) for v in (1.0, 5.0)))
        return [y.tolist() for y, _ in rows], sorted(sum((grad.tolist() for _, grad in rows), []))

    theirs, ours = on_both(server, program)
    assert ours == theirs == ([[1.0], [25.0]], [10.0, 250.0])
