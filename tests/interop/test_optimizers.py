"""Our optimizers against TensorFlow's own, step by step: values and names of variables and slots, on a dense and two sparse gradients."""

import subprocess

import numpy as np
import pytest
import tensorflow as tf
from conftest import ROOT, TARGET
from tensorflow.core.framework import graph_pb2

tf1 = tf.compat.v1

STEPS = 20
TYPES = {"double": np.float64, "float": np.float32}
# Doubles elementwise. Floats differ by the order of roundings, accumulated over 20 steps: relative to the largest element.
TOLERANCE = {"double": 1e-6, "float": 2e-5}


class AdaMax(tf1.train.AdamOptimizer):
    """TensorFlow has the dense rule but no optimizer of it left; this is the one of Kingma and Ba, rows by their own moments."""

    def __init__(self, rate):
        super().__init__(rate, name="AdaMax")

    def _create_slots(self, var_list):
        first = min(var_list, key=lambda v: v.name)
        self._create_non_slot_variable(initial_value=self._beta1, name="beta1_power", colocate_with=first)
        for v in var_list:
            self._zeros_slot(v, "m", self._name)
            self._zeros_slot(v, "v", self._name)

    def _settings(self, dtype):
        power = self._get_non_slot_variable("beta1_power", graph=tf1.get_default_graph())
        return [tf.cast(x, dtype) for x in (power, self._lr_t, self._beta1_t, self._beta2_t, self._epsilon_t)]

    def _resource_apply_dense(self, grad, var):
        power, lr, beta1, beta2, epsilon = self._settings(grad.dtype)
        m, v = self.get_slot(var, "m").handle, self.get_slot(var, "v").handle
        return tf.raw_ops.ResourceApplyAdaMax(
            var=var.handle, m=m, v=v, beta1_power=power, lr=lr, beta1=beta1, beta2=beta2, epsilon=epsilon, grad=grad
        )

    def _resource_apply_sparse(self, grad, var, indices):
        power, lr, beta1, beta2, epsilon = self._settings(grad.dtype)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        new_m = beta1 * tf.gather(m, indices) + (1 - beta1) * grad
        new_v = tf.maximum(beta2 * tf.gather(v, indices), tf.abs(grad))
        with tf.control_dependencies([new_m, new_v]):
            puts = [m.scatter_update(tf.IndexedSlices(new_m, indices)), v.scatter_update(tf.IndexedSlices(new_v, indices))]
        step = lr / (1 - power) * new_m / (new_v + epsilon)
        return tf.group(var.scatter_sub(tf.IndexedSlices(step, indices)), *puts)

    def _finish(self, update_ops, name_scope):
        with tf.control_dependencies(update_ops):
            power = self._get_non_slot_variable("beta1_power", graph=tf1.get_default_graph())
            done = power.assign(power * self._beta1_t)
        return tf.group(*update_ops, done, name=name_scope)


def minimize(make):
    return lambda loss, step, dtype: make(step, dtype).minimize(loss, global_step=step)


def averaged(loss, step, dtype):
    train = tf1.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)
    with tf.control_dependencies([train]):
        return tf1.train.ExponentialMovingAverage(0.9, num_updates=step.read_value()).apply(tf1.trainable_variables())


