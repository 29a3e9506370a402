"""Regressions: results that once differed from TensorFlow's. Each test is named for what broke."""

import threading

import grpc
import numpy as np
import pytest
import tensorflow as tf

from master_messages import Master
from programs import on_both

tf1 = tf.compat.v1
errors = tf.errors
STEP = tf1.RunOptions(timeout_in_ms=20_000)


def reference(name, initial):
    return tf1.get_variable(name, initializer=tf.constant(initial), use_resource=False)


def after(before, make):
    """The result of `make`, with a control dependency on `before`: orders reads within an iteration, in TensorFlow too."""
    with tf1.control_dependencies([before]):
        return make()


def counted(body, rounds=4):
    """A loop whose body runs `body(i)` before it increments the counter."""

    return tf1.while_loop(lambda i: i < rounds, lambda i: after(body(i), lambda: i + 1), [0])


# Reference variables in loops and branches.


@pytest.fixture
def v1_control_flow():
    """Control flow v1, which alone supports references."""
    was_enabled = tf1.control_flow_v2_enabled()
    tf1.disable_control_flow_v2()
    yield
    if was_enabled:
        tf1.enable_control_flow_v2()


def doubled_in_a_loop():
    v = reference("v", 2.0)
    return counted(lambda i: tf1.assign(v, v * 2)), v


def condition_on_a_variable():
    v = reference("v", 1.0)
    body = lambda i: after(tf1.assign_add(v, 1.0), lambda: i + 1)
    return tf1.while_loop(lambda i: v < 10.0, body, [0]), v


def read_after_the_update_of_its_round():
    v = reference("v", 1.0)

    def body(i, seen):
        total = after(tf1.assign_add(v, 1.0), lambda: seen + v * 10.0)
        return after(total, lambda: i + 1), total

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
        total = after(inner(), lambda: seen + v)
        return after(total, lambda: i + 1), total

    return tf1.while_loop(lambda i, s: i < 3, body, [0, 0.0]), v


def read_by_an_inner_loop():
    v = reference("v", 1.0)

    def body(i, seen):
        i = after(tf1.assign(v, v * 3.0), lambda: tf.identity(i))
        total = tf1.while_loop(lambda j, t: j < i + 2, lambda j, t: (j + 1, t + v), [i, 0.0])[1]
        return after(total, lambda: i + 1), seen + total

    return tf1.while_loop(lambda i, s: i < 3, body, [0, 0.0]), v


def a_branch_taken_after_an_update():
    v = reference("v", 1.0)
    p = after(tf1.assign_add(v, 4.0), lambda: tf.constant(3.0) > 2.0)
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
def test_reference_variables_were_read_once_before_the_loop(server, v1_control_flow, make):
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


# Nodes that a step does not need.


def unneeded(kind, make, words):
    return pytest.param(kind, make, words, id=make.__name__)


def segment_sum():
    return tf.raw_ops.SegmentSum(data=tf.ones([3, 2]), segment_ids=tf.constant([0, 1]))


def sparse_to_dense():
    return tf.raw_ops.SparseToDense(sparse_indices=[0, 2], output_shape=[4], sparse_values=[7, 8], default_value=[0, 0])


def sparse_sparse_maximum_of_other_width():
    none = tf.zeros([0, 0], tf.int64)
    return tf.raw_ops.SparseSparseMaximum(a_indices=none, a_values=[], a_shape=tf.constant([1], tf.int64), b_indices=none, b_values=[], b_shape=tf.constant([1], tf.int64))


def sparse_sparse_minimum_of_other_ranks():
    a, b = tf.zeros([1, 1], tf.int64), tf.zeros([1, 2], tf.int64)
    shapes = tf.constant([1], tf.int64), tf.constant([1, 1], tf.int64)
    return tf.raw_ops.SparseSparseMinimum(a_indices=a, a_values=[1.0], a_shape=shapes[0], b_indices=b, b_values=[1.0], b_shape=shapes[1])


def sparse_split():
    zero = tf.zeros([1, 2], tf.int64)
    return tf.raw_ops.SparseSplit(split_dim=tf.constant([0, 1], tf.int64), indices=zero, values=[1.0], shape=tf.constant([1, 1], tf.int64), num_split=1)


INVALID = errors.InvalidArgumentError
REFUSED = [
    unneeded(INVALID, segment_sum, "segment_ids should be the same size as dimension 0 of input"),
    unneeded(INVALID, sparse_to_dense, "default_value should be a scalar"),
    unneeded(INVALID, sparse_sparse_maximum_of_other_width, r"rank \(0\) and shape rank \(1\) do not match"),
    unneeded(INVALID, sparse_sparse_minimum_of_other_ranks, "Operands do not have the same ranks; got shapes: 1 and 1 1"),
    unneeded(INVALID, sparse_split, r"axis should be a scalar but received shape \[2\]"),
]


