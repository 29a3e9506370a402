"""Random calls: wrong types and shapes, closed sessions, tensors of other graphs, threads, objects collected in any order. Each is answered or is an
error; the process lives. `SEQUENCES=10000 SEED=1 pytest test_random_calls.py` runs more, and repeats a run."""

import gc
import os
import pickle
import random
import threading

import numpy as np
import pytest
import thalweg as tf

SEQUENCES = int(os.environ.get("SEQUENCES", 150))
SEED = int(os.environ.get("SEED", 20))
CALLS = 12

ANSWERS = (TypeError, ValueError, LookupError, RuntimeError, AttributeError, ArithmeticError, AssertionError, MemoryError, BufferError,
           pickle.PickleError, StopIteration, tf.errors.OpError)

VALUES = [0, 1, -1, 2.5, True, None, "text", b"bytes", [], [1, 2], [[1.0], [2.0, 3.0]], (1,), {}, {"a": 1}, 2 ** 40, 2 ** 70, -0.0, float("nan"), 1j,
          np.zeros((2, 2), np.float32), np.zeros((0, 3)), np.arange(5), np.array("x"), np.array([object()]), np.float16(1), object(), tf.float32, tf.int32,
          tf.string, tf.Graph, len, slice(None), Ellipsis, np.zeros((2, 3, 4), np.int8), "float32", "add", -5, [None, 3], np.array([1, 2], ">i4")]
OPS = ["MatMul", "AddV2", "Reshape", "ConcatV2", "Relu", "StridedSlice", "Conv2D", "Pack", "Unpack", "Split", "Cast", "Sum", "Where", "GatherV2", "Const",
       "VarHandleOp", "ReadVariableOp", "AssignVariableOp", "FIFOQueueV2", "QueueSizeV2", "TensorListReserve", "RandomUniform", "Switch", "Merge", "Enter",
       "Identity", "NoOp", "Assert", "DecodeRaw", "Bincount", "PartitionedCall", "TensorArrayV3", "Nonsense", "PyFunc", "Fill", "Range", "TopKV2"]


