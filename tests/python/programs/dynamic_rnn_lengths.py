"""An LSTM over sequences of different lengths: the last relevant output classifies."""
import random

import numpy as np
import thalweg as tf

random.seed(0)
seq_max_len, n_hidden, n_classes = 12, 16, 2


def sequences(n):
    data, labels, lengths = [], [], []
    for _ in range(n):
        length = random.randint(3, seq_max_len)
        lengths.append(length)
        start = random.randint(0, 50)
        values = [[float(start + i) / 100] for i in range(length)] if random.random() < .5 else [[random.random()] for _ in range(length)]
        labels.append([1., 0.] if len(values) > 1 and abs(values[1][0] - values[0][0] - 0.01) < 1e-6 else [0., 1.])
        data.append(values + [[0.]] * (seq_max_len - length))
    return np.array(data, np.float32), np.array(labels, np.float32), np.array(lengths)


x = tf.placeholder("float", [None, seq_max_len, 1])
y = tf.placeholder("float", [None, n_classes])
seqlen = tf.placeholder(tf.int32, [None])
with tf.variable_scope("net", initializer=tf.glorot_uniform_initializer(seed=4)):
    cell = tf.nn.rnn_cell.LSTMCell(n_hidden, use_peepholes=True, num_proj=8)
    outputs, states = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32, sequence_length=seqlen)
    batch_size = tf.shape(outputs)[0]
    index = tf.range(0, batch_size) * seq_max_len + (seqlen - 1)
    last = tf.gather(tf.reshape(outputs, [-1, 8]), index)
    out = tf.get_variable("out", [8, n_classes])
    pred = tf.matmul(last, out)
time_major, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(3, kernel_initializer=tf.ones_initializer()), tf.transpose(x, [1, 0, 2]), dtype=tf.float32,
                                  time_major=True, scope="plain")
with tf.variable_scope("unrolled", initializer=tf.constant_initializer(0.1)):
    unrolled, last_state = tf.nn.static_rnn(tf.nn.rnn_cell.BasicRNNCell(3), tf.unstack(x, axis=1), dtype=tf.float32, sequence_length=seqlen)
cost = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(logits=pred, labels=y))
optimizer = tf.train.AdamOptimizer(0.02).minimize(cost)
masked = tf.reduce_sum(tf.abs(outputs) * tf.expand_dims(1.0 - tf.sequence_mask(seqlen, seq_max_len, dtype=tf.float32), 2))
data, labels, lengths = sequences(64)
feed = {x: data, y: labels, seqlen: lengths}
print(outputs.shape, states.c.shape, states.h.shape, [v.name for v in tf.trainable_variables()])
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print(sess.run(masked, feed), np.round(sess.run(time_major, feed)[3, :2], 3).tolist())
    print(np.abs(sess.run(states.h - last, feed)).max() < 1e-6, np.round(sess.run([unrolled[4], last_state], feed)[1][0], 3))
    for step in range(31):
        value, _ = sess.run([cost, optimizer], feed)
        if step % 10 == 0:
            print("Step %d, Loss= %.3f" % (step, value))
