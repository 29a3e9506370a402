"""k-means clustering as assignments in a graph."""
import numpy as np
import thalweg as tf

draw = np.random.RandomState(3)
k, n = 3, 90
data = np.concatenate([draw.randn(n // 3, 2) * 0.4 + c for c in ([0, 0], [4, 4], [0, 5])]).astype(np.float32)
points = tf.constant(data)
centroids = tf.Variable(tf.slice(tf.random_shuffle(points, seed=2), [0, 0], [k, -1]))
assignments = tf.Variable(tf.zeros([n], dtype=tf.int64))
distances = tf.reduce_sum(tf.square(tf.expand_dims(points, 0) - tf.expand_dims(centroids, 1)), 2)
nearest = tf.argmin(distances, 0)
did_change = tf.reduce_any(tf.not_equal(nearest, assignments))
total = tf.unsorted_segment_sum(points, nearest, k)
count = tf.unsorted_segment_sum(tf.ones_like(points), nearest, k)
means = total / count
by_partition = tf.concat([tf.reduce_mean(part, 0, keepdims=True) for part in tf.dynamic_partition(points, tf.to_int32(nearest), k)], 0)
with tf.control_dependencies([did_change]):
    update = tf.group(tf.assign(centroids, means), tf.assign(assignments, nearest))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    changed, iterations = True, 0
    while changed and iterations < 100:
        iterations += 1
        same = np.allclose(*sess.run([means, by_partition]), atol=1e-4)
        changed, _ = sess.run([did_change, update])
    print(iterations, same)
    print(np.round(sess.run(centroids), 3))
    print(np.bincount(sess.run(assignments)))
