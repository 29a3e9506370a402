"""Building does not compute: print(a) shows a tensor, a session computes it."""
import thalweg as tf

a = tf.add(3, 5)
print(a)
with tf.Session() as sess:
    print(sess.run(a))
