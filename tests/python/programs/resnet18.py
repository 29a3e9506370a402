"""ResNet-18 for small images: eighteen layers with weights, shortcuts around each pair of convolutions."""
import numpy as np
import thalweg as tf

draw = np.random.RandomState(3)
images = draw.rand(4, 32, 32, 3).astype(np.float32)
labels = draw.randint(0, 10, 4)
seeds = iter(range(100))


def conv(x, filters, size, stride, name):
    kernel = tf.get_variable(name, [size, size, x.shape[-1], filters],
                             initializer=tf.variance_scaling_initializer(2.0, seed=next(seeds)))
    return tf.nn.conv2d(x, kernel, [1, stride, stride, 1], "SAME")


def normalised(x, training):
    return tf.layers.batch_normalization(x, momentum=0.9, epsilon=1e-5, training=training)


def block(x, filters, stride, training, name):
    with tf.variable_scope(name):
        y = tf.nn.relu(normalised(conv(x, filters, 3, stride, "first"), training))
        y = normalised(conv(y, filters, 3, 1, "second"), training)
        if stride != 1 or x.shape[-1] != filters:
            x = normalised(conv(x, filters, 1, stride, "shortcut"), training)
        return tf.nn.relu(x + y)


def resnet(x, training):
    x = tf.nn.relu(normalised(conv(x, 64, 3, 1, "stem"), training))
    for stage, filters in enumerate([64, 128, 256, 512]):
        x = block(x, filters, 1 if stage == 0 else 2, training, "stage%d_0" % stage)
        x = block(x, filters, 1, training, "stage%d_1" % stage)
    x = tf.reduce_mean(x, [1, 2])
    return tf.layers.dense(x, 10, kernel_initializer=tf.zeros_initializer(), name="logits")


x = tf.placeholder(tf.float32, [None, 32, 32, 3])
y = tf.placeholder(tf.int64, [None])
with tf.variable_scope("resnet"):
    logits = resnet(x, True)
loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
global_step = tf.train.get_or_create_global_step()
update_ops = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
with tf.control_dependencies(update_ops):
    train = tf.train.MomentumOptimizer(0.02, 0.9).minimize(loss, global_step)
accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), y), tf.float32))
parameters = sum(int(np.prod(v.shape.as_list())) for v in tf.trainable_variables())
print(len(tf.trainable_variables()), parameters, len(update_ops))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(2):
        value, right, _ = sess.run([loss, accuracy, train], {x: images, y: labels})
        print(i, "%.3f" % value)
    print(sess.run(global_step))
