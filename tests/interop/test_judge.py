"""The reference configuration itself: set in one place, and missing kernels are no differences."""

import pathlib
import re

import judge
import pytest
import tensorflow as tf

tf1 = tf.compat.v1


def test_nothing_else_sets_up_tensorflow():
    here = pathlib.Path(__file__).parent
    setting = re.compile("|".join(judge.SETTINGS))
    found = {str(f.relative_to(here)) for f in here.rglob("*.py") if setting.search(f.read_text())}
    assert found == {"judge.py"}


def error_of(make):
    """The class and message of TensorFlow's error for a node."""
    with tf1.Graph().as_default() as graph, tf1.Session(graph=graph) as session:
        with pytest.raises(tf.errors.OpError) as caught:
            session.run(make())
    return type(caught.value).__name__, judge.said(caught.value)


def test_a_missing_kernel_is_no_difference():
    def no_such_kernel():
        image, indices = tf.ones([1, 2, 2, 1]), tf.zeros([1, 1, 1, 1], tf.int32)
        sizes = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}
        return tf.raw_ops.MaxPoolGradWithArgmax(input=image, grad=image[:, :1, :1], argmax=indices, **sizes)

    assert judge.has_no_kernel(*error_of(no_such_kernel))


def test_what_tensorflow_refuses_for_its_value_is_a_difference():
    unknown = tf1.placeholder_with_default
    for make in (
        lambda: tf.gather(tf.ones([2]), unknown([5], [None])),
        lambda: tf.matmul(unknown(tf.ones([2, 3]), [None, None]), tf.ones([2, 3])),
        lambda: tf1.get_variable("v", [], use_resource=True).read_value(),
    ):
        kind, text = error_of(make)
        assert not judge.has_no_kernel(kind, text), f"{kind}: {text}"
