"""Placeholders are fed in each run."""
import thalweg as tf

x = tf.placeholder(tf.float32)
y = tf.placeholder(tf.float32)
z = x + y
a = x * y - 2.0
print(x, z)
with tf.Session() as sess:
    print(sess.run(z, feed_dict={x: 3, y: 4.5}))
    print(sess.run(z, feed_dict={x: [1, 3], y: [2, 4]}))
    print(sess.run({"sum": z, "both": (a, [z])}, feed_dict={x: 2.0, y: [[1.0], [2.0]]}))
    print(sess.run(z, {z: 7.0}))