class Sequence:
    """One sequence of calls, over what its earlier calls made."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.graphs = [tf.Graph()]
        self.things, self.sessions = [], []
        self.start()

    def start(self):
        """Tensors of both worlds that many calls can use."""
        with self.graphs[-1].as_default():
            self.things += [tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([1, 2, 0]), tf.Variable([[0.5, 1.5]]), tf.placeholder(tf.float32, [None, 2]),
                            tf.constant(True), tf.constant(["a", "b"]), tf.global_variables_initializer()]
            self.sessions.append(tf.Session())
            self.sessions[-1].run(self.things[-1])
        self.things += [tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([1, 2, 0]), tf.Variable([[0.5, 1.5]]), tf.constant(2.0)]

    def any(self):
        r = self.random
        pool = self.things if self.things and r.random() < 0.6 else VALUES
        return r.choice(pool)

    def keep(self, made):
        self.things.append(made)
        if len(self.things) > 30:
            self.things.pop(self.random.randrange(30))

    # Calls.

    def op(self):
        name = self.random.choice(OPS)
        function = getattr(tf.raw_ops, name, None) or tf.raw_ops.Relu
        given = {p: self.any() for p in function._parameters if p != "name" and (p in function._required or self.random.random() < 0.2)}
        self.keep(function(**given))

    def operator(self):
        a, b = self.any(), self.any()
        self.keep(self.random.choice([lambda: a + b, lambda: a * b, lambda: a - b, lambda: a / b, lambda: a @ b, lambda: a[b], lambda: a < b, lambda: -a,
                                      lambda: a == b, lambda: a ** b, lambda: a // b, lambda: a & b, lambda: abs(a)])())

    def plausible(self):
        """What works, if its arguments happen to go together."""
        a, b = self.tensor(), self.tensor()
        axis = self.random.choice([0, 1, -1, None, 5])
        self.keep(self.random.choice([lambda: tf.matmul(a, b), lambda: tf.concat([a, b], axis or 0), lambda: tf.stack([a, b]), lambda: a + b, lambda: a * 2,
                                      lambda: tf.reduce_mean(a, axis), lambda: tf.nn.relu(a), lambda: tf.reshape(a, [-1]), lambda: tf.transpose(a),
                                      lambda: tf.gather(a, [0]), lambda: a[0], lambda: a[..., tf.newaxis], lambda: tf.cast(a, tf.float32), lambda: a > 1,
                                      lambda: tf.layers.dense(a, 3), lambda: tf.gradients(a, b), lambda: tf.cond(a, lambda: b, lambda: b * 2),
                                      lambda: tf.while_loop(lambda v: tf.reduce_sum(v) < 9, lambda v: v + 1, [a]), lambda: tf.map_fn(lambda v: v * v, a),
                                      lambda: tf.py_func(lambda v: v, [a], a.dtype), lambda: tf.function(lambda v: v * v)(a), lambda: a.assign(b),
                                      lambda: tf.losses.mean_squared_error(a, b), lambda: tf.nn.softmax(a), lambda: tf.split(a, 2), lambda: tf.tile(a, [2, 2]),
                                      lambda: tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(a)), lambda: tf.unstack(a),
                                      lambda: tf.where(a > 1, a, b), lambda: tf.Variable(a), lambda: a.numpy(), lambda: tf.clip_by_norm(a, 1.0)])())

    def tensor(self):
        found = [t for t in self.things if isinstance(t, (tf.Tensor, tf.Variable))]
        return self.random.choice(found) if found else tf.constant(1.0)

    def taped(self):
        a, b = self.tensor(), self.tensor()
        with tf.GradientTape(persistent=True) as outer, tf.GradientTape() as inner:
            inner.watch(a), outer.watch(a)
            y = a * a + b
            first = inner.gradient(y, a)
        self.keep(first)
        self.keep(outer.gradient(first, [a, b]))

    def fetch(self):
        session, thing = self.random.choice(self.sessions or [tf.Session()]), self.tensor()
        feeds = {t: np.ones((2, 2), np.float32) for t in self.things if isinstance(t, tf.Tensor) and not hasattr(t, "numpy") and t.op.type == "Placeholder"}
        self.keep(session.run(thing, feeds, options=tf.RunOptions(timeout_in_ms=2000)))

    def function(self):
        f = self.random.choice([tf.constant, tf.convert_to_tensor, tf.reduce_sum, tf.reshape, tf.concat, tf.stack, tf.split, tf.cast, tf.where, tf.gather,
                                tf.zeros, tf.one_hot, tf.transpose, tf.matmul, tf.Variable, tf.get_variable, tf.placeholder, tf.identity, tf.range,
                                tf.nn.softmax, tf.nn.conv2d, tf.nn.dropout, tf.losses.mean_squared_error, tf.layers.dense, tf.clip_by_norm, tf.map_fn,
                                tf.group, tf.tuple, tf.random_normal, tf.expand_dims, tf.squeeze, tf.boolean_mask, tf.as_dtype, tf.TensorShape, tf.eye,
                                tf.name_scope, tf.variable_scope, tf.device, tf.control_dependencies, tf.py_func, tf.global_variables_initializer])
        self.keep(f(*[self.any() for _ in range(self.random.randrange(4))]))

    def control_flow(self):
        a, b = self.any(), self.any()
        if self.random.random() < 0.5:
            self.keep(tf.cond(a, lambda: b, lambda: self.any()))
        else:
            self.keep(tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v if b is None else b), [tf.constant(0), a]))

    def gradient(self):
        self.keep(tf.gradients(self.any(), self.any(), self.random.choice([None, self.any()])))

    def train(self):
        kind = self.random.choice([tf.train.GradientDescentOptimizer, tf.train.AdamOptimizer, tf.train.MomentumOptimizer])
        self.keep(kind(*[self.random.choice([0.1, self.any()]) for _ in range(2)]).minimize(self.any()))

    def tape(self):
        with tf.GradientTape(persistent=self.random.random() < 0.5) as tape:
            tape.watch(self.any())
            y = self.any() * self.any()
            self.keep(y)
        self.keep(tape.gradient(y, self.any()))
        self.keep(tape)

    def traced(self):
        f = tf.function(lambda x, y: x + y)
        self.keep(f(self.any(), self.any()))
        self.keep(f)

    def call(self):
        thing = self.any()
        names = [n for n in dir(thing) if not n.startswith("__") and n not in ("tofile", "dump", "fill", "resize", "close")]
        if names and type(thing).__module__.startswith("thalweg"):
            found = getattr(thing, self.random.choice(names))
            if callable(found):
                self.keep(found(*[self.any() for _ in range(self.random.randrange(3))]))

    def convert(self):
        thing = self.any()
        self.keep(self.random.choice([repr, str, np.asarray, pickle.dumps, bool, len, float, int, hash, np.from_dlpack, list, dir])(thing))

    def open(self):
        self.sessions.append(tf.Session(graph=self.random.choice(self.graphs + [None, self.any()])))

    def run(self):
        if not self.sessions:
            return self.open()
        session = self.random.choice(self.sessions)
        feeds = self.random.choice([None, {self.any_key(): self.any()}, self.any()])
        options = tf.RunOptions(timeout_in_ms=2000)
        self.keep(session.run(self.random.choice([self.any(), [self.any(), self.any()], {"k": self.any()}]), feeds, options=options))

    def any_key(self):
        key = self.any()
        try:
            hash(key)
        except TypeError:
            return "Const:0"
        return key

    def close(self):
        if self.sessions:
            self.sessions[self.random.randrange(len(self.sessions))].close()

    def drop(self):
        self.random.shuffle(self.things)
        del self.things[len(self.things) // 2:]
        if self.sessions and self.random.random() < 0.3:
            self.sessions.pop(self.random.randrange(len(self.sessions)))
        if self.random.random() < 0.1:
            gc.collect()

    def new_graph(self):
        self.graphs.append(tf.Graph())
        self.start()
        if len(self.graphs) > 3:
            self.graphs.pop(0)

    def thread(self):
        """Another thread runs what this one does not wait for."""
        if self.sessions and self.things:
            session, thing = self.random.choice(self.sessions), self.any()

            def work():
                try:
                    session.run(thing, options=tf.RunOptions(timeout_in_ms=2000))
                except ANSWERS:
                    pass

            started = threading.Thread(target=work)
            started.start()
            if self.random.random() < 0.5:
                session.close()
            started.join()

    def perform(self):
        calls = [self.plausible] * 12 + [self.fetch] * 4 + [self.taped] * 2 + [self.op] * 4 + [self.operator] * 4 + [self.function] * 6 + [self.control_flow, self.gradient, self.train, self.tape, self.traced] + [
            self.call] * 3 + [self.convert] * 2 + [self.open, self.run, self.run, self.run, self.close, self.drop, self.new_graph, self.thread]
        for _ in range(CALLS):
            call = self.random.choice(calls)
            try:
                if self.random.random() < 0.4:
                    call()
                else:
                    with self.random.choice(self.graphs).as_default():
                        call()
            except ANSWERS as e:
                str(e)


@pytest.fixture(autouse=True)
def fresh_graph():
    tf.enable_eager_execution()
    yield
    tf.disable_eager_execution()


@pytest.mark.filterwarnings("ignore")
def test_random_calls_are_answered_or_are_errors():
    for i in range(SEQUENCES):
        Sequence(SEED * 1_000_003 + i).perform()
    gc.collect()
