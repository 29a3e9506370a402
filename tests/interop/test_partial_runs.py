"""Partial runs with tracing, which TensorFlow's Python cannot request, against TensorFlow's server."""

import pytest
import tensorflow as tf
from master_messages import MESSAGES, Master
from tensorflow.core.protobuf import config_pb2

tf1 = tf.compat.v1


@pytest.fixture(scope="module")
def their_server():
    return tf1.train.Server.create_local_server()


def traced(target, levels):
    """For each of the two calls of a partial run: whether it has metadata; and the nodes that step stats name."""
    master = Master(target)
    with tf.Graph().as_default() as graph:
        a, b = (tf1.placeholder(tf.float32, [], name) for name in "ab")
        x = tf.add(a, 1.0, name="x")
        tf.multiply(x, b, name="y")
    session = master.CreateSession(graph_def=graph.as_graph_def()).session_handle
    run = master.PartialRunSetup(session_handle=session, feed=["a:0", "b:0"], fetch=["x:0", "y:0"]).partial_run_handle
    told, nodes = [], set()
    for level, feed, value, fetch, want in zip(levels, ["a:0", "b:0"], [2.0, 5.0], ["x:0", "y:0"], [3.0, 15.0]):
        fed = MESSAGES["NamedTensorProto"](name=feed, tensor=tf.make_tensor_proto(value, tf.float32))
        options = config_pb2.RunOptions(trace_level=level)
        got = master.RunStep(session_handle=session, partial_run_handle=run, feed=[fed], fetch=[fetch], options=options)
        assert tf.make_ndarray(got.tensor[0].tensor) == want
        nodes |= {n.node_name for d in got.metadata.step_stats.dev_stats for n in d.node_stats}
        told.append(got.HasField("metadata"))
    return told, nodes


@pytest.mark.parametrize("levels", [(0, 0), (3, 0), (0, 3), (3, 3)])
def test_the_first_call_asks_for_tracing_and_the_last_one_gets_it(server, their_server, levels):
    (told, nodes), (theirs, none) = traced(server.target, levels), traced(their_server.target, levels)
    assert told == theirs
    # TensorFlow's server accepts the option and records nothing; ours records if the first call requests it.
    assert none == set() and nodes >= ({"x", "y"} if levels[0] else set()) and bool(nodes) == bool(levels[0])
