"""Loops, branches, scans and their gradients."""
import numpy as np
import thalweg as tf

i, total = tf.while_loop(lambda i, s: i < 10, lambda i, s: [i + 1, s + tf.cast(i, tf.float32)], [tf.constant(0), tf.constant(0.0)])
x = tf.placeholder(tf.float32, [])
power = tf.while_loop(lambda n, y: n < 4, lambda n, y: (n + 1, y * x), (0, 1.0))[1]
branch = tf.cond(x > 2.0, lambda: x * x, lambda: x + 10.0)
which = tf.case([(tf.less(x, 0.0), lambda: tf.constant("negative")), (tf.less(x, 1.0), lambda: tf.constant("small"))],
                default=lambda: tf.constant("large"))
squares = tf.map_fn(lambda v: v * v, tf.constant([1.0, 2.0, 3.0]))
pairs = tf.map_fn(lambda ab: (ab[0] + ab[1], ab[0] * ab[1]), (np.array([1, 2, 3]), np.array([4, 5, 6])), dtype=(tf.int64, tf.int64))
sums = tf.scan(lambda a, v: a + v, tf.constant([1, 2, 3, 4]))
fibonacci = tf.scan(lambda a, _: (a[1], a[0] + a[1]), tf.range(8), initializer=(tf.constant(0), tf.constant(1)))[0]
folded = tf.foldl(lambda a, v: a * 2 + v, tf.constant([1, 0, 1, 1]))
folded_right = tf.foldr(lambda a, v: a * 2 + v, tf.constant([1, 0, 1, 1]))
array = tf.TensorArray(tf.float32, size=4)
_, array = tf.while_loop(lambda k, a: k < 4, lambda k, a: (k + 1, a.write(k, tf.cast(k, tf.float32) * x)), (0, array))
stacked = array.stack()
grown = tf.while_loop(lambda m: tf.shape(m)[0] < 4, lambda m: tf.concat([m, m[:1] + 1], 0), [tf.zeros([1, 2])],
                      shape_invariants=[tf.TensorShape([None, 2])])
nested = tf.while_loop(lambda a, b: a < 3, lambda a, b: (a + 1, tf.while_loop(lambda c, d: c < a, lambda c, d: (c + 1, d + 1), (0, b))[1]), (0, 0))
limited = tf.while_loop(lambda k: tf.constant(True), lambda k: k + 1, [tf.constant(0)], maximum_iterations=6)
structure = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, {"acc": s["acc"] * 2}), (tf.constant(0), {"acc": tf.constant(1)}))
newton = tf.while_loop(lambda r: tf.abs(r * r - x) > 1e-4, lambda r: (r + x / r) / 2, [tf.constant(1.0)])
gradient = tf.gradients([power, branch, tf.reduce_sum(stacked)], x)
with tf.Session() as sess:
    print(sess.run([i, total]))
    for v in (0.5, 3.0):
        print(sess.run([power, branch, which, stacked], {x: v}))
        print(sess.run(gradient, {x: v}))
    print(sess.run(squares), [p.tolist() for p in sess.run(pairs)], sess.run(sums), sess.run(fibonacci), sess.run([folded, folded_right]))
    print(sess.run(grown).tolist(), grown.shape, sess.run(nested), sess.run(limited))
    print(sess.run(structure))
    print("%.4f" % sess.run(newton, {x: 7.0}))
    try:
        with tf.control_dependencies([tf.Assert(x > 0, ["x must be positive", x])]):
            checked = tf.identity(x)
        print(sess.run(checked, {x: 1.0}))
        sess.run(checked, {x: -1.0})
    except tf.errors.InvalidArgumentError as e:
        print("assertion:", "x must be positive" in str(e))
