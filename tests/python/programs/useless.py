"""Only what is asked for is computed: `useless` is not."""
import thalweg as tf

x = 2
y = 3
add_op = tf.add(x, y)
mul_op = tf.multiply(x, y)
useless = tf.multiply(x, add_op)
pow_op = tf.pow(add_op, mul_op)
with tf.Session() as sess:
    z = sess.run(pow_op)
    print(z)
    z, not_useless = sess.run([pow_op, useless])
    print(z, not_useless)
print([op.name for op in tf.get_default_graph().get_operations()])
