"""Text by a lookup table and averaged embeddings; learning rates that decay; averages of weights."""
import numpy as np
import thalweg as tf

sentences = ["good film", "bad film", "really good", "really bad", "good good story", "bad bad story", "film good", "story bad"] * 3
sentiment = np.array([1, 0] * 12)
vocabulary = tf.constant(["good", "bad", "film", "story"])
table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(vocabulary, tf.constant([0, 1, 2, 3], tf.int64)), default_value=4)
text = tf.placeholder(tf.string, [None])
labels = tf.placeholder(tf.int32, [None])
words = tf.string_split(text)
ids = tf.SparseTensor(words.indices, table.lookup(words.values), words.dense_shape)
dense = tf.sparse_tensor_to_dense(ids, default_value=4)
embedding = tf.get_variable("embedding", [5, 6], initializer=tf.random_uniform_initializer(-0.5, 0.5, seed=2))
averaged = tf.nn.embedding_lookup_sparse(embedding, ids, None, combiner="mean")
w = tf.get_variable("w", [6, 2], initializer=tf.random_normal_initializer(seed=3))
logits = tf.matmul(averaged, w)
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
step = tf.train.get_or_create_global_step()
rates = [tf.train.exponential_decay(0.5, step, 10, 0.5), tf.train.polynomial_decay(0.5, step, 20, 0.1, power=2.0), tf.train.cosine_decay(0.5, step, 30),
         tf.train.piecewise_constant(step, [5, 15], [0.5, 0.3, 0.1]), tf.train.inverse_time_decay(0.5, step, 10, 0.5), tf.train.natural_exp_decay(0.5, step, 10, 0.5)]
optimize = tf.train.MomentumOptimizer(rates[0], 0.5, use_nesterov=True).minimize(loss, global_step=step)
ema = tf.train.ExponentialMovingAverage(decay=0.9)
with tf.control_dependencies([optimize]):
    train = ema.apply([w])
print(ema.average(w).name, ema.average_name(w), sorted(ema.variables_to_restore())[:2])
feed = {text: sentences, labels: sentiment}
with tf.Session() as sess:
    sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
    print(sess.run(dense, feed)[:5].tolist())
    for i in range(20):
        sess.run(train, feed)
        if i % 6 == 0:
            print(i, "%.4f" % sess.run(loss, feed), ["%.4f" % r for r in sess.run(rates)])
    print(np.round(sess.run(ema.average(w)) - sess.run(w), 3).shape, sess.run(tf.argmax(logits, 1), {text: ["good", "bad story"]}))
