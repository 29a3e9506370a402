"""Matrix factorisation of ratings with biases, by sparse updates of embeddings."""
import numpy as np
import thalweg as tf

draw = np.random.RandomState(15)
users, items, rank = 30, 20, 4
ratings = np.clip(3 + draw.randn(users, rank) @ draw.randn(rank, items) * 0.7, 1, 5).astype(np.float32)
known = np.argwhere(draw.rand(users, items) < 0.5)
tf.set_random_seed(3)
user_batch, item_batch = tf.placeholder(tf.int32, [None], "users"), tf.placeholder(tf.int32, [None], "items")
rate_batch = tf.placeholder(tf.float32, [None], "ratings")
bias_global = tf.get_variable("bias_global", shape=[], initializer=tf.constant_initializer(3.0))
w_bias_user = tf.get_variable("embd_bias_user", shape=[users], initializer=tf.zeros_initializer())
w_bias_item = tf.get_variable("embd_bias_item", shape=[items], initializer=tf.zeros_initializer())
w_user = tf.get_variable("embd_user", shape=[users, rank], initializer=tf.truncated_normal_initializer(stddev=0.2))
w_item = tf.get_variable("embd_item", shape=[items, rank], initializer=tf.truncated_normal_initializer(stddev=0.2))
bias_user = tf.nn.embedding_lookup(w_bias_user, user_batch, name="bias_user")
bias_item = tf.nn.embedding_lookup(w_bias_item, item_batch, name="bias_item")
embd_user = tf.nn.embedding_lookup(w_user, user_batch, name="embedding_user")
embd_item = tf.nn.embedding_lookup(w_item, item_batch, name="embedding_item")
infer = tf.reduce_sum(tf.multiply(embd_user, embd_item), 1) + bias_global + bias_user + bias_item
regularizer = tf.add(tf.nn.l2_loss(embd_user), tf.nn.l2_loss(embd_item), name="svd_regularizer")
cost = tf.add(tf.nn.l2_loss(tf.subtract(infer, rate_batch)), tf.multiply(regularizer, tf.constant(0.05, shape=[], name="l2")))
optimizer = tf.train.AdamOptimizer(0.02)
pairs = optimizer.compute_gradients(cost)
print([(isinstance(g, tf.IndexedSlices), v.op.name) for g, v in pairs])
train_op = optimizer.apply_gradients(pairs)
rmse = tf.sqrt(tf.reduce_mean(tf.squared_difference(tf.clip_by_value(infer, 1.0, 5.0), rate_batch)))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(12):
        for start in range(0, len(known), 64):
            batch = known[start:start + 64]
            sess.run(train_op, {user_batch: batch[:, 0], item_batch: batch[:, 1], rate_batch: ratings[batch[:, 0], batch[:, 1]]})
        if epoch % 4 == 3:
            print(epoch, "%.3f" % sess.run(rmse, {user_batch: known[:, 0], item_batch: known[:, 1], rate_batch: ratings[known[:, 0], known[:, 1]]}))
