"""Clusters of Thalweg's tasks, and of ours and TensorFlow's together, driven by a real TensorFlow client."""

import re

import numpy as np
import pytest
import tensorflow as tf

from clusters import Cluster

v1 = tf.compat.v1

OURS, THEIRS = "thalweg", "tensorflow"
CLUSTERS = {
    "all ours": ({"ps": [OURS, OURS], "worker": [OURS, OURS]}, ("worker", 0)),
    "their ps": ({"ps": [THEIRS, THEIRS], "worker": [OURS, OURS]}, ("worker", 0)),
    "their workers": ({"ps": [OURS, OURS], "worker": [THEIRS, THEIRS]}, ("worker", 0)),
    "their master": ({"ps": [OURS, OURS], "worker": [THEIRS, OURS]}, ("worker", 0)),
    "our master": ({"ps": [THEIRS, OURS], "worker": [OURS, THEIRS]}, ("worker", 0)),
}


@pytest.fixture(scope="module", params=list(CLUSTERS))
def master(request):
    """A cluster with two ps and two workers; the target of its master."""
    jobs, (job, task) = CLUSTERS[request.param]
    cluster = Cluster(jobs)
    yield cluster.target(job, task)
    cluster.stop()


CONFIG = v1.ConfigProto(operation_timeout_in_ms=60_000)


def device(name, spread):
    return v1.device(name if spread else None)


def losses(graph, make, target, steps):
    """The losses of `make(spread)`, step by step."""
    with graph.as_default():
        v1.set_random_seed(5)
        feeds, loss, train = make(target != "")
        init = v1.global_variables_initializer()
    with v1.Session(target, graph=graph, config=CONFIG) as session:
        session.run(init)
        return np.array([session.run([loss, train], feeds(i))[0] for i in range(steps)])


def same(master, make, steps=10, tolerance=1e-5):
    alone = losses(v1.Graph(), make, "", steps)
    spread = losses(v1.Graph(), make, master, steps)
    assert np.all(np.isfinite(alone)) and alone[-1] < alone[0]
    np.testing.assert_allclose(spread, alone, rtol=tolerance)


def data(*shape, seed=0):
    return np.random.RandomState(seed).rand(*shape).astype("float32")


def test_the_lectures_program(master):
    """weights_1 and weights_2 on two ps, the layers on two workers."""
    images, labels = data(32, 784), np.random.RandomState(1).randint(0, 10, 32)

    def make(spread):
        normal = v1.random_normal_initializer(stddev=0.1, seed=3)
        with device("/job:ps/task:0", spread):
            weights_1 = v1.get_variable("weights_1", [784, 100], initializer=normal)
            biases_1 = v1.get_variable("biases_1", [100], initializer=v1.zeros_initializer())
        with device("/job:ps/task:1", spread):
            weights_2 = v1.get_variable("weights_2", [100, 10], initializer=normal)
            biases_2 = v1.get_variable("biases_2", [10], initializer=v1.zeros_initializer())
        with device("/job:worker/task:0", spread):
            x, y = v1.placeholder(tf.float32, [None, 784]), v1.placeholder(tf.int64, [None])
            layer_1 = tf.nn.relu(tf.matmul(x, weights_1) + biases_1)
        with device("/job:worker/task:1", spread):
            logits = tf.matmul(layer_1, weights_2) + biases_2
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
        train = v1.train.GradientDescentOptimizer(0.02).minimize(loss)
        return lambda i: {x: images, y: labels}, loss, train

    same(master, make, steps=30)


def test_resource_variables_and_adam(master):
    images, targets = data(16, 20), data(16, 3, seed=2)

    def make(spread):
        setter = v1.train.replica_device_setter(ps_tasks=2, worker_device="/job:worker/task:1")
        with v1.device(setter if spread else None):
            x, y = v1.placeholder(tf.float32, [None, 20]), v1.placeholder(tf.float32, [None, 3])
            w = v1.get_variable("w", [20, 3], initializer=v1.glorot_uniform_initializer(seed=1), use_resource=True)
            b = v1.get_variable("b", [3], initializer=v1.zeros_initializer(), use_resource=True)
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b - y))
            train = v1.train.AdamOptimizer(0.01).minimize(loss, global_step=v1.train.get_or_create_global_step())
        return lambda i: {x: images, y: targets}, loss, train

    same(master, make)


def test_a_convolutional_net(master):
    images, labels = data(8, 14, 14, 1), np.random.RandomState(3).randint(0, 10, 8)

    def make(spread):
        setter = v1.train.replica_device_setter(ps_tasks=2, worker_device="/job:worker/task:1")
        with v1.device(setter if spread else None):
            x, y = v1.placeholder(tf.float32, [None, 14, 14, 1]), v1.placeholder(tf.int64, [None])
            normal = v1.truncated_normal_initializer(stddev=0.1, seed=7)
            k = v1.get_variable("k", [5, 5, 1, 8], initializer=normal)
            h = tf.nn.max_pool2d(tf.nn.relu(tf.nn.conv2d(x, k, 1, "SAME")), 2, 2, "SAME")
            w = v1.get_variable("w", [7 * 7 * 8, 10], initializer=normal)
            logits = tf.matmul(tf.reshape(h, [-1, 7 * 7 * 8]), w)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
            train = v1.train.MomentumOptimizer(0.05, 0.9).minimize(loss)
        return lambda i: {x: images, y: labels}, loss, train

    same(master, make)