@pytest.mark.parametrize("kind, make, words", REFUSED)
def test_a_shape_that_a_rule_refuses_refused_steps_that_do_not_need_it(server, kind, make, words):
    def program(session):
        x = tf1.placeholder(tf.float32, [])
        bad = make()
        sum_ = session.run(tf.constant(1.0) + x, {x: 2.0})
        with pytest.raises(kind, match=words):
            session.run(bad)
        return sum_

    assert on_both(server, program) == [3.0, 3.0]


# Of the ops that TensorFlow's client knows, these are left out on purpose: k-means++ is a library's, and its clients compute it themselves.


def of_numbers():
    return tf.raw_ops.KmeansPlusPlusInitialization(points=[[1.0]], num_to_sample=1, seed=1, num_retries_per_sample=1)


def of_a_resource():
    return tf.raw_ops.BoostedTreesEnsembleResourceHandleOp()


def in_a_function():
    @tf.function
    def f(x):
        return tf.raw_ops.KmeansPlusPlusInitialization(points=x, num_to_sample=1, seed=1, num_retries_per_sample=1)

    return f(tf.constant([[1.0]]))


@pytest.mark.parametrize("make", [of_numbers, of_a_resource, in_a_function], ids=lambda f: f.__name__)
def test_an_op_that_is_not_there_refused_steps_that_do_not_need_it(server, make):
    with tf1.Graph().as_default(), tf1.Session(server.target) as session:
        x = tf1.placeholder(tf.float32, [])
        bad = make()
        after = tf1.summary.histogram("after", bad) if bad.dtype == tf.float32 else tf.identity(bad)
        assert session.run(tf.constant(1.0) + x, {x: 2.0}) == 3.0
        for wanted in (bad.op, after.op):
            with pytest.raises(errors.NotFoundError, match=r"Op type not registered '(KmeansPlus|BoostedTrees)"):
                session.run(wanted)


def test_a_data_type_that_is_not_known_refused_steps_that_do_not_need_it(server):
    """TensorFlow's client cannot send one, so the message is made by hand."""
    with tf1.Graph().as_default() as graph:
        tf.constant(3.0, name="good")
        message = graph.as_graph_def()
    message.node.add(name="bad", op="Placeholder").attr["dtype"].type = 99
    master = Master(server.target)
    session = master.CreateSession(graph_def=message).session_handle
    assert tf.make_ndarray(master.RunStep(session_handle=session, fetch=["good:0"]).tensor[0].tensor) == 3.0
    with pytest.raises(grpc.RpcError) as caught:
        master.RunStep(session_handle=session, fetch=["bad:0"])
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert "unknown data type number 99" in caught.value.details()


@pytest.mark.parametrize("after", [0, 2])
def test_every_third_step_reports_its_costs(server, after):
    options = tf1.GraphOptions(build_cost_model=3, build_cost_model_after=after)
    with tf1.Graph().as_default(), tf1.Session(server.target, config=tf1.ConfigProto(graph_options=options)) as session:
        x = tf1.placeholder(tf.float32, [2, 3], name="x")
        y = tf.linalg.matmul(x, tf.ones([3, 4]), name="y")
        given = []
        for _ in range(8):
            metadata = tf1.RunMetadata()
            session.run(y, {x: [[1, 2, 3]] * 2}, run_metadata=metadata)
            assert not metadata.HasField("step_stats")
            given.append(metadata.cost_graph)
        assert [i for i, costs in enumerate(given) if costs.node] == ([2, 5] if after == 0 else [1, 4, 7])
        (product,) = (n for n in given[4 if after else 2].node if n.name == "y")
        assert (product.device, product.output_info[0].size, product.output_info[0].dtype) == (f"{server.task}/device:CPU:0", 32, 1)
        assert product.compute_cost > 0


@pytest.mark.parametrize("ops", [("_Send", "_Recv"), ("_HostSend", "_HostRecv"), ("Send", "Recv"), ("_Send", "_HostRecv")])
def test_a_client_sends_and_receives_in_its_own_graph(server, ops):
    graph = tf1.GraphDef()
    value = graph.node.add(name="value", op="Const")
    value.attr["dtype"].type = 1
    value.attr["value"].tensor.CopyFrom(tf.make_tensor_proto([1.0, 2.0]))
    for name, op, attr in (("send", ops[0], "T"), ("recv", ops[1], "tensor_type")):
        node = graph.node.add(name=name, op=op, input=["value"] if name == "send" else [])
        node.attr[attr].type = 1
        node.attr["tensor_name"].s = b"edge"
        node.attr["send_device_incarnation"].i = 5
        for device in ("send_device", "recv_device"):
            node.attr[device].s = f"{server.task}/device:CPU:0".encode()
    with tf1.Graph().as_default() as g, tf1.Session(server.target) as session:
        tf.import_graph_def(graph, name="")
        recv, send = g.get_tensor_by_name("recv:0"), g.get_operation_by_name("send")
        for _ in range(2):
            assert session.run([recv * 2, send], options=STEP)[0].tolist() == [2, 4]
        with pytest.raises(errors.DeadlineExceededError):
            session.run(recv, options=tf1.RunOptions(timeout_in_ms=200))
