"""Variables of both kinds, what updates them, and the training ops."""

import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
raw = tf.raw_ops
SCATTER = ["Add", "Sub", "Mul", "Div", "Min", "Max", "Update"]
SCATTER_ND = ["Add", "Sub", "Min", "Max", "Update"]


def resource(g, dtype, shape, value):
    """A variable initialised to `value` before the ops built inside run."""
    handle = raw.VarHandleOp(dtype=dtype, shape=shape, shared_name=g.name(), container="")
    return handle, raw.AssignVariableOp(resource=handle, value=value)


def reference(g, dtype, shape, value):
    ref = raw.VariableV2(shape=shape, dtype=dtype, shared_name=g.name(), container="")
    return ref, raw.Assign(ref=ref, value=value)


def after(ops, make):
    with tf1.control_dependencies(ops):
        return make()


def on_variable(g, start, update, inputs, judge="exact", extra=()):
    """A program: assign a variable (of the kind the op needs), update it, read it. `update(handle, tensors, more)` returns the op or tensor."""
    dtype = tf.string if start.dtype == object else tf.as_dtype(start.dtype)
    make = resource if g.definition.input_arg[0].type == tf.resource.as_datatype_enum else reference

    def build(t):
        handle, ready = make(g, dtype, start.shape, t[0])
        more, waits = [], [ready]
        for a, tensor in zip(extra, t[1 : 1 + len(extra)]):
            other, set_other = make(g, tf.as_dtype(a.dtype), a.shape, tensor)
            more.append(other)
            waits.append(set_other)
        done = after(waits, lambda: update(handle, t[1 + len(extra) :], more))
        read = lambda h: raw.ReadVariableOp(resource=h, dtype=dtype) if make is resource else raw.Identity(input=h)  # noqa: E731
        return after([done], lambda: [read(h) for h in [handle, *more]])

    return g.program(build, start, *extra, *inputs, judge=judge)


def numeric(g, attr="T"):
    return g.t(attr) if attr in g.types else g.t("dtype")


def assign(g):
    dtype, shape = numeric(g, "dtype" if g.op.endswith("VariableOp") else "T"), g.shape(0, 3)
    profile = "plain" if dtype.is_complex else None
    names = [a.name for a in g.definition.input_arg]

    def update(handle, t, _):
        return getattr(raw, g.op)(**{names[0]: handle, names[1]: t[0]})

    return on_variable(g, g.array(dtype, shape, profile), update, [g.array(dtype, shape, profile)])


def scatter(g):
    name = "T" if "T" in g.types else "dtype"
    kind = g.op.removeprefix("Resource").removeprefix("Scatter")
    dtype, index = g.t(name), g.t("Tindices")
    shape = g.shape(1, 3, zeros=False)
    spots = g.shape(0, 2)
    indices = g.ints(0, shape[0] - 1, spots, index)
    if kind in ("Update", "Div"):
        spots = (g.int(0, shape[0]),)
        indices = g.of(g.rng.permutation(shape[0])[: spots[0]], index)
    scalar = g.coin(0.2)
    updates = g.array(dtype, () if scalar else spots + shape[1:], "positive" if kind == "Div" else "plain")
    names = [a.name for a in g.definition.input_arg]

    def update(handle, t, _):
        return getattr(raw, g.op)(**dict(zip(names, [handle, *t])))

    return on_variable(g, g.array(dtype, shape, "plain"), update, [indices, updates], "sum")


def scatter_nd(g):
    dtype, index = g.t(), g.t("Tindices")
    shape = g.shape(1, 3, zeros=False)
    depth = g.int(1, len(shape))
    total = int(np.prod(shape[:depth]))
    flat = g.rng.permutation(total)[: g.int(0, total)]
    indices = np.stack(np.unravel_index(flat, shape[:depth]), -1).astype(index.as_numpy_dtype)
    updates = g.array(dtype, indices.shape[:-1] + shape[depth:], "plain")

    def update(handle, t, _):
        return getattr(raw, g.op)(ref=handle, indices=t[0], updates=t[1])

    return on_variable(g, g.array(dtype, shape, "plain"), update, [indices, updates], "sum")


RULES = "GradientDescent Momentum KerasMomentum Adagrad AdagradV2 AdagradDA Adam AdaMax Adadelta Ftrl FtrlV2 ProximalAdagrad ProximalGradientDescent RMSProp CenteredRMSProp AddSign PowerSign".split()


def is_variable(a):
    return a.is_ref or a.type == tf.resource.as_datatype_enum


