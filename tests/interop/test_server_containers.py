"""Staging areas, barriers, mutexes, session tensors and dense tables over several steps, on `thalweg server` and on TensorFlow's own session."""

import threading
import time

import numpy as np
import pytest
import tensorflow as tf
from google.protobuf import text_format
from tensorflow.core.framework import graph_pb2
from tensorflow.python.ops import critical_section_ops, data_flow_ops

from master_messages import Master

tf1 = tf.compat.v1
raw = tf.raw_ops


def on_both(server, program):
    results = []
    for target in ("", server.target):
        options = tf1.ConfigProto(isolate_session_state=bool(target))
        with tf1.Graph().as_default(), tf1.Session(target, config=options) as session:
            results.append(program(session))
    return results


def test_a_staging_area_passes_values_between_steps(server):
    def program(session):
        x = tf1.placeholder(tf.float32)
        area = data_flow_ops.StagingArea([tf.float32, tf.int32], capacity=2)
        put, get, size = area.put([x, tf.cast(x, tf.int32)]), area.get(), area.size()
        got = []
        for i in range(2):
            session.run(put, {x: i + 0.5})
        waits = threading.Thread(target=lambda: session.run(put, {x: 9.5}))  # until there is room
        waits.start()
        time.sleep(0.2)
        assert waits.is_alive()
        for _ in range(3):
            got.append([float(v) for v in session.run(get)])
        waits.join()
        return got, int(session.run(size))

    theirs, ours = on_both(server, program)
    assert ours == theirs == ([[0.5, 0.0], [1.5, 1.0], [9.5, 9.0]], 0)


@pytest.mark.parametrize("ordered", [True, False])
def test_a_staging_map_passes_values_by_key(server, ordered):
    def program(session):
        key, x = tf1.placeholder(tf.int64, []), tf1.placeholder(tf.float32, [])
        area = data_flow_ops.MapStagingArea([tf.float32, tf.float32], shapes=[[], []], names=["x", "y"], ordered=ordered)
        put_x, put_y = area.put(key, {"x": x}, [0]), area.put(key, {"y": x * 2}, [1])
        got = []
        for k in (3, 1, 2):
            session.run(put_x, {key: k, x: k})
        got.append(session.run([area.size(), area.incomplete_size()]))
        late, get = [], area.get(key)
        waits = threading.Thread(target=lambda: late.append(session.run(get, {key: 2})))
        waits.start()
        time.sleep(0.2)
        for k in (3, 2, 1):
            session.run(put_y, {key: k, x: k})
        waits.join(10)
        got += [late, session.run(get, {key: 1}), session.run(area.get())]
        session.run(area.clear())
        return repr(got + [session.run(area.size())])

    theirs, ours = on_both(server, program)
    assert ours == theirs


def test_a_barrier_puts_tuples_together(server):
    def program(session):
        keys, values = tf1.placeholder(tf.string, [None]), tf1.placeholder(tf.float32, [None])
        barrier = data_flow_ops.Barrier((tf.float32, tf.float32), shapes=((), ()))
        insert = [barrier.insert_many(i, keys, values) for i in range(2)]
        taken, got = barrier.take_many(2), []
        waits = threading.Thread(target=lambda: got.append(session.run(taken)))
        waits.start()
        session.run(insert[0], {keys: [b"a"], values: [1]})
        session.run(insert[0], {keys: [b"b"], values: [2]})
        session.run(insert[1], {keys: [b"a"], values: [4]})
        session.run(insert[1], {keys: [b"b"], values: [3]})
        waits.join(10)
        session.run(insert[0], {keys: [b"c"], values: [7]})
        got.append(session.run([barrier.ready_size(), barrier.incomplete_size()]))
        session.run(barrier.close())
        with pytest.raises(tf.errors.CancelledError, match="brand new key"):
            session.run(insert[0], {keys: [b"new"], values: [7]})
        session.run(insert[1], {keys: [b"c"], values: [8]})
        got.append(session.run(barrier.take_many(5, allow_small_batch=True)))
        with pytest.raises(tf.errors.OutOfRangeError, match="insufficient elements"):
            session.run(barrier.take_many(1))
        return repr(got)

    theirs, ours = on_both(server, program)
    assert ours == theirs


def test_a_take_from_a_barrier_ends_with_its_deadline(server):
    with tf1.Graph().as_default(), tf1.Session(server.target) as session:
        barrier = data_flow_ops.Barrier(tf.float32, shapes=())
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(barrier.take_many(1), options=tf1.RunOptions(timeout_in_ms=200))


