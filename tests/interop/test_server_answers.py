"""Answers that once differed from TensorFlow's: each test is named for what broke."""

import threading

import numpy as np
import pytest
import tensorflow as tf

tf1 = tf.compat.v1
errors = tf.errors
STEP = tf1.RunOptions(timeout_in_ms=20_000)


def on_both(server, program):
    """What a program gives on TensorFlow's local session and on the server. It is called with a session of a new graph."""
    results = []
    for target in ("", server.target):
        config = tf1.ConfigProto(isolate_session_state=bool(target))
        with tf1.Graph().as_default(), tf1.Session(target, config=config) as session:
            results.append(program(session))
    return results


def reference(name, initial):
    return tf1.get_variable(name, initializer=tf.constant(initial), use_resource=False)


def counted(body, rounds=4):
    """A loop of some rounds whose body runs `body(i)` before it counts."""

    def step(i):
        with tf1.control_dependencies([body(i)]):
            return i + 1

    return tf1.while_loop(lambda i: i < rounds, step, [0])


# Reference variables in loops and branches.


def doubled_in_a_loop():
    v = reference("v", 2.0)
    return counted(lambda i: tf1.assign(v, v * 2)), v


def condition_on_a_variable():
    v = reference("v", 1.0)

    def body(i):
        with tf1.control_dependencies([tf1.assign_add(v, 1.0)]):
            return i + 1

    return tf1.while_loop(lambda i: v < 10.0, body, [0]), v


def read_after_the_update_of_its_round():
    v = reference("v", 1.0)

    def body(i, seen):
        with tf1.control_dependencies([tf1.assign_add(v, 1.0)]):
            return i + 1, seen + v * 10.0

    return tf1.while_loop(lambda i, s: i < 3, body, [0, 0.0]), v


def assigned_on_a_branch():
    v = reference("v", 3.0)
    body = lambda i: tf1.cond(tf.equal(i % 2, 0), lambda: tf1.assign(v, v * 2) + 0.0, lambda: -v)
    return counted(body), v


def assigned_on_both_branches_by_its_value():
    v = reference("v", 5.0)
    body = lambda i: tf1.cond(v > 8.0, lambda: tf1.assign(v, v - 6.0) + 0.0, lambda: tf1.assign(v, v + 2.0) + 0.0)
    return counted(body, 9), v


def updated_by_an_inner_loop():
    v = reference("v", 1.0)
    inner = lambda: counted(lambda j: tf1.assign(v, v + 1.0), 3)

    def body(i, seen):
        with tf1.control_dependencies([inner()]):
            return i + 1, seen + v

    return tf1.while_loop(lambda i, s: i < 3, body, [0, 0.0]), v


def read_by_an_inner_loop():
    v = reference("v", 1.0)

    def body(i, seen):
        with tf1.control_dependencies([tf1.assign(v, v * 3.0)]):
            i = tf.identity(i)
        total = tf1.while_loop(lambda j, t: j < i + 2, lambda j, t: (j + 1, t + v), [i, 0.0])[1]
        with tf1.control_dependencies([total]):
            return i + 1, seen + total

    return tf1.while_loop(lambda i, s: i < 3, body, [0, 0.0]), v


def a_branch_taken_after_an_update():
    v = reference("v", 1.0)
    with tf1.control_dependencies([tf1.assign_add(v, 4.0)]):
        p = tf.constant(3.0) > 2.0
    return tf1.cond(p, lambda: v * 2.0, lambda: v * 3.0), v


def a_value_that_does_not_change():
    v = reference("v", 2.0)
    w = reference("w", 5.0)
    return counted(lambda i: tf1.assign_add(w, v)), w


LOOPS = [
    doubled_in_a_loop,
    condition_on_a_variable,
    read_after_the_update_of_its_round,
    assigned_on_a_branch,
    assigned_on_both_branches_by_its_value,
    updated_by_an_inner_loop,
    read_by_an_inner_loop,
    a_branch_taken_after_an_update,
    a_value_that_does_not_change,
]


@pytest.mark.parametrize("make", LOOPS, ids=lambda f: f.__name__)
def test_reference_variables_were_read_once_before_the_loop(server, make):
    def program(session):
        result, v = make()
        session.run(tf1.global_variables_initializer())
        return session.run(result, options=STEP), session.run(v)

    theirs, ours = on_both(server, program)
    for t, o in zip(tf.nest.flatten(theirs), tf.nest.flatten(ours)):
        np.testing.assert_array_equal(o, t)


# Uninitialised reference variables.

