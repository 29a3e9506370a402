"""A bidirectional LSTM over rows of images, static and dynamic."""
import numpy as np
import thalweg as tf

draw = np.random.RandomState(10)
timesteps, num_input, num_hidden, num_classes = 7, 5, 12, 3
prototypes = draw.rand(3, timesteps, num_input)
labels = draw.randint(0, 3, 96)
images = (prototypes[labels] + 0.2 * draw.randn(96, timesteps, num_input)).astype(np.float32)
X = tf.placeholder("float", [None, timesteps, num_input])
Y = tf.placeholder("float", [None, num_classes])
weights = tf.Variable(tf.random_normal([2 * num_hidden, num_classes], seed=1))
biases = tf.Variable(tf.random_normal([num_classes], seed=2))
with tf.variable_scope("static", initializer=tf.random_uniform_initializer(-0.2, 0.2, seed=3)):
    x = tf.unstack(X, timesteps, 1)
    fw, bw = tf.nn.rnn_cell.BasicLSTMCell(num_hidden, forget_bias=1.0), tf.nn.rnn_cell.BasicLSTMCell(num_hidden, forget_bias=1.0)
    outputs, _, _ = tf.nn.static_bidirectional_rnn(fw, bw, x, dtype=tf.float32)
    logits = tf.matmul(outputs[-1], weights) + biases
with tf.variable_scope("dynamic", initializer=tf.random_uniform_initializer(-0.2, 0.2, seed=4)):
    cell = lambda: tf.nn.rnn_cell.LSTMCell(num_hidden)
    both, states = tf.nn.bidirectional_dynamic_rnn(cell(), cell(), X, dtype=tf.float32)
    both = tf.concat(both, 2)
print(both.shape, states[0].c.shape, type(states[1]).__name__)
print([(v.name, v.shape.as_list()) for v in tf.trainable_variables()[2:]])
loss_op = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(logits=logits + 0.1 * tf.matmul(both[:, 0], weights), labels=Y))
train_op = tf.train.GradientDescentOptimizer(learning_rate=0.2).minimize(loss_op)
accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), tf.argmax(Y, 1)), tf.float32))
feed = {X: images, Y: np.eye(3)[labels]}
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(1, 42):
        sess.run(train_op, feed_dict=feed)
        if step % 10 == 1:
            loss, acc = sess.run([loss_op, accuracy], feed_dict=feed)
            print("Step " + str(step) + ", Minibatch Loss= " + "{:.3f}".format(loss) + ", Training Accuracy= " + "{:.2f}".format(acc))
