"""Names, scopes, devices and dependencies of nodes."""
import thalweg as tf

with tf.name_scope("layer"):
    a = tf.constant([1.0, 2.0], name="a")
    with tf.device("/cpu:0"):
        b = tf.square(a)
with tf.name_scope("layer"):
    c = a + b
v = tf.Variable(1.0, name="v")
update = tf.assign_add(v, 2.0)
with tf.control_dependencies([update]):
    after = tf.identity(v.read_value())
grouped = tf.group(update, c.op)
print(a.name, b.name, c.name, v.name, after.name, grouped.name)
print(c.op.type, [i.name for i in c.op.inputs], c.get_shape().as_list(), c.dtype)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print(sess.run(after), sess.run(after))
    sess.run(grouped)
    print(sess.run(v), v.eval())
for op in tf.get_default_graph().get_operations():
    print(op.name, op.type)