ASKED = {
    "rank": lambda v: tf.raw_ops.Rank(input=v),
    "shape": lambda v: tf.raw_ops.Shape(input=v),
    "size": lambda v: tf.raw_ops.Size(input=v),
    "zeros": lambda v: tf.raw_ops.ZerosLike(x=v),
    "shape of a product": lambda v: tf.raw_ops.Shape(input=v * 2.0),
    "shape behind a shape": lambda v: tf.zeros(tf.raw_ops.Shape(input=v)) + 1.0,
    "all": lambda v: tf1.assert_variables_initialized([v]),
}


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_shapes_of_uninitialised_variables_were_known(server, ask):
    def program(session):
        v = reference("v", [1.0, 2.0])
        asked = ask(v)
        with pytest.raises(errors.FailedPreconditionError, match="Attempting to use uninitialized value v"):
            session.run(asked)
        session.run(tf1.global_variables_initializer())
        return session.run(asked)

    theirs, ours = on_both(server, program)
    np.testing.assert_array_equal(np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float))


def test_the_shape_of_a_variable_initialised_in_the_same_step(server):
    def program(session):
        v = reference("v", [1.0, 2.0])
        with tf1.control_dependencies([v.initializer]):
            shape = tf.raw_ops.Shape(input=v.read_value())
        return session.run(shape).tolist()

    assert on_both(server, program) == [[2], [2]]


# Queues.


def test_many_of_a_priority_queue_that_had_to_wait_are_sorted(server):
    def program(session):
        q = tf1.PriorityQueue(100, [tf.string], [()])
        many, size = q.dequeue_many(20), q.size()
        keys = tf1.placeholder(tf.int64, [None])
        enqueue = q.enqueue_many([keys, tf.fill(tf.shape(keys), "x")])
        got = []
        taker = threading.Thread(target=lambda: got.append(session.run(many, options=STEP)))
        taker.start()
        for start in range(4):
            session.run(enqueue, {keys: [start + 4 * k for k in range(5)][::-1]})
        taker.join()
        return got[0][0].tolist(), session.run(size)

    theirs, ours = on_both(server, program)
    assert theirs == ours == (list(range(20)), 0)


# Iterators that outlive their session.


def doubled(table=None):
    numbers = tf.data.Dataset.range(5)
    return numbers.map(lambda x: x * 2 if table is None else table.lookup(x))


def by_table():
    return doubled(tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(tf.range(5, dtype=tf.int64), tf.range(0, 10, 2, tf.int64)), -1))


PIPELINES = {
    "map": doubled,
    "prefetch": lambda: doubled().prefetch(1),
    "parallel": lambda: tf.data.Dataset.range(5).map(lambda x: x * 2, num_parallel_calls=2).prefetch(2),
    "interleave": lambda: tf.data.Dataset.range(5).interleave(lambda x: tf.data.Dataset.from_tensors(x * 2), cycle_length=1),
    "filter": lambda: tf.data.Dataset.range(10).filter(lambda x: tf.equal(x % 2, 0)),
    "table": by_table,
    "plain": lambda: tf.data.Dataset.range(0, 10, 2),
}


@pytest.mark.parametrize("pipeline", PIPELINES.values(), ids=PIPELINES)
def test_a_shared_iterator_ended_with_the_session_that_initialised_it(own_server, pipeline):
    local = tf1.train.Server.create_local_server()
    for target in (local.target, own_server.target):
        with tf1.Graph().as_default():
            iterator = tf1.data.make_initializable_iterator(pipeline(), shared_name="it")
            following = iterator.get_next()
            with tf1.Session(target) as first:
                first.run(tf1.tables_initializer())
                first.run(iterator.initializer)
                assert first.run(following, options=STEP) == 0
            with tf1.Session(target) as second:
                assert second.run(following, options=STEP) == 2
            with tf1.Session(target) as third:
                assert [third.run(following, options=STEP) for _ in range(3)] == [4, 6, 8]
                with pytest.raises(errors.OutOfRangeError):
                    third.run(following, options=STEP)
            tf1.Session.reset(target)


def test_a_reset_ends_a_shared_iterator(own_server):
    with tf1.Graph().as_default():
        iterator = tf1.data.make_initializable_iterator(doubled().prefetch(1), shared_name="it")
        following = iterator.get_next()
        with tf1.Session(own_server.target) as first:
            first.run(iterator.initializer)
            first.run(following)
        tf1.Session.reset(own_server.target)
        with tf1.Session(own_server.target) as second, pytest.raises(errors.FailedPreconditionError):
            second.run(following, options=STEP)
