"""Control flow of both generations, function calls, assertions and printing."""

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import function

tf1 = tf.compat.v1
raw = tf.raw_ops
TYPES = [tf.float32, tf.float64, tf.int32, tf.int64]


def switch_merge(g):
    dtype = g.pick(TYPES)
    value = g.array(dtype, g.shape(0, 2), "plain")

    def build(t):
        off, on = raw.Switch(data=t[0], pred=t[1])
        return list(raw.Merge(inputs=[raw.Mul(x=off, y=off), raw.Sub(x=on, y=on)]))

    return g.program(build, value, np.array(g.coin()))


def dead(g):
    """Fetching a dead tensor: the same error on both sides."""
    take = g.coin()

    def build(t):
        off, on = raw.Switch(data=t[0], pred=t[1])
        return [raw.Identity(input=on if take else off)]

    return g.program(build, g.array(tf.float32, (2,), "plain"), np.array(g.coin()))


def loop_v1(g):
    """Enter, Merge, LoopCond, Switch, NextIteration, Exit, as while_loop of TensorFlow 1 makes them; at times one inside another."""
    dtype = g.pick(TYPES)
    nested = g.coin(0.3)

    def build(t):
        frame = g.name()

        def loop(frame, start, limit, body):
            i = raw.Enter(data=tf.constant(0), frame_name=frame)
            x = raw.Enter(data=start, frame_name=frame)
            n = raw.Enter(data=limit, frame_name=frame, is_constant=True)
            i, _ = raw.Merge(inputs=[i, i])
            x, _ = raw.Merge(inputs=[x, x])
            go = raw.LoopCond(input=raw.Less(x=i, y=n))
            i_off, i_on = raw.Switch(data=i, pred=go)
            x_off, x_on = raw.Switch(data=x, pred=go)
            with tf1.control_dependencies([i_on]):
                one = tf.constant(1)
            i.op._update_input(1, raw.NextIteration(data=raw.Add(x=i_on, y=one)))
            x.op._update_input(1, raw.NextIteration(data=body(x_on)))
            return raw.Exit(data=i_off), raw.Exit(data=x_off)

        return list(loop(frame, t[0], t[1], lambda x: raw.Add(x=x, y=raw.Mul(x=x, y=x))))

    return g.program(build, g.array(dtype, g.shape(0, 2), "unit" if dtype.is_floating else "plain"), g.ints(0, 4), label="nested" if nested else "")


def defun(types, body):
    """A function of the graph with typed arguments."""
    return function.Defun(*types)(body)


def call(g):
    dtype = g.pick(TYPES)
    value = g.array(dtype, g.shape(0, 2), "plain")

    def build(t):
        f = defun([dtype, dtype], lambda x, y: (x * y + x, x - y))
        f.add_to_graph(tf1.get_default_graph())
        return getattr(raw, g.op)(args=[t[0], t[0]], Tout=[dtype, dtype], f=f)

    return g.program(build, value)


def branch(g):
    dtype = g.pick(TYPES)
    value = g.array(dtype, g.shape(0, 2), "plain")
    case = "Case" in g.op
    # A condition that is not a boolean is true when it is not zero, not empty.
    condition = g.ints(-1, 3) if case else g.pick([np.array(g.coin()), g.ints(0, 1), g.of(0.5, tf.float32), np.array(g.pick([b"", b"x"]), object), g.array(tf.int32, (g.int(0, 2),))])

    def build(t):
        bodies = [defun([dtype], lambda x: x + x), defun([dtype], lambda x: x * x), defun([dtype], lambda x: x - x)]
        for b in bodies:
            b.add_to_graph(tf1.get_default_graph())
        if case:
            return getattr(raw, g.op)(branch_index=t[0], input=[t[1]], Tout=[dtype], branches=bodies)
        return getattr(raw, g.op)(cond=t[0], input=[t[1]], Tout=[dtype], then_branch=bodies[0], else_branch=bodies[1])

    return g.program(build, condition, value)


