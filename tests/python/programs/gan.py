"""A generative adversarial net: two losses, each for the variables of one scope."""
import numpy as np
import thalweg as tf

tf.set_random_seed(4)
draw = np.random.RandomState(4)


def generator(x, reuse=None):
    with tf.variable_scope("Generator", reuse=reuse):
        w1 = tf.get_variable("w1", [4, 16], initializer=tf.random_normal_initializer(stddev=0.5))
        b1 = tf.get_variable("b1", [16], initializer=tf.zeros_initializer())
        w2 = tf.get_variable("w2", [16, 2], initializer=tf.random_normal_initializer(stddev=0.35))
        b2 = tf.get_variable("b2", [2], initializer=tf.zeros_initializer())
        return tf.matmul(tf.nn.relu(tf.matmul(x, w1) + b1), w2) + b2


def discriminator(x, reuse=None):
    with tf.variable_scope("Discriminator", reuse=reuse):
        hidden = tf.layers.dense(x, 16, activation=tf.nn.leaky_relu, kernel_initializer=tf.random_normal_initializer(stddev=0.5, seed=1), name="hidden")
        return tf.layers.dense(hidden, 1, kernel_initializer=tf.random_normal_initializer(stddev=0.35, seed=2), name="out")


noise = tf.placeholder(tf.float32, [None, 4])
real = tf.placeholder(tf.float32, [None, 2])
fake = generator(noise)
disc_real, disc_fake = discriminator(real), discriminator(fake, reuse=True)
disc_loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(logits=disc_real, labels=tf.ones_like(disc_real)) +
                           tf.nn.sigmoid_cross_entropy_with_logits(logits=disc_fake, labels=tf.zeros_like(disc_fake)))
gen_loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(logits=disc_fake, labels=tf.ones_like(disc_fake)))
gen_vars = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="Generator")
disc_vars = [v for v in tf.trainable_variables() if v.name.startswith("Discriminator")]
train_gen = tf.train.AdamOptimizer(learning_rate=0.005).minimize(gen_loss, var_list=gen_vars)
train_disc = tf.train.AdamOptimizer(learning_rate=0.005).minimize(disc_loss, var_list=disc_vars)
print([v.name for v in gen_vars], [v.name for v in disc_vars])
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(61):
        feed = {real: draw.randn(32, 2) * 0.3 + [1.0, -1.0], noise: draw.uniform(-1.0, 1.0, size=[32, 4])}
        _, dl = sess.run([train_disc, disc_loss], feed)
        _, gl = sess.run([train_gen, gen_loss], feed)
        if i % 20 == 0:
            print("Step %i: Generator Loss: %.3f, Discriminator Loss: %.3f" % (i, gl, dl))
    print(np.round(sess.run(tf.reduce_mean(fake, 0), {noise: np.linspace(-1, 1, 40).reshape(10, 4)}), 2))
