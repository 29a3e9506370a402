"""TensorFlow's own SyncReplicasOptimizer, in graphs that its Python client builds, on clusters of Thalweg's tasks, and of both."""

import threading

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import tensorflow_server_pb2

from clusters import Cluster, free_ports
from conftest import Server

v1 = tf.compat.v1

OURS, THEIRS = "thalweg", "tensorflow"
WORKERS, ROWS, STEPS = 2, 4, 10
CONFIG = v1.ConfigProto(operation_timeout_in_ms=60_000)


class Defined:
    """A cluster of our tasks, each configured by a ServerDef file."""

    def __init__(self, folder, jobs):
        ports = iter(free_ports(sum(jobs.values())))
        self.addresses = {job: [f"127.0.0.1:{next(ports)}" for _ in range(count)] for job, count in jobs.items()}
        self.servers = {}
        for job, addresses in self.addresses.items():
            for task in range(len(addresses)):
                definition = tensorflow_server_pb2.ServerDef(cluster=tf.train.ClusterSpec(self.addresses).as_cluster_def(), job_name=job, task_index=task, protocol="grpc")
                path = folder / f"{job}{task}.pb"
                path.write_bytes(definition.SerializeToString())
                self.servers[job, task] = Server("--server-def", path)

    def target(self, job, task):
        return f"grpc://{self.addresses[job][task]}"

    def stop(self):
        for server in self.servers.values():
            server.stop()


@pytest.fixture(params=["server defs", "their ps", "their workers"])
def cluster(request, tmp_path):
    kinds = {"their ps": (THEIRS, OURS), "their workers": (OURS, THEIRS)}.get(request.param)
    made = Cluster({"ps": [kinds[0]], "worker": [kinds[1]] * WORKERS}) if kinds else Defined(tmp_path, {"ps": 1, "worker": WORKERS})
    yield made
    made.stop()


def batch(i):
    rng = np.random.RandomState(i)
    x = rng.uniform(-1, 1, (ROWS, 3)).astype(np.float32)
    return x, (x @ [[1.0], [-2.0], [0.5]] + 0.3).astype(np.float32)


def model(resource, sparse):
    """Linear regression, optionally with an embedding that all rows look up."""
    x, y = v1.placeholder(tf.float32, [None, 3]), v1.placeholder(tf.float32, [None, 1])
    w = v1.get_variable("w", [3, 1], initializer=v1.zeros_initializer(), use_resource=resource)
    b = v1.get_variable("b", [1], initializer=v1.zeros_initializer(), use_resource=resource)
    out = tf.matmul(x, w) + b
    if sparse:
        table = v1.get_variable("table", [5, 1], initializer=v1.ones_initializer(), use_resource=resource)
        out += tf.reduce_sum(tf.gather(table, [1, 3]))
    step = v1.get_variable("global_step", [], tf.int64, v1.zeros_initializer(), trainable=False, use_resource=resource, collections=[v1.GraphKeys.GLOBAL_VARIABLES, v1.GraphKeys.GLOBAL_STEP])
    return x, y, tf.reduce_mean(tf.square(out - y)), step


def alone(sparse, make_optimizer):
    """The variables after every step of one worker on batches of all workers' rows."""
    with v1.Graph().as_default():
        x, y, loss, step = model(True, sparse)
        train = make_optimizer().minimize(loss, global_step=step)
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            losses = []
            for i in range(STEPS):
                parts = [batch(i * WORKERS + j) for j in range(WORKERS)]
                feed = {x: np.concatenate([p[0] for p in parts]), y: np.concatenate([p[1] for p in parts])}
                losses.append(session.run([loss, train], feed)[0])
            return losses, session.run(v1.trainable_variables())


class Source:
    """Dispatches each batch to the first worker that requests one."""

    def __init__(self):
        self.lock, self.next = threading.Lock(), 0

    def take(self):
        with self.lock:
            self.next += 1
            return self.next - 1


def work(cluster, task, sparse, resource, make_optimizer, source, ready, losses, found):
    is_chief = task == 0
    with v1.Graph().as_default():
        with v1.device(v1.train.replica_device_setter(cluster=cluster.addresses, worker_device=f"/job:worker/task:{task}")):
            x, y, loss, step = model(resource, sparse)
            optimizer = v1.train.SyncReplicasOptimizer(make_optimizer(), replicas_to_aggregate=WORKERS, total_num_replicas=WORKERS)
            train = optimizer.minimize(loss, global_step=step)
            runner = optimizer.get_chief_queue_runner()
            init = v1.global_variables_initializer()
            missing = optimizer.ready_for_local_init_op
            missing.mark_used()
        with v1.Session(cluster.target("worker", task), config=CONFIG) as session:
            if is_chief:
                assert session.run(missing).size > 0
                session.run(init)
                assert session.run(missing).size == 0
                session.run(optimizer.chief_init_op)
                coordinator = v1.train.Coordinator()
                runner.create_threads(session, coordinator, daemon=True, start=True)
                ready.set()
            assert ready.wait(60)
            if not is_chief:
                session.run(optimizer.local_step_init_op)
            while (i := source.take()) < STEPS * WORKERS:
                feed = dict(zip((x, y), batch(i)))
                losses[i] = session.run([loss, train], feed)[0]
            if is_chief:
                # The last step is complete when its token arrives.
                found.extend(session.run([step, v1.trainable_variables()]))
                coordinator.request_stop()


@pytest.mark.parametrize("resource", [True, False], ids=["resource variables", "reference variables"])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_the_losses_are_those_of_one_worker_with_large_batches(cluster, resource, sparse):
    make_optimizer = lambda: v1.train.MomentumOptimizer(0.1, 0.9)
    expected_losses, expected = alone(sparse, make_optimizer)
    source, ready, losses, found = Source(), threading.Event(), {}, []
    failed = []

    def run(task):
        try:
            work(cluster, task, sparse, resource, make_optimizer, source, ready, losses, found)
        except BaseException as e:  # raised by the test, not by the thread
            failed.append(e)
            ready.set()

    threads = [threading.Thread(target=run, args=(task,)) for task in range(WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    step, variables = found
    assert step == STEPS
    # The batches of a step have equally many rows: the mean of their losses is the loss of all.
    ours = [np.mean([losses[i * WORKERS + j] for j in range(WORKERS)]) for i in range(STEPS)]
    np.testing.assert_allclose(ours, expected_losses, rtol=1e-4, atol=1e-6)
    for got, want in zip(variables, expected):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
