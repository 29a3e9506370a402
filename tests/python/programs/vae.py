"""A variational autoencoder."""
import numpy as np
import thalweg as tf

draw = np.random.RandomState(7)
images = (draw.rand(6, 25) > 0.5)[draw.randint(0, 6, 128)].astype(np.float32)
tf.set_random_seed(11)
image_dim, hidden_dim, latent_dim = 25, 20, 2


def glorot_init(shape):
    return tf.random_normal(shape=shape, stddev=1. / np.sqrt(shape[0] / 2.))


weights = {"encoder_h1": tf.Variable(glorot_init([image_dim, hidden_dim])), "z_mean": tf.Variable(glorot_init([hidden_dim, latent_dim])),
           "z_std": tf.Variable(glorot_init([hidden_dim, latent_dim])), "decoder_h1": tf.Variable(glorot_init([latent_dim, hidden_dim])),
           "decoder_out": tf.Variable(glorot_init([hidden_dim, image_dim]))}
biases = {"encoder_b1": tf.Variable(glorot_init([hidden_dim])), "z_mean": tf.Variable(glorot_init([latent_dim])),
          "z_std": tf.Variable(glorot_init([latent_dim])), "decoder_b1": tf.Variable(glorot_init([hidden_dim])),
          "decoder_out": tf.Variable(glorot_init([image_dim]))}
input_image = tf.placeholder(tf.float32, shape=[None, image_dim])
encoder = tf.nn.tanh(tf.matmul(input_image, weights["encoder_h1"]) + biases["encoder_b1"])
z_mean = tf.matmul(encoder, weights["z_mean"]) + biases["z_mean"]
z_std = tf.matmul(encoder, weights["z_std"]) + biases["z_std"]
eps = tf.random_normal(tf.shape(z_std), dtype=tf.float32, mean=0., stddev=1.0, name="epsilon")
z = z_mean + tf.exp(z_std / 2) * eps
decoder = tf.nn.tanh(tf.matmul(z, weights["decoder_h1"]) + biases["decoder_b1"])
decoder = tf.nn.sigmoid(tf.matmul(decoder, weights["decoder_out"]) + biases["decoder_out"])


def vae_loss(x_reconstructed, x_true):
    encode_decode_loss = x_true * tf.log(1e-10 + x_reconstructed) + (1 - x_true) * tf.log(1e-10 + 1 - x_reconstructed)
    encode_decode_loss = -tf.reduce_sum(encode_decode_loss, 1)
    kl_div_loss = 1 + z_std - tf.square(z_mean) - tf.exp(z_std)
    kl_div_loss = -0.5 * tf.reduce_sum(kl_div_loss, 1)
    return tf.reduce_mean(encode_decode_loss + kl_div_loss)


loss_op = vae_loss(decoder, input_image)
train_op = tf.train.RMSPropOptimizer(learning_rate=0.005).minimize(loss_op)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(61):
        _, l = sess.run([train_op, loss_op], feed_dict={input_image: images})
        if i % 20 == 0:
            print("Step %i, Loss: %.3f" % (i, l))
    codes = sess.run(z_mean, {input_image: images[:4]})
    print(codes.shape, sess.run(decoder, {z: [[0.0, 1.0]]}).shape)