def train(g):
    """An update rule: the variable and its slots come first, then numbers, the gradient and, of sparse ones, its rows."""
    args = list(g.definition.input_arg)
    slot_names = [a.name for a in args if is_variable(a)][1:]
    dtype, is_sparse = g.t(), any(a.name == "indices" for a in args)
    shape = g.shape(1, 3, zeros=False) if is_sparse else g.shape(0, 3)
    rows = g.of(g.rng.permutation(shape[0])[: g.int(0, shape[0])], g.t("Tindices")) if is_sparse else None
    # Slots hold sums of squares and the like; those of CenteredRMSProp must leave a root to take.
    slots = [g.array(dtype, shape, "plain") if dtype.is_complex else g.array(dtype, shape, "positive") for _ in slot_names]
    if "mg" in slot_names:
        slots[slot_names.index("mg")] = (slots[slot_names.index("mg")] * 0).astype(dtype.as_numpy_dtype)

    def value(a):
        if a.name in ("grad", "delta"):
            return g.array(dtype, ((len(rows),) + shape[1:]) if is_sparse else shape, "plain")
        if a.name == "indices":
            return rows
        if a.name == "global_step":
            return g.of(g.int(1, 9), tf.int64)
        return g.of(-0.5 if a.name == "lr_power" else g.rng.uniform(0.05, 0.95), dtype)

    others = [a for a in args if not is_variable(a)]
    flags = [a.name for a in g.definition.attr if a.type == "bool"]
    attrs = {name: g.coin() for name in flags if name in ("use_locking", "use_nesterov", "update_slots", "multiply_linear_by_lr")}

    def update(handle, t, more):
        return getattr(raw, g.op)(var=handle, **dict(zip(slot_names, more)), **dict(zip([a.name for a in others], t)), **attrs)

    return on_variable(g, g.array(dtype, shape, "plain"), update, [value(a) for a in others], "rule", slots)


def reading(g):
    """Ops that read a resource variable: ReadVariableOp, VariableShape, gathers, VarIsInitializedOp."""
    dtype = g.types.get("dtype", tf.float32)
    shape = g.shape(1, 3, zeros=False)
    inputs = []
    if g.op == "ResourceGather":
        inputs = [g.ints(0, shape[0] - 1, g.shape(0, 2), g.t("Tindices"))]
    elif g.op == "ResourceGatherNd":
        depth = g.int(1, len(shape))
        inputs = [np.stack([g.rng.integers(0, d, (3,)) for d in shape[:depth]], -1).astype(g.t("Tindices").as_numpy_dtype)]

    def build(t):
        handle, ready = resource(g, dtype, shape, t[0])

        def look():
            if g.op in ("ResourceGather", "ResourceGatherNd"):
                return getattr(raw, g.op)(resource=handle, indices=t[1], dtype=dtype)
            if g.op == "VariableShape":
                return raw.VariableShape(input=handle, out_type=g.t("out_type"))
            if g.op == "VarIsInitializedOp":
                return raw.VarIsInitializedOp(resource=handle)
            return raw.ReadVariableOp(resource=handle, dtype=dtype)

        return [after([ready], look)]

    return g.program(build, g.array(dtype, shape), *inputs)


def untouched(g):
    """An uninitialised variable: whether it is initialised, and the error of reading it."""
    dtype = g.types.get("dtype", tf.float32)
    ask = g.coin()

    def build(t):
        if g.op == "IsVariableInitialized":
            return [raw.IsVariableInitialized(ref=raw.VariableV2(shape=[2], dtype=dtype, shared_name=g.name(), container=""))]
        if g.op in ("Variable", "VariableV2"):
            ref = getattr(raw, g.op)(shape=[2], dtype=dtype, shared_name=g.name(), container="")
            return [raw.IsVariableInitialized(ref=ref) if ask else raw.Identity(input=ref)]
        handle = raw.VarHandleOp(dtype=dtype, shape=[2], shared_name=g.name(), container="")
        return [raw.VarIsInitializedOp(resource=handle) if ask else raw.ReadVariableOp(resource=handle, dtype=dtype)]

    return g.program(build)


def read_in_place(g):
    """A variable read after DisableCopyOnRead."""
    value = g.array(tf.float32, g.shape(0, 2), "plain")

    def build(t):
        handle, ready = resource(g, tf.float32, value.shape, t[0])
        told = after([ready], lambda: raw.DisableCopyOnRead(resource=handle))
        read = after([told], lambda: raw.ReadVariableOp(resource=handle, dtype=tf.float32))
        return [read]

    return g.program(build, value)


def destroy(g):
    def build(t):
        handle, ready = resource(g, tf.float32, (2,), t[0])
        gone = after([ready], lambda: raw.DestroyResourceOp(resource=handle, ignore_lookup_error=True))
        return [after([gone], lambda: raw.VarIsInitializedOp(resource=handle))]

    return g.program(build, g.array(tf.float32, (2,), "plain"))


