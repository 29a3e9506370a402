"""Deep Q-learning with a target network on a corridor: move left or right, the prize is at the end."""
import collections
import random

import numpy as np
import thalweg as tf

random.seed(1)
np.random.seed(1)
LENGTH, GAMMA, BATCH = 6, 0.9, 16


class Corridor:
    def reset(self):
        self.at = 0
        return self.observe()

    def observe(self):
        return np.eye(LENGTH, dtype=np.float32)[self.at]

    def step(self, action):
        self.at = max(0, self.at - 1) if action == 0 else self.at + 1
        done = self.at == LENGTH - 1
        return self.observe(), 1.0 if done else 0.0, done


def q_network(x, name, trainable=True):
    with tf.variable_scope(name):
        h = tf.layers.dense(x, 12, tf.nn.relu, kernel_initializer=tf.random_normal_initializer(0.0, 0.3, seed=3),
                            bias_initializer=tf.constant_initializer(0.1), trainable=trainable)
        return tf.layers.dense(h, 2, kernel_initializer=tf.random_normal_initializer(0.0, 0.3, seed=4), trainable=trainable)


s = tf.placeholder(tf.float32, [None, LENGTH], name="s")
s_ = tf.placeholder(tf.float32, [None, LENGTH], name="s_")
r = tf.placeholder(tf.float32, [None], name="r")
a = tf.placeholder(tf.int32, [None], name="a")
done_ = tf.placeholder(tf.float32, [None], name="done")
q_eval, q_next = q_network(s, "eval_net"), q_network(s_, "target_net", False)
with tf.variable_scope("q_target"):
    q_target = tf.stop_gradient(r + GAMMA * (1.0 - done_) * tf.reduce_max(q_next, axis=1, name="Qmax_s_"))
with tf.variable_scope("q_eval"):
    a_indices = tf.stack([tf.range(tf.shape(a)[0], dtype=tf.int32), a], axis=1)
    q_eval_wrt_a = tf.gather_nd(params=q_eval, indices=a_indices)
loss = tf.reduce_mean(tf.squared_difference(q_target, q_eval_wrt_a, name="TD_error"))
train_op = tf.train.RMSPropOptimizer(0.01).minimize(loss)
t_params = tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope="target_net")
e_params = tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope="eval_net/")
e_params = [v for v in e_params if "RMSProp" not in v.name]
replace = [tf.assign(t, e) for t, e in zip(t_params, e_params)]
print([v.name for v in t_params], len(e_params), len(tf.trainable_variables()))

memory, env, losses, total = collections.deque(maxlen=500), Corridor(), [], 0
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for episode in range(25):
        state, steps = env.reset(), 0
        while steps < 40:
            if np.random.uniform() < max(0.1, 1.0 - episode / 10):
                action = np.random.randint(0, 2)
            else:
                action = int(np.argmax(sess.run(q_eval, {s: state[np.newaxis]})))
            following, reward, done = env.step(action)
            memory.append((state, action, reward, following, done))
            state, steps, total = following, steps + 1, total + 1
            if total % 30 == 0:
                sess.run(replace)
            if len(memory) >= BATCH:
                b = random.sample(list(memory), BATCH)
                losses.append(sess.run([train_op, loss], {s: [t[0] for t in b], a: [t[1] for t in b], r: [t[2] for t in b],
                                                          s_: [t[3] for t in b], done_: [float(t[4]) for t in b]})[1])
            if done:
                break
    policy = np.argmax(sess.run(q_eval, {s: np.eye(LENGTH)[:-1]}), 1)
    print(policy, "%.3f" % losses[0], losses[-1] < 0.1)
