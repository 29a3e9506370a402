"""Softmax regression on images of 28 x 28."""
import numpy as np
import thalweg as tf

draw = np.random.RandomState(0)
prototypes = draw.rand(10, 784)
labels = draw.randint(0, 10, 2000)
images = (prototypes[labels] + 0.5 * draw.randn(2000, 784)).astype(np.float32)
onehot = np.eye(10, dtype=np.float32)[labels]

x = tf.placeholder(tf.float32, [None, 784])
W = tf.Variable(tf.zeros([784, 10]))
b = tf.Variable(tf.zeros([10]))
y = tf.nn.softmax(tf.matmul(x, W) + b)
y_ = tf.placeholder(tf.float32, [None, 10])
cross_entropy = tf.reduce_mean(-tf.reduce_sum(y_ * tf.log(y + 1e-10), reduction_indices=[1]))
train_step = tf.train.GradientDescentOptimizer(0.01).minimize(cross_entropy)
correct_prediction = tf.equal(tf.argmax(y, 1), tf.argmax(y_, 1))
accuracy = tf.reduce_mean(tf.cast(correct_prediction, tf.float32))

sess = tf.InteractiveSession()
tf.global_variables_initializer().run()
for i in range(100):
    batch = slice(i % 20 * 100, i % 20 * 100 + 100)
    sess.run(train_step, feed_dict={x: images[batch], y_: onehot[batch]})
    if i % 20 == 0:
        print(i, cross_entropy.eval({x: images, y_: onehot}), accuracy.eval({x: images, y_: onehot}))
print(sess.run(accuracy, feed_dict={x: images, y_: onehot}))
sess.close()
