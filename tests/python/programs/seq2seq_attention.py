"""An encoder and a decoder with attention learn to reverse sequences."""
import numpy as np
import thalweg as tf

draw = np.random.RandomState(5)
vocab, length, units, batch = 8, 5, 24, 32
source = tf.placeholder(tf.int32, [None, length], name="source")
target = tf.placeholder(tf.int32, [None, length], name="target")
with tf.variable_scope("seq2seq", initializer=tf.random_uniform_initializer(-0.3, 0.3, seed=8)):
    embedding = tf.get_variable("embedding", [vocab + 1, units])
    with tf.variable_scope("encoder"):
        memory, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(units), tf.nn.embedding_lookup(embedding, source), dtype=tf.float32)
    with tf.variable_scope("decoder"):
        cell = tf.nn.rnn_cell.GRUCell(units)
        w_memory = tf.get_variable("w_memory", [units, units])
        w_query = tf.get_variable("w_query", [units, units])
        v = tf.get_variable("v", [units])
        w_out = tf.get_variable("w_out", [2 * units, vocab])
    keys = tf.tensordot(memory, w_memory, axes=[[2], [0]])

    def attend(query):
        scores = tf.reduce_sum(v * tf.tanh(keys + tf.expand_dims(tf.matmul(query, w_query), 1)), [2])
        alignment = tf.nn.softmax(scores)
        return tf.reduce_sum(tf.expand_dims(alignment, 2) * memory, [1]), alignment

    def decode(state, feed_previous, reuse):
        symbol, logits, alignments = tf.fill([tf.shape(source)[0]], vocab), [], []
        with tf.variable_scope("steps", reuse=reuse):
            for t in range(length):
                context, alignment = attend(state)
                with tf.variable_scope("cell", reuse=True if t > 0 else None):
                    output, state = cell(tf.concat([tf.nn.embedding_lookup(embedding, symbol), context], 1), state)
                logits.append(tf.matmul(tf.concat([output, context], 1), w_out))
                alignments.append(alignment)
                symbol = tf.argmax(logits[-1], 1, output_type=tf.int32) if feed_previous else target[:, t]
        return tf.stack(logits, 1), tf.stack(alignments, 1)

    logits, _ = decode(state, False, None)
    sampled, alignments = decode(state, True, True)
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=target, logits=logits))
optimizer = tf.train.AdamOptimizer(0.01)
gradients, variables = zip(*optimizer.compute_gradients(loss))
gradients, norm = tf.clip_by_global_norm(gradients, 1.0)
train = optimizer.apply_gradients(zip(gradients, variables))
accuracy = tf.reduce_mean(tf.to_float(tf.equal(tf.argmax(sampled, 2, output_type=tf.int32), target)))
print([(v.op.name, v.shape.as_list()) for v in tf.trainable_variables()])
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(41):
        sequences = draw.randint(0, vocab, [batch, length])
        value, _ = sess.run([loss, train], {source: sequences, target: sequences[:, ::-1]})
        if i % 10 == 0:
            print("step %d loss %.3f" % (i, value))
    rows = sess.run(alignments, {source: sequences[:2]})
    print(rows.shape, np.round(rows.sum(2), 3).tolist())
