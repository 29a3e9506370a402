"""Finds W and b of y = 0.1 x + 0.3."""
import numpy as np
import thalweg as tf

x_data = np.linspace(0, 1, 100).astype(np.float32)
y_data = x_data * 0.1 + 0.3
x = tf.placeholder(shape=[None], dtype=tf.float32, name="x")
y_label = tf.placeholder(shape=[None], dtype=tf.float32, name="y_label")
W = tf.Variable(tf.random_uniform([1], -1.0, 1.0, seed=1), name="W")
b = tf.Variable(tf.zeros([1]), name="b")
y = W * x + b
loss = tf.reduce_mean(tf.square(y - y_label))
optimizer = tf.train.GradientDescentOptimizer(0.5)
train = optimizer.minimize(loss)
with tf.Session() as sess:
    sess.run(tf.initialize_all_variables())
    for step in range(201):
        sess.run(train, feed_dict={x: x_data, y_label: y_data})
        if step % 40 == 0:
            print(step, sess.run(W), sess.run(b), sess.run(loss, {x: x_data, y_label: y_data}))