# As in crates/train/examples/optimizers.rs.
CASES = {
    "GradientDescent": minimize(lambda step, t: tf1.train.GradientDescentOptimizer(0.1)),
    "ProximalGradientDescent": minimize(
        lambda step, t: tf1.train.ProximalGradientDescentOptimizer(*(tf.constant(v, t) for v in (0.05, 0.01, 0.02)))
    ),
    "Momentum": minimize(lambda step, t: tf1.train.MomentumOptimizer(0.05, 0.9)),
    "Nesterov": minimize(lambda step, t: tf1.train.MomentumOptimizer(0.05, 0.9, use_nesterov=True, use_locking=True)),
    "Adagrad": minimize(lambda step, t: tf1.train.AdagradOptimizer(0.3)),
    "AdagradDA": minimize(
        lambda step, t: tf1.train.AdagradDAOptimizer(0.3, step, l1_regularization_strength=0.01, l2_regularization_strength=0.02)
    ),
    "ProximalAdagrad": minimize(
        lambda step, t: tf1.train.ProximalAdagradOptimizer(
            tf.constant(0.3, t), l1_regularization_strength=tf.constant(0.01, t), l2_regularization_strength=tf.constant(0.02, t)
        )
    ),
    "Adadelta": minimize(lambda step, t: tf1.train.AdadeltaOptimizer(1.0, rho=0.9, epsilon=1e-4)),
    "Adam": minimize(lambda step, t: tf1.train.AdamOptimizer(0.05)),
    "AdaMax": minimize(lambda step, t: AdaMax(0.05)),
    "RMSProp": minimize(lambda step, t: tf1.train.RMSPropOptimizer(0.02, momentum=0.5, epsilon=1e-3)),
    "CenteredRMSProp": minimize(lambda step, t: tf1.train.RMSPropOptimizer(0.02, decay=0.8, epsilon=1e-3, centered=True)),
    "Ftrl": minimize(
        lambda step, t: tf1.train.FtrlOptimizer(0.3, l1_regularization_strength=0.01, l2_regularization_strength=0.02)
    ),
    "FtrlV2": minimize(
        lambda step, t: tf1.train.FtrlOptimizer(
            0.3,
            learning_rate_power=-0.6,
            initial_accumulator_value=0.2,
            l1_regularization_strength=0.01,
            l2_regularization_strength=0.02,
            l2_shrinkage_regularization_strength=0.03,
            beta=0.1,
        )
    ),
    "Decayed": minimize(
        lambda step, t: tf1.train.GradientDescentOptimizer(tf1.train.exponential_decay(0.1, step, 5, 0.9))
    ),
    "Averaged": averaged,
}


def data(dtype, dims, seed):
    return np.array([((i * 7 + seed * 5) % 11) / 10 - 0.5 for i in range(np.prod(dims))], dtype).reshape(dims)


def problem(dtype):
    def variable(name, *dims, seed):
        return tf1.get_variable(name, initializer=data(dtype, dims, seed), use_resource=True)

    w, rows, singles = variable("w", 3, 2, seed=1), variable("rows", 6, 2, seed=2), variable("singles", 6, seed=3)
    guess = tf.matmul(data(dtype, (4, 3), 4), w)
    few, fewer = tf.gather(rows, [1, 3, 1, 5, 3, 1]), tf.gather(singles, np.array([2, 2, 0, 4]))
    parts = [(guess, (4, 2), 5), (few, (6, 2), 6), (fewer, (4,), 7)]
    return tf.add_n([tf.reduce_sum((x - data(dtype, dims, seed)) ** 2) for x, dims, seed in parts])


def run_steps(init, train, reads):
    """Values of all variables before the first step and after each."""
    with tf1.Session() as session:
        session.run(init)
        history = [session.run(reads)]
        for _ in range(STEPS):
            session.run(train)
            history.append(session.run(reads))
    return history


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    """The directory that the example wrote graphs and values to."""
    path = tmp_path_factory.mktemp("optimizers")
    subprocess.run([TARGET / "examples" / "optimizers", str(path)], cwd=ROOT, check=True)
    return path


def values_of(path):
    """Names in order, and for each step the values."""
    history = [[] for _ in range(STEPS + 1)]
    names = []
    for line in path.read_text().splitlines():
        step, name, *numbers = line.split()
        history[int(step)].append([float(x) for x in numbers])
        if step == "0":
            names.append(name)
    return names, history


