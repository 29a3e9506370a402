"""Variables, gradients, loops, optimizers, layers, losses, checkpoints, summaries."""

import glob
import os

import numpy as np
import pytest
import thalweg as tf


def test_variables_are_made_assigned_and_shared():
    v = tf.Variable(2.0, name="v")
    assert v.name == "v:0" and v.initializer.name == "v/Assign" and repr(v) == "<tf.Variable 'v:0' shape=() dtype=float32>"
    with tf.variable_scope("a"):
        w = tf.get_variable("w", [2, 3], initializer=tf.ones_initializer())
        with pytest.raises(ValueError):
            tf.get_variable("w", [2, 3])
    with tf.variable_scope("a", reuse=True) as scope:
        assert tf.get_variable("w", [2, 3]) == w and scope.name == "a"
        with pytest.raises(ValueError):
            tf.get_variable("other", [1])
    with tf.variable_scope("a", reuse=tf.AUTO_REUSE):
        assert tf.get_variable("w", [2, 3]) == w
        x = tf.get_variable("x", initializer=np.float32(3))
    assert [i.name for i in tf.global_variables()] == ["v:0", "a/w:0", "a/x:0"]
    with tf.Session() as sess:
        with pytest.raises(tf.errors.FailedPreconditionError):
            sess.run(v)
        sess.run(tf.global_variables_initializer())
        assert sess.run([v, v + 1, x]) == [2, 3, 3] and sess.run(w).tolist() == np.ones((2, 3)).tolist()
        assert sess.run(v.assign_add(5.0)) == 7 and sess.run(tf.assign(v, 1.0)) == 1 and sess.run(v.assign_sub(1).op) is None
        v.load(9.0, sess)
        assert sess.run(v) == 9
        assert sess.run(tf.report_uninitialized_variables()).tolist() == []


def test_initializers_may_be_functions():
    v = tf.get_variable("v", [3], initializer=lambda shape, dtype=None, partition_info=None: tf.fill(shape, tf.constant(4.0)))
    c = tf.get_variable("c", [2, 2], initializer=tf.constant_initializer([[1, 2], [3, 4]]))
    g = tf.get_variable("g", [100, 100], initializer=tf.glorot_uniform_initializer(seed=1))
    u = tf.Variable(lambda: tf.ones([2]))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run(v).tolist() == [4, 4, 4] and sess.run(c).tolist() == [[1, 2], [3, 4]] and sess.run(u).tolist() == [1, 1]
        assert abs(sess.run(g)).max() <= np.sqrt(6 / 200)

    def broken(shape, dtype=None, partition_info=None):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        tf.get_variable("broken", [3], initializer=broken)


def test_gradients():
    x = tf.constant([1.0, 2.0])
    y = tf.constant(3.0)
    table = tf.get_variable("table", [5, 2], initializer=tf.ones_initializer())
    found = tf.gradients(tf.reduce_sum(x * x * y), [x, y, tf.constant(1.0)])
    rows = tf.gradients(tf.gather(table, [1, 1, 3]), table)[0]
    assert found[2] is None and isinstance(rows, tf.IndexedSlices)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run(found[0]).tolist() == [6, 12] and sess.run(found[1]) == 5
        assert sess.run(rows).indices.tolist() == [1, 1, 3]
        assert sess.run(tf.convert_to_tensor(rows)).tolist() == [[0, 0], [2, 2], [0, 0], [1, 1], [0, 0]]
        second = tf.gradients(tf.gradients(x ** 3, x), x)[0]
        assert sess.run(second).tolist() == [6, 12]
    with pytest.raises(Exception, match="raph"):
        with tf.Graph().as_default():
            tf.gradients(x, y)


