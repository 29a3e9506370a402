"""A net of 2-4-1 units learns exclusive or."""
import numpy as np
import thalweg as tf

tf.set_random_seed(3)
x_in = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.float32)
y_in = np.array([[0], [1], [1], [0]], np.float32)
x = tf.placeholder(tf.float32, [None, 2])
y = tf.placeholder(tf.float32, [None, 1])
W1 = tf.Variable(tf.random_uniform([2, 4], -1, 1))
b1 = tf.Variable(tf.zeros([4]))
W2 = tf.Variable(tf.random_uniform([4, 1], -1, 1))
b2 = tf.Variable(tf.zeros([1]))
hidden = tf.tanh(tf.matmul(x, W1) + b1)
answer = tf.sigmoid(tf.matmul(hidden, W2) + b2)
loss = tf.reduce_mean(-y * tf.log(answer) - (1 - y) * tf.log(1 - answer))
train = tf.train.AdamOptimizer(0.05).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print(sess.run(W1))
    for step in range(400):
        value, _ = sess.run([loss, train], {x: x_in, y: y_in})
        if step % 100 == 0:
            print(step, value)
    print(sess.run(answer, {x: x_in}) > 0.5)
