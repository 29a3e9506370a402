"""Word embeddings by skip-grams: noise-contrastive estimation and sampled softmax."""
import collections

import numpy as np
import thalweg as tf

text = ("the king rules the land and the queen rules the castle while the cat sits on the mat and the dog sits on the rug "
        "a king and a queen live in the castle a cat and a dog live in the house ") * 6
words = text.split()
count = collections.Counter(words).most_common()
dictionary = {word: i for i, (word, _) in enumerate(sorted(count, key=lambda c: (-c[1], c[0])))}
data = [dictionary[w] for w in words]
pairs = np.array([(data[i], data[j]) for i in range(2, len(data) - 2) for j in (i - 2, i - 1, i + 1, i + 2)], np.int32)
vocabulary_size, embedding_size, batch_size, num_sampled = len(dictionary), 16, 64, 8
print(vocabulary_size, len(pairs))

train_inputs = tf.placeholder(tf.int32, shape=[batch_size])
train_labels = tf.placeholder(tf.int32, shape=[batch_size, 1])
valid_dataset = tf.constant([dictionary["king"], dictionary["cat"]], dtype=tf.int32)
tf.set_random_seed(7)
embeddings = tf.Variable(tf.random_uniform([vocabulary_size, embedding_size], -1.0, 1.0))
embed = tf.nn.embedding_lookup(embeddings, train_inputs)
weights = tf.Variable(tf.truncated_normal([vocabulary_size, embedding_size], stddev=1.0 / np.sqrt(embedding_size)))
biases = tf.Variable(tf.zeros([vocabulary_size]))
sampled = tf.reduce_mean(tf.nn.sampled_softmax_loss(weights=weights, biases=biases, labels=train_labels, inputs=embed,
                                                    num_sampled=num_sampled, num_classes=vocabulary_size, seed=5))
nce = tf.reduce_mean(tf.nn.nce_loss(weights=weights, biases=biases, labels=train_labels, inputs=embed,
                                    num_sampled=num_sampled, num_classes=vocabulary_size))
full = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
    labels=tf.squeeze(train_labels, 1), logits=tf.matmul(embed, weights, transpose_b=True) + biases))
optimizer = tf.train.GradientDescentOptimizer(1.0).minimize(sampled)
nce_optimizer = tf.train.AdagradOptimizer(0.5).minimize(nce)
norm = tf.sqrt(tf.reduce_sum(tf.square(embeddings), 1, keepdims=True))
normalized = embeddings / norm
similarity = tf.matmul(tf.nn.embedding_lookup(normalized, valid_dataset), normalized, transpose_b=True)

with tf.Session() as session:
    tf.global_variables_initializer().run()
    for step in range(101):
        batch = pairs[np.arange(step * batch_size, (step + 1) * batch_size) % len(pairs)]
        feed_dict = {train_inputs: batch[:, 0], train_labels: batch[:, 1:]}
        session.run(optimizer if step < 50 else nce_optimizer, feed_dict=feed_dict)
        if step % 20 == 0:
            print("step %d loss %.3f" % (step, session.run(full, feed_dict)))
    names = sorted(dictionary, key=dictionary.get)
    for row in session.run(similarity):
        print([names[i] for i in np.argsort(-row)[:1]])