def test_loops_and_branches():
    n = tf.placeholder(tf.int32)
    i, product = tf.while_loop(lambda i, p: i <= n, lambda i, p: (i + 1, p * i), [1, 1])
    branch = tf.cond(n > 3, lambda: n * 10, lambda: n - 1)
    chosen = tf.case([(n > 10, lambda: tf.constant(1)), (n > 5, lambda: tf.constant(2))], default=lambda: tf.constant(3))
    squares = tf.map_fn(lambda v: v * v, tf.constant([1.0, 2.0, 3.0]))
    sums = tf.scan(lambda a, v: a + v, tf.constant([1.0, 2.0, 3.0, 4.0]))
    folded = tf.foldl(lambda a, v: a * 2 + v, tf.constant([1, 0, 1]))
    with tf.Session() as sess:
        assert sess.run([i, product], {n: 5}) == [6, 120]
        assert [sess.run(branch, {n: v}) for v in (2, 4)] == [1, 40]
        assert [sess.run(chosen, {n: v}) for v in (20, 7, 1)] == [1, 2, 3]
        assert sess.run(squares).tolist() == [1, 4, 9] and sess.run(sums).tolist() == [1, 3, 6, 10] and sess.run(folded) == 5

    def broken(i):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        tf.while_loop(lambda i: i < 3, broken, [tf.constant(0)])
    with pytest.raises(RuntimeError, match="mine"):
        tf.cond(n > 3, lambda: broken(0), lambda: n)
    assert tf.add(1, 1).op.name.startswith("Add")


@pytest.mark.parametrize("make", [
    lambda: tf.train.GradientDescentOptimizer(0.1), lambda: tf.train.MomentumOptimizer(0.05, 0.5, use_nesterov=True),
    lambda: tf.train.AdagradOptimizer(0.5), lambda: tf.train.AdamOptimizer(0.1), lambda: tf.train.RMSPropOptimizer(0.05),
    lambda: tf.train.AdadeltaOptimizer(1.0, epsilon=0.1), lambda: tf.train.FtrlOptimizer(0.5), lambda: tf.train.ProximalGradientDescentOptimizer(0.1),
    lambda: tf.train.ProximalAdagradOptimizer(0.5)])
def test_optimizers_minimise(make):
    w = tf.Variable([4.0, -3.0])
    loss = tf.reduce_sum(tf.square(w - 1.0))
    step = tf.train.get_or_create_global_step()
    optimizer = make()
    pairs = optimizer.compute_gradients(loss)
    clipped, _ = tf.clip_by_global_norm([g for g, _ in pairs], 5.0)
    train = optimizer.apply_gradients(list(zip(clipped, [v for _, v in pairs])), global_step=step)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        before = sess.run(loss)
        for _ in range(60):
            sess.run(train)
        assert sess.run(loss) < before / 4 and sess.run(step) == 60


def test_minimise_without_variables_is_told():
    with pytest.raises(ValueError):
        tf.train.GradientDescentOptimizer(0.1).minimize(tf.constant(1.0))
    v = tf.Variable(1.0)
    with pytest.raises(ValueError):
        tf.train.GradientDescentOptimizer(0.1).minimize(tf.constant(1.0), var_list=[v])


def test_layers_and_losses():
    x = tf.placeholder(tf.float32, [None, 8, 8, 3])
    h = tf.layers.conv2d(x, 4, 3, padding="same", activation=tf.nn.relu)
    h = tf.layers.max_pooling2d(h, 2, 2)
    h = tf.layers.flatten(h)
    h = tf.layers.dense(h, 10, activation=lambda v: v * 2, name="fc", kernel_regularizer=tf.nn.l2_loss)
    again = tf.layers.dense(tf.zeros([1, 64]), 10, name="fc", reuse=True)
    y = tf.layers.dropout(h, 0.5, training=tf.placeholder_with_default(False, []))
    assert h.shape.as_list() == [None, 10] and again.shape.as_list() == [1, 10]
    assert [v.name for v in tf.trainable_variables()] == ["conv2d/kernel:0", "conv2d/bias:0", "fc/kernel:0", "fc/bias:0"]
    loss = tf.losses.sparse_softmax_cross_entropy(labels=[1, 2], logits=y)
    total = tf.losses.get_total_loss()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        feeds = {x: np.ones((2, 8, 8, 3))}
        assert sess.run(y, feeds).shape == (2, 10) and sess.run(total, feeds) > sess.run(loss, feeds) > 0


