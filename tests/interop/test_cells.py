"""Our recurrent cells against TensorFlow's own, from the same checkpoint: names of variables, losses step by step, weights after training."""

import numpy as np
import pytest
import tensorflow as tf

# The cells of tf.compat.v1.nn.rnn_cell, which TensorFlow hides where Keras 3 is installed.
from tensorflow.python.keras.layers.legacy_rnn import rnn_cell_impl as cells

tf1 = tf.compat.v1

STEPS = 15
UNITS = 5
CELLS = {
    "rnn": lambda: cells.BasicRNNCell(UNITS),
    "gru": lambda: cells.GRUCell(UNITS),
    "basic_lstm": lambda: cells.BasicLSTMCell(UNITS),
    "lstm": lambda: cells.LSTMCell(UNITS),
    "peepholes": lambda: cells.LSTMCell(UNITS, use_peepholes=True, forget_bias=0.5),
    "cell_clip": lambda: cells.LSTMCell(UNITS, cell_clip=0.2),
    "projection": lambda: cells.LSTMCell(UNITS, num_proj=3),
    "everything": lambda: cells.LSTMCell(UNITS, use_peepholes=True, cell_clip=0.3, num_proj=3, proj_clip=0.1),
}


@pytest.mark.parametrize("name", CELLS)
def test_cells_are_tensorflows(name, tmp_path, example):
    ours = [float(n) for n in example("cells", name, tmp_path, STEPS).split()]
    with tf.Graph().as_default(), tf1.Session() as session:
        x = tf.constant([(i * 37 % 41 - 20) / 10 for i in range(4 * 6 * 3)], tf.float64, [4, 6, 3])
        y, state = tf1.nn.dynamic_rnn(CELLS[name](), x, sequence_length=[6, 3, 5, 1], dtype=tf.float64)
        loss = tf.reduce_sum(tf.square(y - 0.3)) + tf.add_n([tf.reduce_sum(s) for s in tf.nest.flatten(state)])
        train = tf1.train.GradientDescentOptimizer(0.02).minimize(loss)
        variables = tf1.global_variables()
        saved = tf.train.load_checkpoint(str(tmp_path / "end"))
        assert saved.get_variable_to_shape_map() == {v.op.name: v.shape.as_list() for v in variables}
        tf1.train.Saver().restore(session, str(tmp_path / "start"))
        theirs = [session.run([loss, train])[0] for _ in range(STEPS)]
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)
        # The losses must change, and the clipping limits must matter.
        assert theirs[0] - theirs[-1] > 0.1
        for v in variables:
            np.testing.assert_allclose(saved.get_tensor(v.op.name), session.run(v), rtol=1e-7, atol=1e-9, err_msg=v.op.name)
