"""A convolutional net of tf.layers in one function for training and testing."""
import numpy as np
import thalweg as tf

draw = np.random.RandomState(12)
prototypes = draw.rand(5, 14, 14, 1)
numbers = draw.randint(0, 5, 100)
images = (prototypes[numbers] + 0.3 * draw.randn(100, 14, 14, 1)).astype(np.float32)


def conv_net(x, n_classes, dropout, reuse, is_training):
    with tf.variable_scope("ConvNet", reuse=reuse):
        init = lambda seed: tf.variance_scaling_initializer(1.0, "fan_avg", "uniform", seed=seed)
        conv1 = tf.layers.conv2d(x, 8, 5, activation=tf.nn.relu, kernel_initializer=init(1))
        conv1 = tf.layers.max_pooling2d(conv1, 2, 2)
        conv2 = tf.layers.conv2d(conv1, 16, 3, padding="same", activation=tf.nn.relu, kernel_initializer=init(2), name="second")
        conv2 = tf.layers.average_pooling2d(conv2, [2, 2], strides=1, padding="same")
        separable = tf.layers.separable_conv2d(conv2, 8, 3, depthwise_initializer=init(6), pointwise_initializer=init(7), name="separable")
        up = tf.layers.conv2d_transpose(separable, 4, 2, strides=2, kernel_initializer=init(5), name="up")
        fc1 = tf.layers.flatten(up)
        fc1 = tf.layers.dense(fc1, 32, kernel_initializer=init(3))
        fc1 = tf.layers.dropout(fc1, rate=dropout, training=is_training)
        return tf.layers.dense(fc1, n_classes, kernel_initializer=init(4)), up


x = tf.placeholder(tf.float32, [None, 14, 14, 1])
y = tf.placeholder(tf.int32, [None])
logits_train, up = conv_net(x, 5, 0.0, reuse=False, is_training=True)
logits_test, _ = conv_net(x, 5, 0.0, reuse=True, is_training=False)
print(up.shape, logits_test.shape)
loss_op = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(logits=logits_train, labels=tf.cast(y, dtype=tf.int32)))
train_op = tf.train.AdamOptimizer(learning_rate=0.005).minimize(loss_op, global_step=tf.train.get_or_create_global_step())
accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits_test, 1), tf.cast(y, tf.int64)), tf.float32))
for v in tf.trainable_variables():
    print(v.name, v.shape)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(11):
        value, _ = sess.run([loss_op, train_op], {x: images, y: numbers})
        if i % 5 == 0:
            print("%d %.3f" % (i, value))
    print(sess.run(accuracy, {x: images, y: numbers}) > 0.5, sess.run(tf.train.get_global_step()))
