"""Staging areas, staging maps, barriers, mutexes: programs whose requests never have to wait."""

import tensorflow as tf

from .containers import after

tf1 = tf.compat.v1
raw = tf.raw_ops
TYPES = [tf.float32, tf.int64, tf.string, tf.bool, tf.complex64, tf.float16]


class Steps:
    """Ops of one resource, each after the one before it."""

    def __init__(self):
        self.last, self.out = [], []

    def do(self, op, **kwargs):
        made = after(self.last, lambda: getattr(raw, op)(**kwargs))
        tensors = [made] if isinstance(made, tf.Operation) or tf.is_tensor(made) else tf.nest.flatten(made)
        self.last = [tensors[-1] if isinstance(tensors[-1], tf.Operation) else tensors[-1].op]
        self.out += [t for t in tensors if not isinstance(t, tf.Operation)]
        return made


def stage(g):
    types, n = [g.pick(TYPES) for _ in range(g.int(1, 2))], g.int(1, 3)
    batch = [g.array(t, (n,) + g.shape(0, 2), "plain") for t in types]
    # With more than one, the second could wait for room for ever.
    at, limit = g.int(0, n - 1), 4 if n == 1 and g.coin(0.3) else 0

    def build(t):
        s, attrs = Steps(), {"shared_name": g.name(), "container": "", "capacity": n, "memory_limit": limit}
        for i in range(n):
            s.do("Stage", values=[x[i] for x in t], **attrs)
        s.do("StageSize", dtypes=types, **attrs)
        s.do("StagePeek", index=at, dtypes=types, **attrs)
        s.do("Unstage", dtypes=types, **attrs)
        s.do("StageClear", dtypes=types, **attrs)
        s.do("StageSize", dtypes=types, **attrs)
        return s.out

    return g.program(build, *batch)


def map_stage(g):
    """The tuples of some keys, whole or in parts, and out again. One key at a time: the order of an unordered map is unspecified."""
    types, keys = [g.pick(TYPES) for _ in range(g.int(1, 3))], g.rng.permutation(9)[: g.int(1, 3)]
    ordered = g.op.startswith("Ordered")
    values = [g.array(t, (len(keys),) + g.shape(0, 2), "plain") for t in types]
    parts = [g.coin() for _ in keys]
    wrong = g.coin(0.1)
    without_key = g.op.endswith("NoKey") and (ordered or len(keys) == 1)

    def build(t):
        s, attrs = Steps(), {"dtypes": types, "shared_name": g.name(), "container": "", "capacity": 9}
        name = "OrderedMap" if ordered else "Map"
        places = list(range(len(types)))
        for i, key in enumerate(keys):
            groups = [[p] for p in places] if parts[i] else [places]
            for group in groups:
                s.do(name + "Stage", key=tf.constant(key, tf.int64), indices=tf.constant(group), values=[t[p][i] for p in group], **attrs)
                s.do(name + "IncompleteSize", **attrs)
        s.do(name + "Size", **attrs)
        key = tf.constant(keys[0], tf.int64)
        s.do(name + "Peek", key=key, indices=tf.constant(places), **attrs)
        if without_key:
            s.do(name + "UnstageNoKey", indices=tf.constant(places), **attrs)
        else:
            part = {**attrs, "dtypes": types[:1]}
            s.do(name + "Unstage", key=key, indices=tf.constant([len(types) + 3 if wrong else 0]), **part)
        s.do(name + "Size", **attrs)
        s.do(name + "Clear", **attrs)
        s.do(name + "Size", **attrs)
        return s.out

    return g.program(build, *values)


def barrier(g):
    """Components in any order, one key at a time: TensorFlow leaves the order of keys of one insertion open."""
    types = [g.pick(TYPES) for _ in range(g.int(1, 2))]
    shapes = [g.shape(0, 2, zeros=False) for _ in types]
    n = g.int(1, 3)
    values = [g.array(t, (n,) + s, "plain") for t, s in zip(types, shapes)]
    # Every key begins with component 0, so that the order of insertions is that of the keys.
    later = [(i, c) for c in range(1, len(types)) for i in g.rng.permutation(n)]
    wrong, cancel = g.coin(0.1), g.coin()

    def build(t):
        s = Steps()
        handle = raw.Barrier(component_types=types, shapes=shapes, shared_name=g.name(), container="")
        for i, c in [(i, 0) for i in range(n)] + later:
            s.do("BarrierInsertMany", handle=handle, keys=tf.constant([f"key{i}"]), component_index=c, values=t[c][i : i + 1])
            s.do("BarrierIncompleteSize", handle=handle)
        if wrong:
            s.do("BarrierInsertMany", handle=handle, keys=tf.constant(["x"]), component_index=len(types), values=t[0][:1])
        s.do("BarrierReadySize", handle=handle)
        s.do("BarrierTakeMany", handle=handle, num_elements=g.int(0, n), component_types=types)
        s.do("BarrierClose", handle=handle, cancel_pending_enqueues=cancel)
        s.do("BarrierTakeMany", handle=handle, num_elements=n, component_types=types, allow_small_batch=True)
        return s.out

    return g.program(build, *values)


def mutex(g):
    """Two locks of one mutex, one after the other."""

    def build(t):
        handle, out = raw.MutexV2(shared_name=g.name(), container=""), []
        for i in range(2):
            lock = after(out, lambda: raw.MutexLock(mutex=handle))
            value = after([lock], lambda: t[0] + float(i))
            out.append(value)
            done = after([value], lambda: raw.ConsumeMutexLock(mutex_lock=lock))
            out.append(after([done], lambda: tf.identity(value)))
        return out

    return g.program(build, g.array(tf.float32, (2,), "plain"))


MAPS = "Stage Unstage UnstageNoKey Peek Size IncompleteSize Clear".split()
GENERATORS = {op: stage for op in "Stage Unstage StagePeek StageSize StageClear".split()}
GENERATORS |= {f"{kind}Map{op}": map_stage for kind in ("", "Ordered") for op in MAPS}
GENERATORS |= {f"Barrier{op}": barrier for op in ("", "InsertMany", "TakeMany", "Close", "ReadySize", "IncompleteSize")}
GENERATORS |= {op: mutex for op in ("MutexV2", "MutexLock", "ConsumeMutexLock")}