@pytest.fixture
def v1_control_flow():
    v1.disable_control_flow_v2()
    yield
    v1.enable_control_flow_v2()


def test_an_lstm_whose_loop_spans_tasks(master, v1_control_flow):
    """The product is computed on one worker in each iteration of a loop on another; the gradient flows through both."""
    sequences, targets = data(4, 6, 5), data(4, 8, seed=4)

    def make(spread):
        with device("/job:ps/task:0", spread):
            initializer = v1.glorot_uniform_initializer(seed=2)
            # TensorFlow's master rejects a resource that is read inside a loop on another task.
            kernel = v1.get_variable("kernel", [13, 32], initializer=initializer, use_resource=False)
        with device("/job:worker/task:1", spread):
            x, y = v1.placeholder(tf.float32, [4, 6, 5]), v1.placeholder(tf.float32, [4, 8])
            steps = v1.TensorArray(tf.float32, 6).unstack(tf.transpose(x, [1, 0, 2]))

            def body(i, c, h):
                inputs = tf.concat([steps.read(i), h], 1)
                with device("/job:worker/task:0", spread):
                    gates = tf.matmul(inputs, kernel)
                a, f, o, g = tf.split(gates, 4, axis=1)
                c = tf.sigmoid(f) * c + tf.sigmoid(a) * tf.tanh(g)
                return i + 1, c, tf.sigmoid(o) * tf.tanh(c)

            start = (tf.constant(0), tf.zeros([4, 8]), tf.zeros([4, 8]))
            _, _, h = v1.while_loop(lambda i, c, h: i < 6, body, start)
            loss = tf.reduce_mean(tf.square(h - y))
            train = v1.train.GradientDescentOptimizer(0.5).minimize(loss)
        return lambda i: {x: sequences, y: targets}, loss, train

    same(master, make)


def test_a_cond_whose_branches_are_on_two_tasks(master, v1_control_flow):
    with v1.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [])

        def on(task, value):
            with v1.device(task):
                return tf.square(value)

        y = v1.cond(x > 0, lambda: on("/job:ps/task:0", x), lambda: on("/job:worker/task:1", x) + 1)
    with v1.Session(master, graph=graph, config=CONFIG) as session:
        assert session.run(y, {x: 3}) == 9
        assert session.run(y, {x: -3}) == 10


def test_an_error_names_the_task_it_came_from(master):
    with v1.Graph().as_default() as graph:
        with v1.device("/job:ps/task:1"):
            v = v1.get_variable("never_set", [])
        with v1.device("/job:worker/task:1"):
            y = v + 1
    with v1.Session(master, graph=graph, config=CONFIG) as session:
        with pytest.raises(tf.errors.FailedPreconditionError) as e:
            session.run(y)
        assert "/job:ps/replica:0/task:1" in str(e.value) and "never_set" in str(e.value)


def test_partial_runs_over_tasks(master):
    with v1.Graph().as_default() as graph:
        with v1.device("/job:ps/task:0"):
            a = v1.placeholder(tf.float32, [])
            r1 = a + 1
        with v1.device("/job:worker/task:1"):
            b = v1.placeholder(tf.float32, [])
            r2 = r1 * b
    with v1.Session(master, graph=graph, config=CONFIG) as session:
        run = session.partial_run_setup([r1, r2], [a, b])
        first = session.partial_run(run, r1, {a: 2})
        assert first == 3
        assert session.partial_run(run, r2, {b: 10}) == 30
        # The step ends between the calls: its tensors were gone with it.
        for _ in range(10):
            run = session.partial_run_setup([r1, r2], [a, b])
            assert session.partial_run(run, r1, {a: 2, b: 10}) == 3
            assert session.partial_run(run, r2) == 30


@pytest.mark.parametrize("ps, worker", [(OURS, THEIRS), (THEIRS, OURS), (OURS, OURS)])
def test_a_traced_step_tells_of_the_tensors_that_came_from_other_tasks(ps, worker):
    """Masters collect the transfers of workers; ours are in TensorFlow's format."""
    cluster = Cluster({"ps": [ps], "worker": [worker]})
    try:
        with v1.Graph().as_default() as graph:
            with v1.device("/job:worker/task:0"):
                x = v1.placeholder(tf.float32, [100])
                y = x + 1
            with v1.device("/job:ps/task:0"):
                z = tf.reduce_sum(y)
            with v1.device("/job:worker/task:0"):
                total = z + 1
        with v1.Session(cluster.target("worker", 0), graph=graph, config=CONFIG) as session:
            told = v1.RunMetadata()
            options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)
            session.run(total, {x: np.ones(100)}, options=options, run_metadata=told)
        found = {d.device: n for d in told.step_stats.dev_stats for n in d.node_stats if n.node_name == "RecvTensor"}
        ps, worker = (f"/job:{job}/replica:0/task:0/device:CPU:0" for job in ("ps", "worker"))
        for to, source, size in [(ps, worker, 400), (worker, ps, 4)]:
            node = found[to]
            assert re.fullmatch(rf"\[{size}B\] \[\d+\.\d{{6}}Mb/s\] edge_\d+_\w+ from {source} to {to}", node.timeline_label)
            assert node.output[0].tensor_description.allocation_description.requested_bytes == size
            assert node.all_end_rel_micros > 0
    finally:
        cluster.stop()
