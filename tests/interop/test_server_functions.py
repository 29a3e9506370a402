"""Steps that need a function with an unknown op: TensorFlow rejects the step, whether or not the branch would be taken or the node needed, and
does not affect the session's other steps. The messages are sent directly, because TensorFlow's client would not build such a graph."""

import grpc
import pytest
import tensorflow as tf
from google.protobuf import text_format
from tensorflow.core.framework import graph_pb2

from master_messages import MESSAGES, Master

GRAPH = """
library {
  function { signature { name: 'good' input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' type: DT_FLOAT } }
    node_def { name: 'n' op: 'Neg' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } } ret { key: 'y' value: 'n:y:0' } }
  function { signature { name: 'bad' input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' type: DT_FLOAT } }
    node_def { name: 'n' op: 'NoSuchOp' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } } ret { key: 'y' value: 'n:y:0' } }
  function { signature { name: 'bad_dead' input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' type: DT_FLOAT } }
    node_def { name: 'd' op: 'NoSuchOp' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } }
    node_def { name: 'n' op: 'Neg' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } } ret { key: 'y' value: 'n:y:0' } }
  function { signature { name: 'calls_bad' input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' type: DT_FLOAT } }
    node_def { name: 'n' op: 'PartitionedCall' input: 'x' attr { key: 'Tin' value { list { type: DT_FLOAT } } } attr { key: 'Tout' value { list { type: DT_FLOAT } } }
      attr { key: 'f' value { func { name: 'bad' } } } } ret { key: 'y' value: 'n:output:0' } }
  function { signature { name: 'never' input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' type: DT_BOOL } }
    node_def { name: 'f' op: 'Const' attr { key: 'dtype' value { type: DT_BOOL } } attr { key: 'value' value { tensor { dtype: DT_BOOL tensor_shape {} bool_val: false } } } }
    ret { key: 'y' value: 'f:output:0' } }
}
node { name: 'c' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 3 } } } }
node { name: 'p' op: 'Placeholder' attr { key: 'dtype' value { type: DT_BOOL } } }
node { name: 'k' op: 'Placeholder' attr { key: 'dtype' value { type: DT_INT32 } } }
node { name: 'other' op: 'Neg' input: 'c' attr { key: 'T' value { type: DT_FLOAT } } }
"""
TYPES = "attr { key: 'Tin' value { list { type: DT_FLOAT } } } attr { key: 'Tout' value { list { type: DT_FLOAT } } }"


def func(name):
    return f"func {{ name: '{name}' }}"


def branches(op, other):
    attrs = f"attr {{ key: 'then_branch' value {{ {func('good')} }} }} attr {{ key: 'else_branch' value {{ {func(other)} }} }}"
    return f"node {{ name: 'y' op: '{op}' input: 'p' input: 'c' attr {{ key: 'Tcond' value {{ type: DT_BOOL }} }} {TYPES} {attrs} }}"


def call(name):
    return f"node {{ name: 'y' op: 'PartitionedCall' input: 'c' {TYPES} attr {{ key: 'f' value {{ {func(name)} }} }} }}"


CASE = f"node {{ name: 'y' op: 'Case' input: 'k' input: 'c' {TYPES} attr {{ key: 'branches' value {{ list {{ {func('good')} {func('bad')} }} }} }} }}"
WHILE = f"""node {{ name: 'y' op: 'While' input: 'c' attr {{ key: 'T' value {{ list {{ type: DT_FLOAT }} }} }}
    attr {{ key: 'cond' value {{ {func('never')} }} }} attr {{ key: 'body' value {{ {func('bad')} }} }} }}"""

STEPS = {
    "a branch that is not taken": (branches("If", "bad"), {"p:0": True}),
    "a branch that is taken": (branches("If", "bad"), {"p:0": False}),
    "a branch without effects": (branches("StatelessIf", "bad"), {"p:0": True}),
    "a node that nothing needs": (branches("If", "bad_dead"), {"p:0": True}),
    "a call on a branch": (branches("If", "calls_bad"), {"p:0": True}),
    "a call": (call("bad"), {}),
    "a call that does not need the node": (call("bad_dead"), {}),
    "a branch of several": (CASE, {"k:0": 0}),
    "a loop of no rounds": (WHILE, {}),
    "no op that is not known": (call("good"), {}),
}


@pytest.fixture(scope="session")
def tensorflow_server():
    return tf.distribute.Server.create_local_server()


@pytest.mark.parametrize("step", STEPS)
def test_a_function_with_an_op_that_is_not_known_refuses_the_steps_that_call_it(server, tensorflow_server, step):
    node, feeds = STEPS[step]
    graph = text_format.Parse(GRAPH + node, graph_pb2.GraphDef())
    graph.versions.producer = 1395
    answers = []
    for target in (tensorflow_server.target, server.target):
        master = Master(target)
        handle = master.CreateSession(graph_def=graph).session_handle
        answer = master.RunStep(session_handle=handle, fetch=["other:0"])
        assert tf.make_ndarray(answer.tensor[0].tensor) == -3.0
        fed = [MESSAGES["NamedTensorProto"](name=name, tensor=tf.make_tensor_proto(value)) for name, value in feeds.items()]
        try:
            master.RunStep(session_handle=handle, fetch=["y:0"], feed=fed)
            answers.append("done")
        except grpc.RpcError as e:
            assert "Op type not registered 'NoSuchOp'" in e.details()
            answers.append(e.code())
    assert answers[1] == answers[0]
    assert (answers[0] == "done") == (step == "no op that is not known")
