"""Running graphs: fetches, feeds, values in and out, interrupts, servers, and what must not crash."""

import collections
import os
import signal
import threading
import time

import numpy as np
import pytest
import thalweg as tf


def test_fetches_keep_their_structure():
    a, b = tf.constant(1.0), tf.constant([2, 3])
    Pair = collections.namedtuple("Pair", "first second")
    op = tf.no_op(name="nothing")
    with tf.Session() as sess:
        assert sess.run([a, (b, {"k": a}), op])[2] is None
        got = sess.run(Pair([a, a], {"b": b}))
        assert isinstance(got, Pair) and got.first == [1.0, 1.0] and got.second["b"].tolist() == [2, 3]
        assert sess.run("Const:0") == 1.0 and sess.run("nothing") is None
        assert sess.run([]) == []
        with pytest.raises(TypeError):
            sess.run(None)
        with pytest.raises(TypeError):
            sess.run(3)
        with pytest.raises(ValueError):
            sess.run("missing:0")


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool",
                                   "complex64", "complex128"])
def test_values_of_every_type_come_back_as_they_went(dtype):
    values = np.array([[0, 1, 2], [3, 4, 100]]).astype(dtype)
    x = tf.placeholder(dtype)
    with tf.Session() as sess:
        for v in (values, values.T, values[:, ::2], values[0, 1], np.zeros((0, 3), dtype), np.tile(values, (50, 50)), values.astype(values.dtype.newbyteorder(">"))):
            got = sess.run(tf.identity(x), {x: v})
            assert got.dtype == np.dtype(dtype) and np.array_equal(got, v) and got.shape == np.shape(v)
        got = sess.run(tf.identity(x), {x: np.tile(values, (50, 50))})
        assert got.flags.writeable
        got[0] = 1


def test_what_is_written_to_a_result_changes_nothing_else():
    v = tf.Variable(np.zeros(10000, np.float32))
    c = tf.constant(np.ones(10000, np.float32))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for t in (v, c):
            first = sess.run(t)
            before = first[0]
            first[:] = 7
            assert sess.run(t)[0] == before
        fed = np.arange(10000, dtype=np.float32)
        x = tf.placeholder(tf.float32, [10000])
        sess.run(tf.assign(v, x).op, {x: fed})
        fed[:] = -1
        assert sess.run(v)[3] == 3


def test_strings():
    x = tf.placeholder(tf.string)
    with tf.Session() as sess:
        assert sess.run(tf.constant("é")) == "é".encode()
        assert sess.run(tf.strings.length(x), {x: ["a", b"bcd", ""]}).tolist() == [1, 3, 0]
        got = sess.run(tf.identity(x), {x: np.array([["a", "b"], ["c", "d"]])})
        assert got.dtype == object and got.tolist() == [[b"a", b"b"], [b"c", b"d"]]


def test_values_of_python_have_tensorflows_types():
    cases = [(1, "int32"), (1.5, "float32"), (True, "bool"), ([1, 2], "int32"), ([1.0, 2], "float32"), (2 ** 40, "int64"), ([2 ** 40], "int64"),
             (np.float64(1), "float64"), ([np.float64(1)], "float64"), (1j, "complex128"), ("a", "string"), (np.arange(2), "int64"), ([], "float32")]
    for value, dtype in cases:
        assert tf.constant(value).dtype == dtype, value
    with pytest.raises(OverflowError):
        tf.constant(300, tf.uint8)
    with pytest.raises(TypeError):
        tf.constant(1.5, tf.int32)
    with pytest.raises(TypeError):
        tf.constant("a", tf.float32)
    with pytest.raises(ValueError):
        tf.constant([[1, 2], [3]])


def test_feeds_that_do_not_fit_are_told():
    x = tf.placeholder(tf.float32, [2])
    with tf.Session() as sess:
        with pytest.raises(ValueError):
            sess.run(x, {x: [1.0, 2.0, 3.0]})
        with pytest.raises(tf.errors.InvalidArgumentError) as e:
            sess.run(x + 1)
        assert e.value.error_code == 3
        with pytest.raises(TypeError):
            sess.run(x, {x: tf.constant([1.0, 2.0])})
        with pytest.raises(TypeError):
            sess.run(x, {3: 1})
        with pytest.raises(TypeError):
            sess.run(x, [1])
        assert sess.run(x, {"Placeholder:0": [1, 2]}).tolist() == [1, 2]


def test_errors_name_the_node_and_the_line_that_made_it():
    x = tf.placeholder(tf.int32, name="x")
    y = tf.constant(1) // x  # made here
    with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError) as e:
        sess.run(y, {x: 0})
    assert e.value.node == "floordiv" and e.value.op.type == "FloorDiv"
    with open(__file__) as f:
        line = 1 + next(i for i, text in enumerate(f) if "# made here" in text)
    assert e.value.place == (__file__, line) and f"{__file__}:{line}" in str(e.value)
    with pytest.raises(ValueError) as e:
        tf.matmul(tf.zeros([1, 3]), tf.zeros([1, 2]))
    assert "dimensions must be equal, but are 3 and 1" in str(e.value) and __file__ in str(e.value)
    # The graph goes on.
    assert tf.add(1, 2).shape == []


def test_a_graph_grows_under_an_open_session():
    with tf.Session() as sess:
        assert sess.run(tf.add(1, 2)) == 3
        v = tf.Variable(4.0)
        sess.run(v.initializer)
        assert sess.run(v * 2) == 8.0 and v.eval() == 4.0