def loop_v2(g):
    dtype = g.pick(TYPES)
    value = g.array(dtype, g.shape(0, 2), "unit" if dtype.is_floating else "plain")

    def build(t):
        cond = defun([tf.int32, tf.int32, dtype], lambda i, n, x: i < n)
        body = defun([tf.int32, tf.int32, dtype], lambda i, n, x: (i + 1, n, x + x * x))
        for f in (cond, body):
            f.add_to_graph(tf1.get_default_graph())
        return getattr(raw, g.op)(input=[tf.constant(0), t[0], t[1]], cond=cond, body=body)

    return g.program(build, g.ints(0, 5), value)


def for_loop(g):
    dtype = g.pick(TYPES)
    value = g.array(dtype, g.shape(0, 2), "unit" if dtype.is_floating else "plain")

    def build(t):
        body = defun([tf.int32, dtype], lambda i, x: x + tf.cast(i, dtype) * x)
        body.add_to_graph(tf1.get_default_graph())
        return raw.For(start=t[0], limit=t[1], delta=t[2], input=[t[3]], body=body)

    return g.program(build, g.ints(-1, 2), g.ints(-1, 5), g.ints(-1, 2), value)


def function_gradient(g):
    """The gradient of a function, at times of one that calls another."""
    dtype = g.pick([tf.float32, tf.float64])
    shape = g.shape(0, 2)
    nested = g.coin()

    def build(t):
        inner = function.Defun(dtype, func_name=f"inner_{g.name()}")(lambda x: tf.sin(x) * x)
        f = defun([dtype, dtype, tf.int32], lambda x, y, k: ((inner(x) if nested else tf.exp(x)) * y + tf.cast(k, dtype), x - y))
        f.add_to_graph(tf1.get_default_graph())
        types = [dtype, dtype, tf.int32]
        return raw.SymbolicGradient(input=[*t, t[0], t[1]], Tout=types, f=f)

    return g.program(build, g.array(dtype, shape, "unit"), g.array(dtype, shape, "unit"), g.ints(0, 3, shape), judge="close")


def remote(g):
    dtype = g.pick(TYPES)
    fed = g.coin(0.3)

    def build(t):
        f = defun([dtype, dtype], lambda x, y: (x * y + x, x - y))
        f.add_to_graph(tf1.get_default_graph())
        target = t[1] if fed else tf.constant("/cpu:0")
        return raw.RemoteCall(target=target, args=[t[0], t[0]], Tout=[dtype, dtype], f=f)

    return g.program(build, g.array(dtype, g.shape(0, 2), "plain"), np.array(b"/cpu:0", object))


def check(g):
    """Assert passes or fails with the same class."""
    return g.case(np.array(g.coin(0.7)), [g.array(tf.float32, g.shape(0, 2), "plain"), np.array([b"why", b""], object)], summarize=3)


def printing(g):
    return g.case(g.array(g.t(), g.shape(0, 2)), [g.array(tf.int32, (2,), "plain")], message="differential bench: ", first_n=0)


def print_v2(g):
    return g.case(g.array(tf.string, ()), output_stream="log(info)")


def nothing(g):
    def build(t):
        done = raw.NoOp() if g.op == "NoOp" else raw.ControlTrigger()
        with tf1.control_dependencies([done]):
            return [done, tf.identity(t[0])]

    return g.program(build, g.array(tf.float32, (2,), "plain"))


def time(g):
    return g.case(judge="shape")


def either(g):
    return switch_merge(g) if g.coin(0.8) else dead(g)


GENERATORS = {"Switch": either, "Merge": switch_merge, "Assert": check, "Print": printing, "PrintV2": print_v2, "Timestamp": time}
GENERATORS |= {op: loop_v1 for op in ("Enter", "Exit", "NextIteration", "LoopCond")}
GENERATORS |= {op: call for op in ("PartitionedCall", "StatefulPartitionedCall")}
GENERATORS |= {op: branch for op in ("If", "StatelessIf", "Case", "StatelessCase")} | {op: loop_v2 for op in ("While", "StatelessWhile")}
GENERATORS |= {op: nothing for op in ("NoOp", "ControlTrigger")}
GENERATORS |= {"For": for_loop, "SymbolicGradient": function_gradient, "RemoteCall": remote}
