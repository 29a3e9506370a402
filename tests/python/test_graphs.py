"""Building graphs: names, shapes, scopes, lookups."""

import numpy as np
import pytest
import thalweg as tf


def test_names_are_made_unique_as_tensorflow_does():
    assert [tf.add(1, 2).name, tf.add(1, 2).name, (tf.constant(1) + 2).name] == ["Add:0", "Add_1:0", "add_2:0"]
    with tf.name_scope("a") as scope:
        assert scope == "a/"
        assert tf.constant(1).op.name == "a/Const"
    with tf.name_scope("a"):
        assert tf.no_op().name == "a_1/NoOp"
    with tf.name_scope(scope):
        assert tf.no_op(name="again").name == "a/again"


def test_a_tensor_shows_its_name_shape_and_type():
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    assert str(x) == 'Tensor("x:0", shape=(None, 3), dtype=float32)'
    assert repr(x) == "<tf.Tensor 'x:0' shape=(None, 3) dtype=float32>"
    assert x.shape.as_list() == [None, 3] and x.get_shape()[1].value == 3 and x.dtype == tf.float32
    assert x == x.op.outputs[0] and x.op.outputs[0] in {x: 1}
    x.set_shape([5, 3])
    assert x.shape == [5, 3]
    with pytest.raises(ValueError):
        x.set_shape([6, 3])


def test_operations_know_their_inputs_attrs_and_consumers(fresh_graph):
    a, b = tf.constant([[1.0]]), tf.constant([[2.0]])
    product = tf.matmul(a, b, transpose_b=True)
    op = product.op
    assert op.type == "MatMul" and op.inputs == [a, b] and op.get_attr("transpose_b") is True
    assert a.consumers() == [op] and op.graph is fresh_graph
    assert op.get_attr("T") == tf.float32
    with pytest.raises(ValueError):
        op.get_attr("nonsense")
    with tf.control_dependencies([op]):
        assert tf.no_op().control_inputs == [op]
    assert fresh_graph.get_tensor_by_name("MatMul:0") == product
    assert fresh_graph.get_operation_by_name("MatMul") == op
    with pytest.raises(KeyError):
        fresh_graph.get_operation_by_name("nothing")


def test_what_is_no_tensor_takes_the_type_of_what_is():
    x = tf.constant([1.0, 2.0], dtype=tf.float64)
    for y in (x * 2, 2 * x, x - 0.5, 1 / x, x ** 2, tf.add(x, 1), tf.maximum(x, 0)):
        assert y.dtype == tf.float64
    with pytest.raises(TypeError):
        tf.constant([1, 2]) + 0.5


def test_nested_lists_of_tensors_are_packed():
    n = tf.placeholder(tf.int32, [])
    made = tf.reshape(tf.zeros([6]), [n, -1])
    with tf.Session() as sess:
        assert sess.run(made, {n: 3}).shape == (3, 2)
        assert sess.run(tf.stack([[n, 1], [2, n]]), {n: 7}).tolist() == [[7, 1], [2, 7]]


def test_slices():
    a = np.arange(24).reshape(2, 3, 4)
    x = tf.constant(a)
    i = tf.constant(1)
    cases = [(x[0], a[0]), (x[0, 1], a[0, 1]), (x[:, 1:], a[:, 1:]), (x[..., 0], a[..., 0]), (x[:, ::-1], a[:, ::-1]), (x[:, tf.newaxis], a[:, None]),
             (x[1, :, -1], a[1, :, -1]), (x[i], a[1]), (x[:, i:], a[:, 1:]), (x[-1], a[-1])]
    with tf.Session() as sess:
        for got, want in cases:
            assert np.array_equal(sess.run(got), want)