def test_checkpoints(tmp_path):
    v, w = tf.Variable([1.0, 2.0], name="v"), tf.Variable(3, name="w")
    saver = tf.train.Saver()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        path = saver.save(sess, str(tmp_path / "model"), global_step=5)
        assert path == str(tmp_path / "model-5") == tf.train.latest_checkpoint(str(tmp_path))
        sess.run([v.assign([0, 0]), w.assign(0)])
        saver.restore(sess, path)
        assert sess.run(v).tolist() == [1, 2] and sess.run(w) == 3
        with pytest.raises(ValueError):
            saver.restore(sess, "/nowhere/model")
    with tf.Graph().as_default(), pytest.raises(ValueError):
        tf.train.Saver()


def test_summaries(tmp_path):
    value = tf.placeholder(tf.float32)
    tf.summary.scalar("loss", value)
    tf.summary.histogram("h", tf.zeros([3]))
    merged = tf.summary.merge_all()
    with tf.Session() as sess, tf.summary.FileWriter(str(tmp_path), sess.graph) as writer:
        for i in range(3):
            writer.add_summary(sess.run(merged, {value: i}), i)
    files = glob.glob(str(tmp_path / "events.out.tfevents.*"))
    assert len(files) == 1 and os.path.getsize(files[0]) > 100


def test_random_numbers_follow_their_seeds():
    def drawn():
        with tf.Graph().as_default(), tf.Session() as sess:
            tf.set_random_seed(5)
            return sess.run([tf.random_normal([3]), tf.random_uniform([2], 1, 9, tf.int32), tf.truncated_normal([2], seed=4)])

    a, b = drawn(), drawn()
    assert all(np.array_equal(x, y) for x, y in zip(a, b)) and not np.array_equal(a[0], a[2])


def test_sparse_tensors():
    s = tf.SparseTensor([[0, 1], [2, 0]], [3.0, 4.0], [3, 2])
    with tf.Session() as sess:
        got = sess.run(s)
        assert got.values.tolist() == [3, 4] and got.dense_shape.tolist() == [3, 2]
        assert sess.run(tf.sparse.to_dense(s)).tolist() == [[0, 3], [0, 0], [4, 0]]
        fed = tf.sparse_placeholder(tf.float32)
        value = tf.SparseTensorValue(np.array([[1]]), np.array([2.0]), np.array([4]))
        assert sess.run(tf.sparse.to_dense(fed), {fed: value}).tolist() == [0, 2, 0, 0]


def test_nn():
    labels, logits = np.array([[0.0, 1.0], [1.0, 0.0]], np.float32), np.array([[1.0, 2.0], [3.0, -1.0]], np.float32)
    want = -np.log((np.exp(logits) / np.exp(logits).sum(1, keepdims=True) * labels).sum(1))
    with tf.Session() as sess:
        for got in (tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits),
                    tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits),
                    tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[1, 0], logits=logits)):
            assert np.allclose(sess.run(got), want, atol=1e-6)
        assert np.allclose(sess.run(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)),
                           np.log1p(np.exp(-logits)) * labels + np.log1p(np.exp(logits)) * (1 - labels), atol=1e-6)
        mean, variance = sess.run(tf.nn.moments(tf.constant(logits), [0]))
        assert np.allclose(mean, logits.mean(0)) and np.allclose(variance, logits.var(0))
        assert sess.run(tf.one_hot([1, 0], 3)).tolist() == [[0, 1, 0], [1, 0, 0]]
        assert sess.run(tf.nn.top_k([1.0, 5.0, 3.0], 2)).indices.tolist() == [1, 2]
        assert sess.run(tf.nn.in_top_k([[0.1, 0.9]], [1], 1)).tolist() == [True]
        rate = tf.nn.dropout(tf.ones([1000]), keep_prob=0.5)
        assert 300 < (sess.run(rate) == 0).sum() < 700
