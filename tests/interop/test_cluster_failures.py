"""Tasks that crash, hang, or are unreachable: steps fail within the timeout, with an error that names the task."""

import signal
import socket
import threading

import pytest
import tensorflow as tf

from clusters import Cluster

v1 = tf.compat.v1


@pytest.fixture
def cluster():
    made = Cluster({"ps": ["thalweg"], "worker": ["thalweg"]})
    yield made
    made.stop()


def graph():
    with v1.Graph().as_default() as g:
        with v1.device("/job:ps/task:0"):
            x = v1.placeholder(tf.float32, [])
            y = tf.square(x)
        with v1.device("/job:worker/task:0"):
            z = y + 1
    return g, x, z


def test_a_task_that_hangs_is_named_when_the_time_is_up(cluster):
    g, x, z = graph()
    with v1.Session(cluster.target("worker", 0), graph=g) as session:
        assert session.run(z, {x: 2}) == 5
        cluster.freeze("ps", 0)
        with pytest.raises(tf.errors.DeadlineExceededError, match="/job:ps/replica:0/task:0"):
            session.run(z, {x: 2}, options=v1.RunOptions(timeout_in_ms=500))
        cluster.processes["ps", 0].send_signal(signal.SIGCONT)
        assert session.run(z, {x: 3}) == 10


def test_a_task_that_hangs_for_long_counts_as_gone(cluster):
    g, x, z = graph()
    with v1.Session(cluster.target("worker", 0), graph=g) as session:
        assert session.run(z, {x: 2}) == 5
        cluster.freeze("ps", 0)
        with pytest.raises(tf.errors.UnavailableError, match="/job:ps/replica:0/task:0"):
            session.run(z, {x: 2})


def test_a_task_that_is_killed_in_the_middle_of_a_step(cluster):
    with v1.Graph().as_default() as g:
        with v1.device("/job:ps/task:0"):
            queue = v1.FIFOQueue(1, tf.float32, shared_name="never_filled")
            taken = queue.dequeue()
            size = queue.size()
        with v1.device("/job:worker/task:0"):
            y = taken + 1
    with v1.Session(cluster.target("worker", 0), graph=g) as session:
        session.run(size)
        failed = []

        def wait():
            try:
                session.run(y)
            except tf.errors.OpError as e:
                failed.append(e)

        waiting = threading.Thread(target=wait)
        waiting.start()
        cluster.processes["ps", 0].kill()
        waiting.join(timeout=60)
        assert not waiting.is_alive()
        assert isinstance(failed[0], tf.errors.UnavailableError) and "/job:ps/replica:0/task:0" in str(failed[0])


def test_an_address_that_answers_nothing():
    """A listening socket that never accepts: the kernel completes the handshake, and nothing answers."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(1)
        cluster = Cluster({"worker": ["thalweg"]})
        try:
            addresses = {"ps": ["127.0.0.1:%d" % silent.getsockname()[1]], **cluster.addresses}
            cluster.stop()
            cluster.addresses = addresses
            assert cluster.start("worker", 0).stdout.readline()
            g, x, z = graph()
            config = v1.ConfigProto(device_filters=["/job:worker"])
            with v1.Session(cluster.target("worker", 0), graph=g, config=config) as session:
                with pytest.raises(tf.errors.InvalidArgumentError, match="/job:ps"):
                    session.run(z, {x: 2})
        finally:
            cluster.stop()


def test_a_task_that_was_restarted_aborts_the_sessions_of_its_old_life(cluster):
    g, x, z = graph()
    session = v1.Session(cluster.target("worker", 0), graph=g)
    assert session.run(z, {x: 2}) == 5
    cluster.processes["ps", 0].kill()
    cluster.processes["ps", 0].wait()
    assert cluster.start("ps", 0).stdout.readline()
    with pytest.raises((tf.errors.AbortedError, tf.errors.UnavailableError)):
        session.run(z, {x: 2})
    with v1.Session(cluster.target("worker", 0), graph=g) as again:
        assert again.run(z, {x: 2}) == 5
