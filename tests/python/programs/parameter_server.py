"""Between-graph replication: a parameter server and two workers, each a process of its own."""
import socket
import subprocess
import sys

import numpy as np
import thalweg as tf


def main(job, task, hosts):
    cluster = tf.train.ClusterSpec({"ps": hosts[:1], "worker": hosts[1:]})
    server = tf.train.Server(cluster, job_name=job, task_index=task)
    if job == "ps":
        server.join()
    with tf.device(tf.train.replica_device_setter(worker_device="/job:worker/task:%d" % task, cluster=cluster)):
        x = tf.placeholder(tf.float32, [None, 2])
        y = tf.placeholder(tf.float32, [None])
        w = tf.get_variable("w", [2, 1], initializer=tf.zeros_initializer())
        b = tf.get_variable("b", [], initializer=tf.zeros_initializer())
        loss = tf.reduce_mean(tf.square(tf.squeeze(tf.matmul(x, w), 1) + b - y))
        global_step = tf.train.get_or_create_global_step()
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=global_step)
    if task == 0:
        print(w.device, b.device, global_step.device, x.device)
    draw = np.random.RandomState(task)
    hooks = [tf.train.StopAtStepHook(last_step=400)]
    config = tf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:%d" % task])
    with tf.train.MonitoredTrainingSession(master=server.target, is_chief=(task == 0), hooks=hooks, config=config) as sess:
        while not sess.should_stop():
            batch = draw.rand(32, 2)
            sess.run(train, {x: batch, y: batch @ [2.0, -3.0] + 1.0})
    with tf.Session(server.target, config=config) as sess:
        weights, bias, steps = sess.run([w, b, global_step])
    print("worker %d:" % task, np.round(weights.ravel()).tolist(), np.round(bias), steps >= 400)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
        sys.exit()
    sockets = [socket.socket() for _ in range(3)]
    for s in sockets:
        s.bind(("localhost", 0))
    hosts = ["localhost:%d" % s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    ps, *workers = [subprocess.Popen([sys.executable, __file__, job, task] + hosts, stdout=subprocess.PIPE, text=True)
                    for job, task in (("ps", "0"), ("worker", "0"), ("worker", "1"))]
    for worker in workers:
        print(worker.communicate()[0], end="")
    ps.kill()
    ps.wait()
    print([worker.returncode for worker in workers])
