"""Unmodified TensorFlow programs, with `thalweg server` in place of TensorFlow's own."""

import json
import threading

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2, tensorflow_server_pb2
from tensorflow.python.client import timeline

tf1 = tf.compat.v1
errors = tf.errors


@pytest.fixture
def session(server):
    """A session with an empty graph and its own container, on the shared server."""
    config = tf1.ConfigProto(isolate_session_state=True)
    with tf1.Graph().as_default(), tf1.Session(server.target, config=config) as s:
        yield s


def test_constant(session):
    assert session.run(tf.constant(3) + 5) == 8


def test_linear_regression(session):
    x = np.random.default_rng(0).random(100).astype(np.float32)
    w = tf1.Variable(tf1.random_uniform([1], -1.0, 1.0))
    b = tf1.Variable(tf1.zeros([1]))
    loss = tf1.reduce_mean(tf1.square(w * x + b - (x * 0.1 + 0.3)))
    train = tf1.train.GradientDescentOptimizer(0.5).minimize(loss)
    session.run(tf1.global_variables_initializer())
    for _ in range(200):
        session.run(train)
    got_w, got_b = session.run([w, b])
    assert abs(got_w[0] - 0.1) < 1e-3 and abs(got_b[0] - 0.3) < 1e-3


PLAIN = [np.float16, np.float32, np.float64, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.bool_, np.complex64, np.complex128]


@pytest.mark.parametrize("dtype", PLAIN, ids=lambda t: t.__name__)
@pytest.mark.parametrize("shape", [(), (0, 2), (3, 1, 400)], ids=str)
def test_every_type_is_fed_and_fetched(session, dtype, shape):
    value = (np.random.default_rng(1).random(shape) * 4).astype(dtype)
    x = tf1.placeholder(dtype, None)
    got = session.run(tf.identity(x), {x: value})
    assert got.dtype == value.dtype and got.shape == shape and (got == value).all()


def test_strings_are_fed_and_fetched(session):
    x = tf1.placeholder(tf.string, None)
    value = np.array([[b"a", b""], [b"\x00\xff", "häß".encode()]], object)
    assert session.run(tf.identity(x), {x: value}).tolist() == value.tolist()
    assert session.run(tf1.strings.join([x, x]), {x: b"ab"}) == b"abab"


@pytest.mark.parametrize("v2", [False, True], ids=["v1", "v2"])
def test_cond_and_while(session, v2):
    (tf1.enable_control_flow_v2 if v2 else tf1.disable_control_flow_v2)()
    try:
        n = tf1.placeholder(tf.int32, [])
        _, total = tf1.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, tf1.cond(i % 2 < 1, lambda: s + i, lambda: s - 1)), [0, 0])
    finally:
        tf1.enable_control_flow_v2()
    assert session.run(total, {n: 10}) == sum(range(0, 10, 2)) - 5
    assert session.run(total, {n: 0}) == 0


def test_partial_run(session):
    a, b, c = (tf1.placeholder(tf.float32, []) for _ in range(3))
    r1 = a + b
    r2 = r1 * c
    handle = session.partial_run_setup([r1, r2], [a, b, c])
    first = session.partial_run(handle, r1, {a: 1, b: 2})
    assert first == 3
    assert session.partial_run(handle, r2, {c: first * 10}) == 90


def test_callables(session):
    x = tf1.placeholder(tf.float32, [])
    y = x * 2
    assert session.make_callable(y, [x])(4) == 8
    # The API that uses the service's callables is not public.
    options = config_pb2.CallableOptions(feed=[x.name], fetch=[y.name])
    call = session._make_callable_from_options(options)
    assert call(np.float32(5.0)) == [10.0]
    with pytest.raises(errors.InvalidArgumentError):
        call()


def test_a_graph_grows_between_runs(session):
    a = tf.constant(2.0)
    assert session.run(a) == 2
    b = a * 3
    assert session.run(b) == 6
    assert session.run([b, a + b]) == [6, 8]


def test_a_queue_filled_by_threads(session):
    q = tf1.FIFOQueue(4, [tf.int32], [[]])
    value = tf1.placeholder(tf.int32, [])
    put, get, close = q.enqueue(value), q.dequeue(), q.close()

    def fill():
        for i in range(100):
            session.run(put, {value: i})
        session.run(close)

    filler = threading.Thread(target=fill)
    filler.start()
    assert [session.run(get) for _ in range(100)] == list(range(100))
    filler.join()
    with pytest.raises(errors.OutOfRangeError, match="is closed and has insufficient elements"):
        session.run(get)


def test_two_clients_share_variables_until_reset(own_server):
    def graph():
        g = tf1.Graph()
        with g.as_default():
            v = tf1.get_variable("shared", initializer=1.0)
            return g, v, v.assign_add(1.0), tf1.global_variables_initializer()

    g, v, add, init = graph()
    h, w, _, _ = graph()
    one, two = tf1.Session(own_server.target, graph=g), tf1.Session(own_server.target, graph=h)
    one.run(init)
    one.run(add)
    assert two.run(w) == 2
    tf1.Session.reset(own_server.target)
    with pytest.raises(errors.AbortedError):
        two.run(w)
    with tf1.Session(own_server.target, graph=h) as three, pytest.raises(errors.FailedPreconditionError):
        three.run(w)


