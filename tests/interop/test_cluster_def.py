"""Sessions whose client brings the cluster (`ConfigProto.cluster_def`): servers of ours and of TensorFlow's that were started alone."""

import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from conftest import Server

v1 = tf.compat.v1

OURS, THEIRS = "thalweg", "tensorflow"

TF_SERVER = """
import tensorflow as tf
server = tf.distribute.Server.create_local_server()
print(server.target, flush=True)
server.join()
"""


class Theirs:
    """A server of TensorFlow's own."""

    def __init__(self):
        self.process = subprocess.Popen([sys.executable, "-c", TF_SERVER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.target = self.process.stdout.readline().strip()
        assert self.target, "a server did not start"

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


MIXED = {"all ours": (OURS, OURS, OURS), "their master": (THEIRS, OURS, OURS), "our master": (OURS, THEIRS, THEIRS)}


@pytest.fixture(scope="module", params=list(MIXED))
def servers(request):
    """Servers for a master, a worker and a ps, each started alone."""
    made = [Server() if kind == OURS else Theirs() for kind in MIXED[request.param]]
    yield made
    for server in made:
        server.stop()


def address(server):
    return server.target.removeprefix("grpc://")


def open_session(servers, graph, jobs):
    config = v1.ConfigProto(cluster_def=tf.train.ClusterSpec(jobs).as_cluster_def(), operation_timeout_in_ms=60_000)
    config.experimental.collective_group_leader = "/job:worker/replica:0/task:0"
    return v1.Session(servers[0].target, graph=graph, config=config)


def test_servers_that_stand_alone_train_together(servers):
    """The same losses as in one process, with variables on what this session calls a ps."""
    xs, ys = np.random.RandomState(0).rand(16, 8).astype("f"), np.random.RandomState(1).rand(16, 2).astype("f")

    def losses(spread):
        with v1.Graph().as_default() as graph:
            setter = v1.train.replica_device_setter(ps_tasks=1, worker_device="/job:worker/task:1")
            with v1.device(setter if spread else None):
                x, y = v1.placeholder(tf.float32, [None, 8]), v1.placeholder(tf.float32, [None, 2])
                w = v1.get_variable("w", [8, 2], initializer=v1.glorot_uniform_initializer(seed=1))
                loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
                train = v1.train.AdamOptimizer(0.05).minimize(loss)
            init = v1.global_variables_initializer()
        jobs = {"worker": [address(servers[0]), address(servers[1])], "ps": [address(servers[2])]}
        with open_session(servers, graph, jobs) if spread else v1.Session(graph=graph) as session:
            if spread:
                names = {f"/job:{job}/replica:0/task:{i}/device:CPU:0" for job, tasks in jobs.items() for i in range(len(tasks))}
                assert {d.name for d in session.list_devices()} >= names
            session.run(init)
            return [session.run([loss, train], {x: xs, y: ys})[0] for _ in range(10)]

    alone = losses(False)
    assert alone[-1] < alone[0]
    np.testing.assert_allclose(losses(True), alone, rtol=1e-5)


def test_names_may_be_given_anew_with_each_session(servers):
    """Any task may have any name, the master an index other than 0, and clusters may overlap."""
    with v1.Graph().as_default() as graph:
        with v1.device("/job:a/task:1"):
            x = v1.placeholder(tf.float32, [])
            y = x + 1
        with v1.device("/job:a/task:7"):
            z = y * 2
    with open_session(servers, graph, {"a": {1: address(servers[1]), 7: address(servers[0])}}) as session:
        with open_session(servers, graph, {"a": {1: address(servers[0]), 7: address(servers[2])}}) as other:
            for i in range(3):
                assert session.run(z, {x: i}) == other.run(z, {x: i}) == 2 * (i + 1)


def test_clusters_that_make_no_sense(servers):
    with v1.Graph().as_default() as graph:
        x = tf.constant(1.0)
    master, other = address(servers[0]), address(servers[1])
    for jobs, why in [
        ({"worker": [other]}, "The master \\(current machine\\) is not included in the provided cluster_def"),
        ({"worker": [master], "ps": [master]}, "Found multiple matching tasks that correspond to"),
        ({"worker": [master, "nonsense"]}, 'Could not interpret "nonsense" as a host-port pair'),
    ]:
        with pytest.raises(tf.errors.InvalidArgumentError, match=why):
            open_session(servers, graph, jobs).run(x)
