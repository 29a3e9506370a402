"""Steps that move hundreds of tensors between tasks, as real models do: a ResNet has 160 variables."""

import threading

import pytest
import tensorflow as tf

from clusters import Cluster

v1 = tf.compat.v1
LIMIT = v1.RunOptions(timeout_in_ms=120_000)


def model(count, ps, sparse):
    """Variables distributed over the ps tasks; a worker sums all of them, and updates each by its value."""
    with v1.Graph().as_default() as g:
        placed = v1.train.replica_device_setter(ps_tasks=ps, worker_device="/job:worker/task:0")
        with v1.device(placed):
            made = [v1.get_variable(f"v{i}", [2, 3], initializer=v1.ones_initializer()) for i in range(count)]
            with v1.device("/job:worker/task:0"):
                row = tf.constant([1])
            read = [tf.gather(v, row) if sparse else v.read_value() if hasattr(v, "read_value") else v for v in made]
            with v1.device("/job:worker/task:0"):
                total = tf.add_n([tf.reduce_sum(r) for r in read])
                deltas = [r * 2.0 for r in read]
            if sparse:
                updates = [v1.scatter_add(v, row, d) for v, d in zip(made, deltas)]
            else:
                updates = [v1.assign_add(v, d) for v, d in zip(made, deltas)]
            update = tf.group(*updates)
            init = v1.global_variables_initializer()
    return g, init, update, total


@pytest.mark.parametrize(
    "count, ps, sparse",
    [(127, 1, False), (128, 1, False), (129, 1, True), (600, 2, False), (600, 1, True), (2000, 1, False), (5000, 1, False), (5000, 2, False)],
)
def test_variables_of_one_step_of_any_number(count, ps, sparse):
    cluster = Cluster({"ps": ["thalweg"] * ps, "worker": ["thalweg"]})
    try:
        g, init, update, total = model(count, ps, sparse)
        with v1.Session(cluster.target("worker", 0), graph=g) as session:
            session.run(init, options=LIMIT)
            elements = 3 if sparse else 6
            assert session.run(total, options=LIMIT) == elements * count
            session.run(update, options=LIMIT)
            assert session.run(total, options=LIMIT) == 3 * elements * count
    finally:
        cluster.stop()


def test_a_ps_killed_while_hundreds_of_variables_are_read_ends_the_step():
    cluster = Cluster({"ps": ["thalweg"] * 2, "worker": ["thalweg"]})
    try:
        g, init, update, total = model(600, 2, False)
        with v1.Session(cluster.target("worker", 0), graph=g) as session:
            session.run(init, options=LIMIT)
            failed = []

            def train():
                try:
                    while True:
                        session.run([total, update], options=LIMIT)
                except tf.errors.OpError as e:
                    failed.append(e)

            training = threading.Thread(target=train)
            training.start()
            cluster.processes["ps", 1].kill()
            training.join(timeout=60)
            assert not training.is_alive()
            assert isinstance(failed[0], (tf.errors.UnavailableError, tf.errors.AbortedError, tf.errors.CancelledError)), failed
    finally:
        cluster.stop()
