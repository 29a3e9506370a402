"""Logistic regression by batches over epochs."""
import numpy as np
import thalweg as tf

learning_rate, training_epochs, batch_size, display_step = 0.05, 10, 50, 2
draw = np.random.RandomState(6)
prototypes = draw.rand(10, 784)
numbers = draw.randint(0, 10, 600)
images = (prototypes[numbers] + 0.6 * draw.randn(600, 784)).astype(np.float32)
onehot = np.eye(10)[numbers]
x = tf.placeholder(tf.float32, [None, 784])
y = tf.placeholder(tf.float32, [None, 10])
W = tf.Variable(tf.zeros([784, 10]))
b = tf.Variable(tf.zeros([10]))
pred = tf.nn.softmax(tf.matmul(x, W) + b)
cost = tf.reduce_mean(-tf.reduce_sum(y * tf.log(tf.clip_by_value(pred, 1e-8, 1.0)), reduction_indices=1))
optimizer = tf.train.GradientDescentOptimizer(learning_rate).minimize(cost)
init = tf.global_variables_initializer()
with tf.Session() as sess:
    sess.run(init)
    for epoch in range(training_epochs):
        avg_cost, total_batch = 0., len(images) // batch_size
        for i in range(total_batch):
            batch = slice(i * batch_size, (i + 1) * batch_size)
            _, c = sess.run([optimizer, cost], feed_dict={x: images[batch], y: onehot[batch]})
            avg_cost += c / total_batch
        if (epoch + 1) % display_step == 0:
            print("Epoch:", "%04d" % (epoch + 1), "cost=", "{:.4f}".format(avg_cost))
    print("Optimization Finished!")
    correct_prediction = tf.equal(tf.argmax(pred, 1), tf.argmax(y, 1))
    accuracy = tf.reduce_mean(tf.cast(correct_prediction, tf.float32))
    print("Accuracy:", accuracy.eval({x: images, y: onehot}))
    print(tf.confusion_matrix(numbers[:50], tf.argmax(pred[:50], 1)).eval({x: images}).trace())