def test_sessions_that_are_closed_and_tensors_of_other_graphs():
    a = tf.constant(1)
    sess = tf.Session()
    with tf.Graph().as_default():
        other = tf.constant(2)
    with pytest.raises(ValueError, match="another graph"):
        sess.run(other)
    with pytest.raises(ValueError, match="another graph|belongs to"):
        tf.add(a, other)
    with pytest.raises(ValueError):
        with tf.control_dependencies([other]):
            pass
    sess.close()
    with pytest.raises(tf.errors.OpError):
        sess.run(a)
    with pytest.raises(ValueError, match="No default session"):
        a.eval()
    with pytest.raises(TypeError):
        tf.Session(graph=3)
    with pytest.raises(tf.errors.OpError):
        tf.Session("nonsense://x")


def test_steps_of_several_threads_run_side_by_side():
    x = tf.placeholder(tf.float32, [])
    y = x * 2 + 1
    results = []
    with tf.Session() as sess:
        def work(i):
            results.extend(float(sess.run(y, {x: i})) - (2 * i + 1) for _ in range(50))

        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        [t.start() for t in threads]
        [t.join() for t in threads]
    assert len(results) == 400 and not any(results)


def waiting():
    """A step that never ends by itself."""
    queue = tf.raw_ops.FIFOQueueV2(component_types=[tf.float32])
    return tf.raw_ops.QueueDequeueV2(handle=queue, component_types=[tf.float32])


def test_ctrl_c_ends_a_step():
    with tf.Session() as sess:
        for step in (waiting(), tf.while_loop(lambda i: i >= 0, lambda i: (i + 1) % 7, [tf.constant(0)])):
            threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
            began = time.time()
            with pytest.raises(KeyboardInterrupt):
                sess.run(step)
            assert time.time() - began < 5
        assert sess.run(tf.constant(5)) == 5


def test_timeouts_and_a_session_closed_under_a_step():
    with tf.Session() as sess:
        with pytest.raises(tf.errors.DeadlineExceededError):
            sess.run(waiting(), options=tf.RunOptions(timeout_in_ms=100))
    sess = tf.Session()
    step = waiting()
    threading.Timer(0.3, sess.close).start()
    with pytest.raises(tf.errors.CancelledError):
        sess.run(step)


def test_a_fork_is_told():
    sess = tf.Session()
    a = tf.constant(1)
    sess.run(a)
    child = os.fork()
    if child == 0:
        try:
            sess.run(a)
        except tf.errors.FailedPreconditionError:
            os._exit(0 if tf.Session().run(a) == 1 else 2)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_server_and_a_session_on_it():
    server = tf.train.Server.create_local_server()
    x = tf.placeholder(tf.float32)
    v = tf.Variable([1.0, 2.0])
    with tf.Session(server.target) as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run(v * x, {x: 3}).tolist() == [3, 6]
        with pytest.raises(tf.errors.InvalidArgumentError):
            sess.run(tf.reshape(v, [tf.cast(x, tf.int32), 5]), {x: 3})
        assert sess.run(tf.add(1, 2)) == 3
    server.stop()


def test_run_metadata_and_devices():
    metadata = tf.RunMetadata()
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2}, allow_soft_placement=True)) as sess:
        sess.run(tf.add(1, 2), options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
        assert len(metadata.SerializeToString()) > 0
        assert len(sess.list_devices()) == 2
        add = sess.make_callable(tf.placeholder(tf.float32, name="x") + 1, [sess.graph.get_tensor_by_name("x:0")])
        assert add(2) == 3


def test_no_tensor_is_a_condition_or_a_list_of_unknown_length():
    x = tf.placeholder(tf.float32)
    for wrong in (lambda: bool(x), lambda: len(x), lambda: list(x), lambda: x["a"], lambda: x[1.5]):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(NotImplementedError):
        np.asarray(x)
    assert len(list(tf.constant([1, 2, 3]))) == 3


def test_functions_of_python_are_ops_of_the_session():
    x = tf.placeholder(tf.float32, [None])
    seen = []

    def doubled(a):
        seen.append(type(a))
        return a * 2, "text"

    both = tf.py_func(doubled, [x], [tf.float32, tf.string])
    eager = tf.py_function(lambda t: tf.reduce_sum(t) + 1.0, [x], tf.float32)
    nothing = tf.py_func(lambda: seen.append("called"), [], [])
    failing = tf.py_func(lambda: 1 / 0, [], tf.float32)
    wrong = tf.py_func(lambda: [1.0, 2.0], [], [tf.float32])
    with tf.Session() as sess:
        assert [v.tolist() if v.ndim else v for v in map(np.asarray, sess.run(both, {x: [1, 2]}))] == [[2, 4], b"text"]
        assert seen == [np.ndarray] and sess.run(eager, {x: [1, 2]}) == 4
        sess.run(nothing)
        assert seen[-1] == "called"
        with pytest.raises(tf.errors.UnknownError, match="ZeroDivisionError"):
            sess.run(failing)
        with pytest.raises(tf.errors.InvalidArgumentError, match="2 values"):
            sess.run(wrong)
        # Threads that hold Python's lock meanwhile are not waited for.
        results = []
        threads = [threading.Thread(target=lambda: results.append(sess.run(eager, {x: [1]}))) for _ in range(4)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        assert results == [2] * 4
