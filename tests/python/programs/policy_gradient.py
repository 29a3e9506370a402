"""Policy gradients (REINFORCE) on a bandit whose best arm depends on the state."""
import numpy as np
import thalweg as tf

np.random.seed(2)
states, actions = 3, 4
best = np.array([2, 0, 3])


class Agent:
    def __init__(self, lr, s_size, a_size):
        self.state_in = tf.placeholder(shape=[None], dtype=tf.int32)
        one_hot = tf.one_hot(self.state_in, s_size)
        hidden = tf.layers.dense(one_hot, 8, activation=tf.nn.relu, use_bias=False, kernel_initializer=tf.glorot_uniform_initializer(seed=1))
        self.output = tf.layers.dense(hidden, a_size, activation=tf.nn.softmax, use_bias=False,
                                      kernel_initializer=tf.glorot_uniform_initializer(seed=2))
        self.chosen_action = tf.argmax(self.output, 1)
        self.reward_holder = tf.placeholder(shape=[None], dtype=tf.float32)
        self.action_holder = tf.placeholder(shape=[None], dtype=tf.int32)
        indexes = tf.range(0, tf.shape(self.output)[0]) * tf.shape(self.output)[1] + self.action_holder
        self.responsible_outputs = tf.gather(tf.reshape(self.output, [-1]), indexes)
        self.loss = -tf.reduce_mean(tf.log(self.responsible_outputs) * self.reward_holder)
        tvars = tf.trainable_variables()
        self.gradient_holders = [tf.placeholder(tf.float32, name="%d_holder" % i) for i, _ in enumerate(tvars)]
        self.gradients = tf.gradients(self.loss, tvars)
        self.update_batch = tf.train.AdamOptimizer(learning_rate=lr).apply_gradients(zip(self.gradient_holders, tvars))


agent = Agent(0.02, states, actions)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    buffer = [np.zeros_like(v) for v in sess.run(tf.trainable_variables())]
    rewards = []
    for episode in range(200):
        state = np.random.randint(states)
        p = sess.run(agent.output, {agent.state_in: [state]})[0].astype(np.float64)
        action = np.random.choice(actions, p=p / p.sum())
        reward = 1.0 if action == best[state] else -0.2
        rewards.append(reward)
        feed = {agent.state_in: [state], agent.action_holder: [action], agent.reward_holder: [reward]}
        for i, g in enumerate(sess.run(agent.gradients, feed)):
            buffer[i] += g
        if episode % 5 == 0:
            sess.run(agent.update_batch, dict(zip(agent.gradient_holders, buffer)))
            buffer = [g * 0 for g in buffer]
        if episode % 50 == 49:
            print(episode, "%.2f" % np.mean(rewards[-50:]))
    print(sess.run(agent.chosen_action, {agent.state_in: np.arange(states)}))
