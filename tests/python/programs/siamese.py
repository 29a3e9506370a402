"""A Siamese net: two inputs through the same weights, and a contrastive loss."""
import numpy as np
import thalweg as tf

draw = np.random.RandomState(8)
prototypes = draw.rand(4, 20)


def network(x, reuse):
    with tf.variable_scope("siamese", reuse=tf.AUTO_REUSE):
        for i, units in enumerate((16, 8, 2)):
            initer = tf.truncated_normal_initializer(stddev=0.3, seed=i)
            W = tf.get_variable("fc%d_W" % i, dtype=tf.float32, shape=[x.get_shape()[1], units], initializer=initer)
            b = tf.get_variable("fc%d_b" % i, dtype=tf.float32, initializer=tf.constant(0.01, shape=[units], dtype=tf.float32))
            x = tf.nn.bias_add(tf.matmul(x, W), b)
            if units != 2:
                x = tf.nn.relu(x)
    return x


x1 = tf.placeholder(tf.float32, [None, 20])
x2 = tf.placeholder(tf.float32, [None, 20])
y_ = tf.placeholder(tf.float32, [None])
o1, o2 = network(x1, False), network(x2, True)
margin = 5.0
eucd2 = tf.reduce_sum(tf.pow(tf.subtract(o1, o2), 2), 1)
eucd = tf.sqrt(eucd2 + 1e-6, name="eucd")
pos = tf.multiply(y_, eucd2, name="yi_x_eucd2")
neg = tf.multiply(tf.subtract(1.0, y_), tf.pow(tf.maximum(tf.subtract(tf.constant(margin), eucd), 0), 2))
loss = tf.reduce_mean(tf.add(pos, neg), name="loss")
train_step = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
print([v.name for v in tf.global_variables()], loss.name)
with tf.Session() as sess:
    tf.global_variables_initializer().run()
    for step in range(101):
        a, b = draw.randint(0, 4, 32), draw.randint(0, 4, 32)
        feed = {x1: prototypes[a] + 0.1 * draw.randn(32, 20), x2: prototypes[b] + 0.1 * draw.randn(32, 20), y_: (a == b).astype("float")}
        _, value = sess.run([train_step, loss], feed)
        if step % 25 == 0:
            print("step %d: loss %.3f" % (step, value))
    embed = o1.eval({x1: prototypes})
    print(embed.shape)