def compare(names, ours, theirs, kind, what):
    wrong = []
    for step, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        for name, x, y in zip(names, a, b, strict=True):
            x, y = np.ravel(x).astype(np.float64), np.ravel(y).astype(np.float64)
            assert np.isfinite(x).all(), f"{what}: {name} after step {step} is {x}"
            scale = np.abs(y) if kind == "double" else np.abs(y).max()
            if (np.abs(x - y) > TOLERANCE[kind] * scale).any():
                wrong.append(f"{what}, step {step}, {name}: {x}, TensorFlow {y}")
    assert not wrong, "\n".join(wrong[:5])


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", CASES)
def test_steps_equal_those_of_tensorflows_optimizer(name, kind, ours):
    with tf1.Graph().as_default():
        loss = problem(TYPES[kind])
        step = tf1.train.get_or_create_global_step()
        train = CASES[name](loss, step, tf.as_dtype(TYPES[kind]))
        variables = tf1.global_variables()
        theirs = run_steps(tf1.global_variables_initializer(), train, variables)
        their_names = [v.op.name for v in variables]
    names, history = values_of(ours / f"{name}_{kind}.txt")
    assert names == their_names
    assert np.abs(np.ravel(theirs[0][0]) - np.ravel(theirs[-1][0])).max() > 1e-3
    compare(names, history, theirs, kind, "Thalweg's optimizer run by Thalweg")


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", CASES)
def test_our_graph_runs_alike_in_tensorflow(name, kind, ours):
    names, history = values_of(ours / f"{name}_{kind}.txt")
    with tf1.Graph().as_default() as graph:
        tf.import_graph_def(graph_pb2.GraphDef.FromString((ours / f"{name}_{kind}.pb").read_bytes()), name="")
        init, train = (graph.get_operation_by_name(n) for n in ("init", "train"))
        theirs = run_steps(init, train, [f"{n}/Read/ReadVariableOp:0" for n in names])
        locking = {n.get_attr("use_locking") for n in graph.get_operations() if "Apply" in n.type and n.type.startswith("Resource")}
        assert locking <= {name == "Nesterov"}
    compare(names, history, theirs, kind, "our graph run by TensorFlow")


def test_schedules_equal_tensorflows(ours):
    train = tf1.train
    theirs = {
        "exponential": lambda s: train.exponential_decay(0.1, s, 7, 0.5),
        "staircase": lambda s: train.exponential_decay(0.1, s, 7, 0.5, staircase=True),
        "natural": lambda s: train.natural_exp_decay(0.1, s, 7, 0.5),
        "inverse": lambda s: train.inverse_time_decay(0.1, s, 7, 0.5, staircase=True),
        "piecewise": lambda s: train.piecewise_constant(s, [5, 12], [0.3, 0.2, 0.1]),
        "polynomial": lambda s: train.polynomial_decay(0.1, s, 9, 0.01, 0.5),
        "cycle": lambda s: train.polynomial_decay(0.1, s, 9, 0.01, 0.5, cycle=True),
        "cosine": lambda s: train.cosine_decay(0.1, s, 20, 0.1),
        "restarts": lambda s: train.cosine_decay_restarts(0.1, s, 3.5, 1.5, 0.9, 0.05),
        "restarts_alike": lambda s: train.cosine_decay_restarts(0.1, s, 6.5, 1.0, 0.9, 0.05),
        "linear_cosine": lambda s: train.linear_cosine_decay(0.1, s, 20, 2.5, 0.1, 0.01),
    }
    lines = [line.split() for line in (ours / "schedules.txt").read_text().splitlines()]
    assert {name for _, name, _ in lines} == set(theirs)
    with tf1.Graph().as_default():
        step = tf1.placeholder(tf.int64, [])
        rates = {name: make(step) for name, make in theirs.items()}
        with tf1.Session() as session:
            for at, name, rate in lines:
                expected = session.run(rates[name], {step: int(at)})
                assert abs(float(rate) - expected) <= 2e-6 * expected, f"{name} at step {at}: {rate}, TensorFlow {expected}"