def test_a_traced_run_makes_a_timeline(session):
    x = tf.random.normal([50, 50])
    y = tf.reduce_sum(x @ x)
    metadata = tf1.RunMetadata()
    options = tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE, output_partition_graphs=True)
    session.run(y, options=options, run_metadata=metadata)
    trace = json.loads(timeline.Timeline(metadata.step_stats).generate_chrome_trace_format())
    ran = {e["args"]["name"]: e["args"] for e in trace["traceEvents"] if e.get("cat") == "Op"}
    assert ran[y.op.name]["op"] == "Sum" and ran["matmul"]["input0"] == x.op.name
    assert y.op.name in [n.name for g in metadata.partition_graphs for n in g.node]


# Mistakes: the same exception class as with TensorFlow, naming the same node.


def same_error(session, fetch, feed=None, options=None):
    """Runs on TensorFlow's local session and on the server; returns the server's error after comparing class and node."""
    caught = []
    with tf1.Session(graph=session.graph) as local:
        for s in (local, session):
            with pytest.raises(errors.OpError) as e:
                s.run(fetch, feed, options=options)
            caught.append(e.value)
    local, ours = caught
    assert type(local) is type(ours), (str(local), str(ours))
    assert (local.op and local.op.name) == (ours.op and ours.op.name), (str(local), str(ours))
    return ours


def test_missing_feed(session):
    x = tf1.placeholder(tf.float32, [2], name="given")
    assert "{{node given}}" in same_error(session, x * 2).message


def test_uninitialized_variables(session):
    same_error(session, tf1.Variable(1.0, use_resource=False, name="w") + 1)
    same_error(session, tf1.Variable(1.0, use_resource=True, name="u") + 1)


def test_bad_shapes_at_run_time(session):
    a, b = tf1.placeholder(tf.float32, None), tf1.placeholder(tf.float32, None)
    ones = np.ones
    same_error(session, tf.matmul(a, b, name="product"), {a: ones([2, 3]), b: ones([2, 3])})
    same_error(session, tf.add(a, b, name="sum"), {a: ones([2]), b: ones([3])})
    same_error(session, tf.reshape(a, [4], name="shaped"), {a: ones([3])})


def test_indices_out_of_range(session):
    i = tf1.placeholder(tf.int32, None)
    same_error(session, tf.gather([1, 2, 3], i, name="picked"), {i: 7})


def test_failed_assertion(session):
    x = tf1.placeholder(tf.float32, [])
    same_error(session, tf1.check_numerics(x, "not a number", name="checked"), {x: np.nan})


def test_unknown_device(session):
    with tf.device("/job:nosuch/task:0"):
        c = tf.constant(1.0, name="away") + 1
    with pytest.raises(errors.InvalidArgumentError, match="away.* was explicitly assigned to /job:nosuch/task:0"):
        session.run(c)


def test_time_out(session):
    get = tf1.FIFOQueue(1, [tf.float32]).dequeue()
    with pytest.raises(errors.DeadlineExceededError):
        session.run(get, options=tf1.RunOptions(timeout_in_ms=50))


def test_operation_time_out(server):
    config = tf1.ConfigProto(operation_timeout_in_ms=50)
    with tf1.Graph().as_default(), tf1.Session(server.target, config=config) as s:
        with pytest.raises(errors.DeadlineExceededError):
            s.run(tf1.FIFOQueue(1, [tf.float32]).dequeue())


def test_closed_session_cancels_its_steps(server):
    with tf1.Graph().as_default():
        q = tf1.FIFOQueue(1, [tf.float32])
        put, get, more = q.enqueue(1.0), q.dequeue(), q.dequeue()
        s = tf1.Session(server.target)
        s.run(put)
        started, caught = threading.Event(), []

        def wait():
            s.run(get)
            started.set()
            try:
                s.run(more)
            except errors.OpError as e:
                caught.append(e)

        waiter = threading.Thread(target=wait)
        waiter.start()
        started.wait()
        s.close()
        waiter.join()
        # If the step had not started yet, its session does not exist any more.
        assert [type(e) for e in caught] in ([errors.CancelledError], [errors.AbortedError])


# The program itself.


def test_the_server_stops_when_asked_to(own_server):
    assert own_server.task == "/job:localhost/replica:0/task:0"
    assert own_server.target.startswith("grpc://127.0.0.1:")
    with tf1.Graph().as_default(), tf1.Session(own_server.target) as s:
        assert s.run(tf.constant(1)) == 1
    # The client keeps its connection.
    assert own_server.stop() == 0


def test_a_server_def_names_the_task(start_server, tmp_path):
    def_ = tensorflow_server_pb2.ServerDef(job_name="worker", task_index=1, protocol="grpc")
    job = def_.cluster.job.add(name="worker")
    job.tasks[0], job.tasks[1] = "localhost:1", "localhost:2"
    def_.default_session_config.device_count["CPU"] = 2
    path = tmp_path / "server.pb"
    path.write_bytes(def_.SerializeToString())
    server = start_server("--server-def", path, "--port", 0)
    assert server.task == "/job:worker/replica:0/task:1"
    # A session waits for all tasks in its device filters, and the other one does not exist.
    config = tf1.ConfigProto(device_filters=["/job:worker/task:1"])
    with tf1.Graph().as_default(), tf1.Session(server.target, config=config) as s:
        names = [d.name for d in s.list_devices()]
        assert names == [f"/job:worker/replica:0/task:1/device:CPU:{i}" for i in range(2)]
        with tf.device("/job:worker/task:1/device:CPU:1"):
            c = tf.constant(2.0) * 3
        assert s.run(c) == 6


def test_a_bad_server_def_is_refused(thalweg, tmp_path):
    path = tmp_path / "server.pb"
    path.write_bytes(b"\xff" * 9)
    done = thalweg("server", "--server-def", path)
    assert done.returncode == 2 and "not a ServerDef" in done.stderr
