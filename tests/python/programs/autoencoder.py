"""A deep autoencoder."""
import numpy as np
import thalweg as tf

draw = np.random.RandomState(0)
patterns = draw.rand(8, 36) > 0.5
images = np.clip(patterns[draw.randint(0, 8, 256)] + 0.1 * draw.randn(256, 36), 0, 1).astype(np.float32)
tf.set_random_seed(1)
num_input, num_hidden_1, num_hidden_2 = 36, 24, 8
X = tf.placeholder("float", [None, num_input])
weights = {
    "encoder_h1": tf.Variable(tf.random_normal([num_input, num_hidden_1], stddev=0.3)),
    "encoder_h2": tf.Variable(tf.random_normal([num_hidden_1, num_hidden_2], stddev=0.3)),
    "decoder_h1": tf.Variable(tf.random_normal([num_hidden_2, num_hidden_1], stddev=0.3)),
    "decoder_h2": tf.Variable(tf.random_normal([num_hidden_1, num_input], stddev=0.3)),
}
biases = {name: tf.Variable(tf.zeros([n])) for name, n in [("e1", num_hidden_1), ("e2", num_hidden_2), ("d1", num_hidden_1), ("d2", num_input)]}


def encoder(x):
    layer_1 = tf.nn.sigmoid(tf.add(tf.matmul(x, weights["encoder_h1"]), biases["e1"]))
    return tf.nn.sigmoid(tf.add(tf.matmul(layer_1, weights["encoder_h2"]), biases["e2"]))


def decoder(x):
    layer_1 = tf.nn.sigmoid(tf.add(tf.matmul(x, weights["decoder_h1"]), biases["d1"]))
    return tf.nn.sigmoid(tf.add(tf.matmul(layer_1, weights["decoder_h2"]), biases["d2"]))


y_pred = decoder(encoder(X))
loss = tf.reduce_mean(tf.pow(X - y_pred, 2))
optimizer = tf.train.RMSPropOptimizer(0.01).minimize(loss)
init = tf.global_variables_initializer()
with tf.Session() as sess:
    sess.run(init)
    for i in range(1, 101):
        batch_x = images[i % 4 * 64:i % 4 * 64 + 64]
        _, l = sess.run([optimizer, loss], feed_dict={X: batch_x})
        if i % 25 == 0 or i == 1:
            print("Step %i: Minibatch Loss: %.3f" % (i, l))
    print(sess.run(y_pred, feed_dict={X: images[:2]}).shape)