def count_up(g):
    dtype, start, limit = g.t(), g.int(0, 5), g.int(1, 5)

    def build(t):
        if g.op == "CountUpTo":
            ref, ready = reference(g, dtype, (), t[0])
            count = after([ready], lambda: raw.CountUpTo(ref=ref, limit=limit))
            return [count, after([count], lambda: raw.Identity(input=ref))]
        handle, ready = resource(g, dtype, (), t[0])
        count = after([ready], lambda: raw.ResourceCountUpTo(resource=handle, limit=limit, T=dtype))
        return [count, after([count], lambda: raw.ReadVariableOp(resource=handle, dtype=dtype))]

    return g.program(build, g.of(start, dtype))


def temporary(g):
    """TemporaryVariable: assigned, added to, destroyed."""
    dtype = g.pick([tf.float32, tf.float64, tf.int32, tf.int64])
    shape = g.shape(0, 2)

    def build(t):
        ref = raw.TemporaryVariable(shape=shape, dtype=dtype, var_name=g.name())
        ref = raw.AssignAdd(ref=raw.Assign(ref=ref, value=t[0]), value=t[1])
        return [raw.DestroyTemporaryVariable(ref=ref, var_name=tf1.get_default_graph().get_operations()[-3].get_attr("var_name").decode())]

    return g.program(build, g.array(dtype, shape, "plain"), g.array(dtype, shape, "plain"))


def through(g):
    """RefIdentity, and RefSwitch into RefMerge: the reference is forwarded and can be written."""
    dtype, shape = g.pick([tf.float32, tf.int64]), g.shape(0, 2)

    def build(t):
        ref, ready = reference(g, dtype, shape, t[0])
        if g.op == "RefIdentity":
            same = after([ready], lambda: raw.RefIdentity(input=ref))
            return [raw.Identity(input=raw.AssignAdd(ref=same, value=t[1]))]
        with tf1.control_dependencies([ready]):
            off, on = raw.RefSwitch(data=ref, pred=t[2])
        merged, which = raw.RefMerge(inputs=[raw.RefIdentity(input=off), raw.RefIdentity(input=on)])
        return [raw.Identity(input=raw.AssignAdd(ref=merged, value=t[1])), which]

    return g.program(build, g.array(dtype, shape, "plain"), g.array(dtype, shape, "plain"), np.array(g.coin()))


def ref_loop(g):
    """A reference as a loop variable: RefEnter, RefMerge, RefSwitch, RefNextIteration, RefExit."""
    turns = g.int(0, 4)

    def build(t):
        ref, ready = reference(g, tf.float32, (2,), t[0])
        frame = g.name()
        with tf1.control_dependencies([ready]):
            entered = raw.RefEnter(data=ref, frame_name=frame)
            i = raw.Enter(data=tf.constant(0), frame_name=frame)
        limit = raw.Enter(data=t[1], frame_name=frame, is_constant=True)
        i, _ = raw.Merge(inputs=[i, i])
        carried, _ = raw.RefMerge(inputs=[entered, entered])
        go = raw.LoopCond(input=raw.Less(x=i, y=limit))
        i_off, i_on = raw.Switch(data=i, pred=go)
        r_off, r_on = raw.RefSwitch(data=carried, pred=go)
        with tf1.control_dependencies([i_on]):
            one = tf.constant(1)
        i.op._update_input(1, raw.NextIteration(data=raw.Add(x=i_on, y=one)))
        carried.op._update_input(1, raw.RefNextIteration(data=raw.RefIdentity(input=r_on)))
        return [raw.Exit(data=i_off), raw.Identity(input=raw.RefExit(data=r_off))]

    return g.program(build, g.array(tf.float32, (2,), "plain"), g.of(turns, tf.int32))


GENERATORS = {op: assign for op in ("Assign", "AssignAdd", "AssignSub", "AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp")}
GENERATORS |= {f"{who}Scatter{kind}": scatter for who in ("", "Resource") for kind in SCATTER}
GENERATORS |= {f"ResourceScatterNd{kind}": scatter_nd for kind in SCATTER_ND} | {f"ScatterNd{kind}": scatter_nd for kind in SCATTER_ND}
TRAINING = [f"{who}{how}Apply{rule}" for who in ("", "Resource") for how in ("", "Sparse") for rule in RULES]
GENERATORS |= {op: train for op in TRAINING + ["ResourceApplyAdamWithAmsgrad"]}
GENERATORS |= {op: reading for op in ("ReadVariableOp", "VariableShape", "ResourceGather", "ResourceGatherNd", "VarIsInitializedOp")}
GENERATORS |= {op: untouched for op in ("VarHandleOp", "IsVariableInitialized", "Variable", "VariableV2")}
GENERATORS |= {"DisableCopyOnRead": read_in_place}
GENERATORS |= {"DestroyResourceOp": destroy, "CountUpTo": count_up, "ResourceCountUpTo": count_up, "TemporaryVariable": temporary, "DestroyTemporaryVariable": temporary}
GENERATORS |= {op: through for op in ("RefIdentity", "RefSwitch", "RefMerge")} | {op: ref_loop for op in ("RefEnter", "RefExit", "RefNextIteration")}