def test_critical_sections_exclude_each_other(server):
    def program(session):
        section = critical_section_ops.CriticalSection(shared_name="section")
        v = tf1.get_variable("v", initializer=0, use_resource=True)

        def increment():
            old = v.read_value()
            with tf1.control_dependencies([old]):
                return v.assign(old + 1, read_value=True)

        calls = [section.execute(increment) for _ in range(5)]
        session.run(v.initializer)
        steps = [threading.Thread(target=lambda: session.run(calls)) for _ in range(4)]
        [s.start() for s in steps]
        [s.join(60) for s in steps]
        return int(session.run(v.read_value()))

    theirs, ours = on_both(server, program)
    assert ours == theirs == 20


def test_tensors_stay_with_the_session(server):
    def program(session):
        a = tf1.placeholder(tf.float32, [2])
        handle = session.run(tf1.get_session_handle(a * 2), {a: [1.0, 2.0]})
        holder, value = tf1.get_session_tensor(handle.handle, tf.float32)
        got = [session.run(value + 1, {holder: handle.handle}), handle.eval()]
        handle.delete()
        with pytest.raises(tf.errors.InvalidArgumentError, match="not in the session store"):
            session.run(value, {holder: handle.handle})
        return np.concatenate(got)

    theirs, ours = on_both(server, program)
    np.testing.assert_array_equal(ours, theirs)


def test_a_dense_table(server):
    def program(session):
        table = tf.lookup.experimental.DenseHashTable(tf.int64, tf.float32, default_value=-1.0, empty_key=0, deleted_key=-1, initial_num_buckets=4)
        session.run(table.insert(tf.constant([3, 11, 12, 7, 100], tf.int64), tf.constant([1.0, 2, 3, 4, 5])))
        session.run(table.erase(tf.constant([11, 99], tf.int64)))
        found = session.run(table.lookup(tf.constant([3, 11, 100], tf.int64)))
        keys, _ = session.run(table.export())
        with pytest.raises(tf.errors.InvalidArgumentError, match="empty_key"):
            session.run(table.lookup(tf.constant([0], tf.int64)))
        return [found.tolist(), keys.tolist(), int(session.run(table.size()))]

    theirs, ours = on_both(server, program)
    assert ours == theirs


ARRAYS = """
node {{ name: 'n' op: 'Const' attr {{ key: 'dtype' value {{ type: DT_INT32 }} }} attr {{ key: 'value' value {{ tensor {{ dtype: DT_INT32 tensor_shape {{}} int_val: 2 }} }} }} }}
node {{ name: 'flow' op: 'Const' attr {{ key: 'dtype' value {{ type: DT_FLOAT }} }} attr {{ key: 'value' value {{ tensor {{ dtype: DT_FLOAT tensor_shape {{}} float_val: 0 }} }} }} }}
node {{ name: 'x' op: 'Placeholder' attr {{ key: 'dtype' value {{ type: DT_FLOAT }} }} }}
node {{ name: 'a' op: 'TensorArray{v}' input: 'n' attr {{ key: 'dtype' value {{ type: DT_FLOAT }} }} attr {{ key: 'clear_after_read' value {{ b: false }} }} }}
node {{ name: 'lengths' op: 'Const' attr {{ key: 'dtype' value {{ type: DT_INT64 }} }} attr {{ key: 'value' value {{ tensor {{ dtype: DT_INT64 tensor_shape {{ dim {{ size: 2 }} }} int64_val: 1 int64_val: 2 }} }} }} }}
node {{ name: 'split' op: 'TensorArraySplit{v}' input: 'a' input: 'x' input: 'lengths' input: 'flow' attr {{ key: 'T' value {{ type: DT_FLOAT }} }} }}
node {{ name: 'joined' op: 'TensorArrayConcat{v}' input: 'a' input: 'split' attr {{ key: 'dtype' value {{ type: DT_FLOAT }} }} }}
node {{ name: 'size' op: 'TensorArraySize{v}' input: 'a' input: 'split' }}
"""


@pytest.mark.parametrize("v, version", [("", 12), ("V2", 20)])
def test_tensor_arrays_of_old_graphs(server, v, version):
    local = tf.distribute.Server.create_local_server()
    graph = text_format.Parse(ARRAYS.format(v=v), graph_pb2.GraphDef())
    graph.versions.producer = version
    answers = []
    for target in (local.target, server.target):
        master = Master(target)
        handle = master.CreateSession(graph_def=graph).session_handle
        feed = {"name": "x:0", "tensor": tf.make_tensor_proto(np.arange(3, dtype=np.float32))}
        done = master.RunStep(session_handle=handle, feed=[feed], fetch=["joined:0", "joined:1", "size:0"])
        answers.append([tf.make_ndarray(t.tensor).tolist() for t in done.tensor])
    assert answers[1] == answers[0] == [[0.0, 1.0, 2.0], [1, 2], 2]
