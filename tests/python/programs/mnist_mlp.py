"""A perceptron with a hidden layer, dropout and a checkpoint."""
import os
import tempfile

import numpy as np
import thalweg as tf

tf.set_random_seed(42)
draw = np.random.RandomState(1)
prototypes = draw.rand(10, 784)
labels = draw.randint(0, 10, 1000)
images = (prototypes[labels] + 0.5 * draw.randn(1000, 784)).astype(np.float32)


def layer(x, units, name):
    with tf.variable_scope(name):
        w = tf.get_variable("w", [x.get_shape()[1], units], initializer=tf.truncated_normal_initializer(stddev=0.1))
        b = tf.get_variable("b", [units], initializer=tf.constant_initializer(0.1))
        return tf.matmul(x, w) + b


x = tf.placeholder(tf.float32, [None, 784], name="images")
y = tf.placeholder(tf.int64, [None], name="labels")
keep_prob = tf.placeholder_with_default(1.0, [])
hidden = tf.nn.relu(layer(x, 64, "hidden"))
logits = layer(tf.nn.dropout(hidden, keep_prob=keep_prob), 10, "logits")
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
global_step = tf.train.get_or_create_global_step()
rate = tf.train.exponential_decay(0.01, global_step, 20, 0.9)
train = tf.train.AdamOptimizer(rate).minimize(loss, global_step=global_step)
accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), y), tf.float32))
saver = tf.train.Saver()
print([v.name for v in tf.trainable_variables()])
with tf.Session() as sess, tempfile.TemporaryDirectory() as folder:
    sess.run(tf.global_variables_initializer())
    print(sess.run(tf.trainable_variables()[0])[0, :4])
    for i in range(60):
        batch = slice(i % 10 * 100, i % 10 * 100 + 100)
        sess.run(train, {x: images[batch], y: labels[batch]})
        if i % 20 == 0:
            print(i, sess.run([loss, accuracy], {x: images, y: labels}))
    path = saver.save(sess, os.path.join(folder, "model"), global_step=global_step)
    before = sess.run(loss, {x: images, y: labels})
    sess.run(tf.global_variables_initializer())
    saver.restore(sess, tf.train.latest_checkpoint(folder))
    print(os.path.basename(path), before == sess.run(loss, {x: images, y: labels}), sess.run(global_step), sess.run(rate))
