"""A character-level recurrent net, with sampling."""
import numpy as np
import thalweg as tf

text = "hello world, this is a small text for a small recurrent net. " * 8
chars = sorted(set(text))
index = {c: i for i, c in enumerate(chars)}
data = np.array([index[c] for c in text])
n, steps, units, batch = len(chars), 16, 48, 8
x = tf.placeholder(tf.int32, [None, None])
y = tf.placeholder(tf.int32, [None, None])
cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.GRUCell(units), tf.nn.rnn_cell.BasicRNNCell(units)])
initial = cell.zero_state(tf.shape(x)[0], tf.float32)
with tf.variable_scope("rnn", initializer=tf.glorot_normal_initializer(seed=2)):
    outputs, final = tf.nn.dynamic_rnn(cell, tf.one_hot(x, n), initial_state=initial)
    logits = tf.layers.dense(outputs, n, kernel_initializer=tf.glorot_uniform_initializer(seed=5))
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
probabilities = tf.nn.softmax(logits)
rate = tf.train.exponential_decay(0.01, tf.train.get_or_create_global_step(), 10, 0.9, staircase=True)
optimizer = tf.train.AdamOptimizer(rate)
gradients = [(tf.clip_by_value(g, -1.0, 1.0), v) for g, v in optimizer.compute_gradients(loss)]
train = optimizer.apply_gradients(gradients, tf.train.get_global_step())
print(logits.shape, [s.shape.as_list() for s in final], [v.name for v in tf.trainable_variables()])
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(31):
        starts = (np.arange(batch) * 37 + i * steps) % (len(data) - steps - 1)
        xs = np.stack([data[s:s + steps] for s in starts])
        ys = np.stack([data[s + 1:s + steps + 1] for s in starts])
        value, _, lr = sess.run([loss, train, rate], {x: xs, y: ys})
        if i % 10 == 0:
            print("%d %.3f %.5f" % (i, value, lr))
    state, at = None, index["h"]
    for _ in range(5):
        feed = {x: [[at]]}
        if state is not None:
            feed.update(dict(zip(initial, state)))
        p, state = sess.run([probabilities, final], feed)
        at = int(np.argmax(p[0, 0]))
    print(len(state), "%.3f" % p.sum())
