"""A language model of two LSTM layers, unrolled, trained by truncated backpropagation; the state goes on from batch to batch."""
import numpy as np
import thalweg as tf

text = "the quick brown fox jumps over the lazy dog and the lazy dog sleeps while the quick fox runs " * 12
words = text.split()
vocabulary = sorted(set(words))
ids = np.array([vocabulary.index(w) for w in words])
batch_size, num_steps, hidden_size, num_layers, vocab_size = 4, 6, 32, 2, len(vocabulary)
rows = ids[:len(ids) // batch_size * batch_size].reshape(batch_size, -1)

inputs = tf.placeholder(tf.int32, [batch_size, num_steps])
targets = tf.placeholder(tf.int32, [batch_size, num_steps])
keep_prob = tf.placeholder_with_default(1.0, [])
with tf.variable_scope("model", initializer=tf.random_uniform_initializer(-0.1, 0.1, seed=12)):
    embedding = tf.get_variable("embedding", [vocab_size, hidden_size])
    embedded = tf.nn.embedding_lookup(embedding, inputs)

    def lstm_cell():
        cell = tf.nn.rnn_cell.BasicLSTMCell(hidden_size, forget_bias=0.0, state_is_tuple=True)
        return tf.nn.rnn_cell.DropoutWrapper(cell, output_keep_prob=keep_prob)

    cell = tf.nn.rnn_cell.MultiRNNCell([lstm_cell() for _ in range(num_layers)], state_is_tuple=True)
    initial_state = cell.zero_state(batch_size, tf.float32)
    state, outputs = initial_state, []
    with tf.variable_scope("RNN"):
        for step in range(num_steps):
            if step > 0:
                tf.get_variable_scope().reuse_variables()
            output, state = cell(embedded[:, step, :], state)
            outputs.append(output)
    output = tf.reshape(tf.concat(outputs, 1), [-1, hidden_size])
    softmax_w = tf.get_variable("softmax_w", [hidden_size, vocab_size])
    softmax_b = tf.get_variable("softmax_b", [vocab_size])
logits = tf.matmul(output, softmax_w) + softmax_b
losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.reshape(targets, [-1]), logits=logits)
cost = tf.reduce_sum(losses) / batch_size
learning_rate = tf.Variable(1.0, trainable=False)
tvars = tf.trainable_variables()
grads, norm = tf.clip_by_global_norm(tf.gradients(cost, tvars), 5.0)
train_op = tf.train.GradientDescentOptimizer(learning_rate).apply_gradients(zip(grads, tvars))
for v in tvars:
    print(v.name, v.shape)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(4):
        state_value, costs, iters = sess.run(initial_state), 0.0, 0
        sess.run(tf.assign(learning_rate, 1.0 if epoch < 3 else 0.5))
        for start in range(0, rows.shape[1] - num_steps - 1, num_steps):
            feed = {inputs: rows[:, start:start + num_steps], targets: rows[:, start + 1:start + num_steps + 1]}
            for (c, h), value in zip(initial_state, state_value):
                feed[c], feed[h] = value.c, value.h
            value, state_value, _ = sess.run([cost, state, train_op], feed)
            costs += value
            iters += num_steps
        print("epoch %d perplexity %.3f" % (epoch, np.exp(costs / iters)))
