"""A convolutional net of two layers."""
import numpy as np
import thalweg as tf

draw = np.random.RandomState(2)
prototypes = draw.rand(4, 12, 12)
labels = draw.randint(0, 4, 256)
images = (prototypes[labels] + 0.3 * draw.randn(256, 12, 12)).astype(np.float32)


def weight_variable(shape, seed):
    return tf.Variable(tf.truncated_normal(shape, stddev=0.1, seed=seed))


def bias_variable(shape):
    return tf.Variable(tf.constant(0.1, shape=shape))


x = tf.placeholder(tf.float32, [None, 144])
y = tf.placeholder(tf.float32, [None, 4])
image = tf.reshape(x, [-1, 12, 12, 1])
h1 = tf.nn.relu(tf.nn.conv2d(image, weight_variable([5, 5, 1, 8], 1), strides=[1, 1, 1, 1], padding="SAME") + bias_variable([8]))
p1 = tf.nn.max_pool(h1, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
h2 = tf.nn.relu(tf.nn.conv2d(p1, weight_variable([5, 5, 8, 8], 2), strides=[1, 1, 1, 1], padding="SAME") + bias_variable([8]))
p2 = tf.nn.max_pool(h2, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
flat = tf.reshape(p2, [-1, 3 * 3 * 8])
logits = tf.matmul(flat, weight_variable([72, 4], 3)) + bias_variable([4])
loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=logits))
train = tf.train.MomentumOptimizer(0.05, 0.9).minimize(loss)
accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), tf.argmax(y, 1)), "float"))
feeds = {x: images.reshape(256, 144), y: np.eye(4, dtype=np.float32)[labels]}
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(30):
        if i % 10 == 0:
            print(i, *sess.run([loss, accuracy], feeds))
        sess.run(train, feeds)
    print(sess.run(accuracy, feeds))
