"""Streaming metrics over batches, and what resets them."""
import numpy as np
import thalweg as tf

draw = np.random.RandomState(16)
labels = tf.placeholder(tf.int64, [None])
predictions = tf.placeholder(tf.int64, [None])
scores = tf.placeholder(tf.float32, [None])
values, updates = zip(*[
    tf.metrics.accuracy(labels, predictions), tf.metrics.precision(labels, predictions), tf.metrics.recall(labels, predictions),
    tf.metrics.mean(scores), tf.metrics.auc(labels, scores), tf.metrics.mean_squared_error(tf.cast(labels, tf.float32), scores),
    tf.metrics.mean_absolute_error(tf.cast(labels, tf.float32), scores), tf.metrics.root_mean_squared_error(tf.cast(labels, tf.float32), scores),
    tf.metrics.mean(scores, weights=tf.cast(labels, tf.float32)), tf.metrics.accuracy(labels, predictions, weights=scores)])
print(sorted(v.name for v in tf.local_variables())[:4], len(tf.global_variables()))
with tf.Session() as sess:
    for epoch in range(2):
        sess.run(tf.local_variables_initializer())
        for batch in range(3):
            truth = draw.randint(0, 2, 20)
            guess = np.where(draw.rand(20) < 0.7, truth, 1 - truth)
            score = np.clip(0.6 * guess + 0.4 * draw.rand(20), 0, 1)
            got = sess.run(updates, {labels: truth, predictions: guess, scores: score})
        print(["%.3f" % v for v in got])
        print(["%.3f" % v for v in sess.run(values)] == ["%.3f" % v for v in got])