def test_operators():
    x, y = np.array([5, -7, 9]), np.array([2, 3, -4])
    a, b = tf.constant(x), tf.constant(y)
    p, q = tf.constant([True, True, False]), tf.constant([True, False, False])
    cases = [(a + b, x + y), (a - b, x - y), (a * b, x * y), (a / b, x / y), (a // b, x // y), (a % b, x % y), (-a, -x), (abs(a), abs(x)),
             (a < b, x < y), (a >= b, x >= y), (p & q, [True, False, False]), (p | q, [True, True, False]), (p ^ q, [False, True, False]),
             (~p, [False, False, True]), (3 - a, 3 - x), (a ** 2, x ** 2)]
    with tf.Session() as sess:
        for got, want in cases:
            assert np.array_equal(sess.run(got), want), got


def test_devices_and_colocation():
    with tf.device("/job:ps"):
        with tf.device("/cpu:0"):
            assert tf.constant(1).device == "/job:ps/device:CPU:0"
        with tf.device(None):
            assert tf.constant(1).device == ""
    with tf.device(lambda op: "/cpu:0" if op.type == "Const" else ""):
        assert tf.constant(1).device == "/device:CPU:0" and tf.no_op().device == ""
    a = tf.constant(1, name="a")
    with tf.colocate_with(a):
        assert tf.constant(2).op.colocation_groups() == [b"loc:@a"]
    with tf.device(tf.train.replica_device_setter(ps_tasks=2)):
        v, w = tf.get_variable("v", [1]), tf.get_variable("w", [1])
        assert [v.device, w.device] == ["/job:ps/task:0", "/job:ps/task:1"]


def test_every_op_of_the_table_has_a_function():
    names = dir(tf.raw_ops)
    assert len(names) > 1000
    for name in names:
        assert getattr(tf.raw_ops, name).__doc__
    relu = tf.raw_ops.Relu(features=tf.constant([-1.0, 2.0]), name="r")
    assert relu.name == "r:0"
    assert str(__import__("inspect").signature(tf.raw_ops.MatMul)).startswith("(a, b, transpose_a=False, transpose_b=False")
    with pytest.raises(TypeError, match="missing required arguments: 'features'"):
        tf.raw_ops.Relu()
    with pytest.raises(TypeError, match="unexpected keyword"):
        tf.raw_ops.Relu(features=1.0, nonsense=2)


def test_namespaces_find_ops_by_their_names():
    x = tf.constant([[4.0, 0.0], [0.0, 9.0]])
    with tf.Session() as sess:
        assert np.allclose(sess.run(tf.linalg.inv(x)), [[0.25, 0], [0, 1 / 9]])
        assert np.allclose(sess.run(tf.linalg.det(x)), 36)
        assert sess.run(tf.strings.upper(["a", "b"])).tolist() == [b"A", b"B"]
        assert np.allclose(sess.run(tf.math.rsqrt(tf.constant(4.0))), 0.5)
        assert np.allclose(sess.run(tf.nn.softplus(0.0)), np.log(2))
        assert np.allclose(sess.run(tf.sin(0.5)), np.sin(0.5))
    with pytest.raises(AttributeError):
        tf.nn.nonsense
    with pytest.raises(AttributeError):
        tf.nonsense


def test_a_graph_as_a_message(fresh_graph):
    tf.add(1, 2, name="sum")
    definition = fresh_graph.as_graph_def()
    assert len(definition.SerializeToString()) > 50 and 'name: "sum"' in str(definition)


def test_collections_and_default_graphs(fresh_graph):
    g = tf.Graph()
    with g.as_default():
        assert tf.get_default_graph() is g
        tf.add_to_collection("mine", 3)
        loss = tf.losses.mean_squared_error([1.0], [2.0])
    assert tf.get_default_graph() is fresh_graph
    assert g.get_collection("mine") == [3] and g.get_collection(tf.GraphKeys.LOSSES) == [loss]
    assert fresh_graph.get_collection("mine") == []
    g.finalize()
    with g.as_default(), pytest.raises(RuntimeError):
        tf.constant(1)


def test_types_are_known_by_all_their_names():
    assert tf.float32 == "float32" == tf.as_dtype(np.float32) and tf.as_dtype(float) == tf.float32
    assert tf.int64.as_numpy_dtype is np.int64 and tf.string.name == "string" and repr(tf.float32) == "tf.float32"
    assert tf.as_dtype(np.dtype("uint8")) == tf.uint8 and tf.as_dtype("DT_HALF") == tf.float16 and tf.as_dtype(int) == tf.int32
    with pytest.raises(TypeError):
        tf.as_dtype("nonsense")
    import pickle

    assert pickle.loads(pickle.dumps(tf.int32)) == tf.int32


def test_compat_v1_is_the_same_module():
    import thalweg.compat.v1 as v1

    assert v1 is tf and tf.compat.v1 is tf
