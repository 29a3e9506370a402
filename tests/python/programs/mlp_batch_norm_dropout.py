"""A multilayer perceptron with batch normalisation by hand and in layers, dropout and weight decay."""
import numpy as np
import thalweg as tf

tf.set_random_seed(21)
draw = np.random.RandomState(11)
centres = draw.randn(4, 10)
labels = draw.randint(0, 4, 200)
inputs = (centres[labels] + 0.7 * draw.randn(200, 10)).astype(np.float32)
x = tf.placeholder(tf.float32, [None, 10])
y = tf.placeholder(tf.int64, [None])
is_training = tf.placeholder(tf.bool, [])
keep_prob = tf.placeholder(tf.float32)
regularizer = lambda w: 0.001 * tf.nn.l2_loss(w)


def batch_norm(x, name):
    with tf.variable_scope(name):
        size = x.shape[-1]
        beta = tf.get_variable("beta", [size], initializer=tf.zeros_initializer())
        gamma = tf.get_variable("gamma", [size], initializer=tf.ones_initializer())
        mean, variance = tf.nn.moments(x, [0])
        moving_mean = tf.get_variable("moving_mean", [size], initializer=tf.zeros_initializer(), trainable=False)
        moving_variance = tf.get_variable("moving_variance", [size], initializer=tf.ones_initializer(), trainable=False)
        update_mean = tf.assign(moving_mean, 0.9 * moving_mean + 0.1 * mean)
        update_variance = tf.assign(moving_variance, 0.9 * moving_variance + 0.1 * variance)
        tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, update_mean)
        tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, update_variance)
        m, v = tf.cond(is_training, lambda: (mean, variance), lambda: (moving_mean.read_value(), moving_variance.read_value()))
        return tf.nn.batch_normalization(x, m, v, beta, gamma, 1e-3)


with tf.variable_scope("mlp"):
    h = tf.layers.dense(x, 24, use_bias=False, kernel_initializer=tf.glorot_normal_initializer(seed=1),
                        kernel_regularizer=regularizer, name="one")
    h = tf.nn.relu(batch_norm(h, "bn"))
    h = tf.nn.dropout(h, keep_prob=keep_prob)
    w = tf.get_variable("w", [24, 16], initializer=tf.random_normal_initializer(stddev=0.2), regularizer=regularizer)
    h = tf.layers.batch_normalization(tf.matmul(h, w), training=is_training, momentum=0.8)
    h = tf.layers.dropout(tf.nn.elu(h), rate=0.3, training=is_training, seed=5)
    logits = tf.layers.dense(h, 4, kernel_initializer=tf.glorot_normal_initializer(seed=2), name="two")
cross_entropy = tf.losses.sparse_softmax_cross_entropy(labels=y, logits=logits)
total = cross_entropy + tf.add_n(tf.losses.get_regularization_losses())
with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
    train = tf.train.AdamOptimizer(0.01).minimize(total)
accuracy = tf.reduce_mean(tf.to_float(tf.equal(tf.argmax(logits, 1), y)))
print(len(tf.losses.get_regularization_losses()), len(tf.get_collection(tf.GraphKeys.UPDATE_OPS)))
print(sorted(v.name for v in tf.global_variables() if "Adam" not in v.name and "beta1" not in v.name and "beta2" not in v.name))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(41):
        feed = {x: inputs, y: labels, is_training: True, keep_prob: 0.8}
        value, whole, _ = sess.run([cross_entropy, total, train], feed)
        if i % 10 == 0:
            right = sess.run(accuracy, {x: inputs, y: labels, is_training: False, keep_prob: 1.0})
            print("%d %.3f %.3f" % (i, value, whole), right > 0.2)
    print(np.round(sess.run([v for v in tf.global_variables() if v.op.name == "mlp/bn/moving_mean"])[0][:3], 2))
