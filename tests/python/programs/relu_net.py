"""relu(W x + b), as the first slides have it."""
import numpy as np
import thalweg as tf

b = tf.Variable(tf.zeros((100,)))
W = tf.Variable(tf.random_uniform((784, 100), -1, 1, seed=7))
x = tf.placeholder(tf.float32, (1, 784))
h = tf.nn.relu(tf.matmul(x, W) + b)
sess = tf.Session()
sess.run(tf.global_variables_initializer())
out = sess.run(h, {x: np.linspace(-1, 1, 784, dtype=np.float32).reshape(1, 784)})
print(h, out.shape, out.dtype, *["%.3f" % v for v in out[0, :8]])
print((out == 0).sum())
