"""Nearest neighbours by distance in the graph."""
import numpy as np
import thalweg as tf

draw = np.random.RandomState(9)
prototypes = draw.rand(5, 30)
labels = draw.randint(0, 5, 120)
images = (prototypes[labels] + 0.25 * draw.randn(120, 30)).astype(np.float32)
Xtr, Ytr, Xte, Yte = images[:100], np.eye(5)[labels[:100]], images[100:], np.eye(5)[labels[100:]]
xtr = tf.placeholder("float", [None, 30])
xte = tf.placeholder("float", [30])
distance = tf.reduce_sum(tf.abs(tf.add(xtr, tf.negative(xte))), reduction_indices=1)
pred = tf.arg_min(distance, 0)
values, indices = tf.nn.top_k(-distance, k=3, sorted=True)
accuracy = 0.
with tf.Session() as sess:
    for i in range(len(Xte)):
        nn_index, nearest = sess.run([pred, indices], feed_dict={xtr: Xtr, xte: Xte[i, :]})
        if i < 5:
            print("Test", i, "Prediction:", np.argmax(Ytr[nn_index]), "True Class:", np.argmax(Yte[i]), nearest)
        if np.argmax(Ytr[nn_index]) == np.argmax(Yte[i]):
            accuracy += 1. / len(Xte)
    print("Accuracy: %.2f" % accuracy)
