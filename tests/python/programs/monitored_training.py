"""A monitored session with hooks of the library and of our own; it goes on from its checkpoint."""
import glob
import os
import tempfile

import numpy as np
import thalweg as tf


class Tells(tf.train.SessionRunHook):
    def begin(self):
        print("begin")
        self.step, self.runs = tf.train.get_global_step(), 0

    def after_create_session(self, session, coord):
        print("created at", session.run(self.step))

    def before_run(self, run_context):
        self.runs += 1
        return tf.train.SessionRunArgs({"loss": loss})

    def after_run(self, run_context, run_values):
        if self.runs % 4 == 0:
            print("after_run %d %.3f" % (self.runs, run_values.results["loss"]), run_context.original_args.fetches is not None)

    def end(self, session):
        print("end at", session.run(self.step))


def train(folder, last):
    global loss
    with tf.Graph().as_default():
        data = tf.constant(np.linspace(0, 1, 20, dtype=np.float32))
        w = tf.get_variable("w", [], initializer=tf.zeros_initializer())
        loss = tf.reduce_mean(tf.square(data * w - 3 * data))
        step = tf.train.get_or_create_global_step()
        op = tf.train.GradientDescentOptimizer(0.3).minimize(loss, global_step=step)
        tf.summary.scalar("loss", loss)
        hooks = [tf.train.StopAtStepHook(last_step=last), tf.train.NanTensorHook(loss), Tells()]
        with tf.train.MonitoredTrainingSession(checkpoint_dir=folder, hooks=hooks, save_checkpoint_steps=5, save_summaries_steps=2,
                                               log_step_count_steps=None) as sess:
            while not sess.should_stop():
                sess.run(op)


with tempfile.TemporaryDirectory() as folder:
    train(folder, 8)
    print(os.path.basename(tf.train.latest_checkpoint(folder)))
    train(folder, 12)
    print(os.path.basename(tf.train.latest_checkpoint(folder)), "%.4f" % tf.train.load_variable(folder, "w"))
    steps = sorted(e.step for f in glob.glob(os.path.join(folder, "events*")) for e in tf.train.summary_iterator(f)
                   if any(v.tag == "loss" for v in e.summary.value))
    print(steps)

with tf.Graph().as_default():
    numbers = tf.data.make_one_shot_iterator(tf.data.Dataset.range(3)).get_next()
    with tf.train.MonitoredSession() as sess:
        while not sess.should_stop():
            print(sess.run(numbers))
    bad = tf.log(tf.constant(-1.0))
    try:
        with tf.train.SingularMonitoredSession(hooks=[tf.train.NanTensorHook(bad)]) as sess:
            sess.run(bad)
    except tf.train.NanLossDuringTrainingError as e:
        print("nan:", e)
