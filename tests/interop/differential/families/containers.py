"""Queues, stacks, tensor arrays, tensor lists, tensor maps: small programs, in order by control dependencies."""

import numpy as np
import tensorflow as tf

from tensorflow.python.ops import map_ops  # noqa: F401  (registers gradients)

tf1 = tf.compat.v1
raw = tf.raw_ops
TYPES = [tf.float32, tf.int64, tf.string, tf.bool, tf.complex64, tf.float16]


def after(ops, make):
    with tf1.control_dependencies(ops):
        return make()


class Queue:
    """A queue of either generation (reference or resource handle), used step by step."""

    def __init__(self, g, kind, types, shapes, old, **attrs):
        self.types, self.tail = types, "" if old else "V2"
        self.handle = self.op(kind)(component_types=types, shapes=shapes, shared_name=g.name(), container="", capacity=attrs.pop("capacity", 30), **attrs)
        self.last = []

    def op(self, name):
        return getattr(raw, name + self.tail)

    def do(self, name, **kwargs):
        out = after(self.last, lambda: self.op(name)(handle=self.handle, **kwargs))
        self.last = [out[0].op if isinstance(out, (list, tuple)) else out if isinstance(out, tf.Operation) else out.op]
        return out


def queue(g):
    """Enqueue, size, dequeue in one of the ways, close, size."""
    old = not g.op.endswith("V2")
    base = g.op.removesuffix("V2")
    kind = base if base.endswith("Queue") else g.pick(["FIFOQueue", "FIFOQueue", "PaddingFIFOQueue", "PriorityQueue", "RandomShuffleQueue"])
    types = [g.pick(TYPES) for _ in range(g.int(1, 2))]
    shapes = [g.shape(0, 2, zeros=False) for _ in types]  # empty elements crash TensorFlow's process
    attrs = {}
    if kind == "RandomShuffleQueue":
        attrs = {"seed": g.int(1, 1000), "seed2": g.int(1, 1000), "min_after_dequeue": 0}
    many, n = g.coin() or "Many" in base, g.int(1, 4)
    take = {"QueueDequeue": "one", "QueueDequeueMany": "many", "QueueDequeueUpTo": "up_to"}.get(base) or g.pick(["one", "many", "up_to"])
    close_first = take == "up_to" or base in ("QueueClose", "QueueIsClosed") and g.coin()
    priorities = [g.ints(0, 9, (n,), tf.int64)] if kind == "PriorityQueue" else []
    # The order of rows of equal priority is unspecified.
    if priorities:
        priorities = [g.of(g.rng.permutation(20)[:n], tf.int64)]
    batch = priorities + [g.array(t, (n,) + s, "plain") for t, s in zip(types, shapes)]
    too_many = g.coin(0.1) and close_first

    def build(t):
        q = Queue(g, kind, types, shapes, old, **attrs)
        all_types = [tf.int64, *types] if priorities else types
        if many:
            q.do("QueueEnqueueMany", components=t)
        else:
            for i in range(n):
                q.do("QueueEnqueue", components=[x[i] for x in t])
        out = [q.do("QueueSize")]
        if close_first:
            q.do("QueueClose", cancel_pending_enqueues=g.coin())
        if take == "one":
            out.append(q.do("QueueDequeue", component_types=all_types))
        elif take == "many":
            out.append(q.do("QueueDequeueMany", n=n + (3 if too_many else 0), component_types=all_types))
        else:
            out.append(q.do("QueueDequeueUpTo", n=n + 2, component_types=all_types))
        out.append(q.do("QueueSize"))
        if not close_first:
            q.do("QueueClose")
        out.append(q.do("QueueIsClosed"))
        return out

    return g.program(build, *batch, label=f"{kind} {take} {'many' if many else 'one by one'}")


def stack(g):
    dtype, n = g.pick(TYPES), g.int(1, 3)
    old = not g.op.endswith("V2")
    items = [g.array(dtype, g.shape(0, 2)) for _ in range(n)]
    pops = n + (1 if g.coin(0.1) else 0)

    def build(t):
        v = "" if old else "V2"
        make = {"elem_type": dtype, "stack_name": g.name()} | ({} if old else {"max_size": tf.constant(-1)})
        handle = getattr(raw, "Stack" + v)(**make)
        last, out = [], []
        for x in t:
            pushed = after(last, lambda x=x: getattr(raw, "StackPush" + v)(handle=handle, elem=x))
            out.append(pushed)
            last = [pushed]
        for _ in range(pops):
            out.append(after(last, lambda: getattr(raw, "StackPop" + v)(handle=handle, elem_type=dtype)))
            last = [out[-1]]
        out.append(after(last, lambda: getattr(raw, "StackClose" + v)(handle=handle)))
        return out

    return g.program(build, *items)


def tensor_array(g):
    """Write, read, gather, scatter, split, concat, size, and the gradient array."""
    dtype = g.pick([tf.float32, tf.float64, tf.int32] if "Grad" in g.op else TYPES)
    n, inner = g.int(1, 4), g.shape(0, 2)
    value = g.array(dtype, (n,) + inner, "plain")
    ways = {"Scatter": "scatter", "Split": "split", "Write": "write"}
    way = next((w for k, w in ways.items() if k in g.op), g.pick(["write", "scatter", "split"]))
    rows = g.ints(0, n - 1, (2,))
    lengths = np.ones(n, np.int64)

    def build(t):
        element = inner if way != "split" else (1,) + inner
        handle, flow = raw.TensorArrayV3(size=tf.constant(n), dtype=dtype, element_shape=None, dynamic_size=False, clear_after_read=False, tensor_array_name=g.name())
        if way == "write":
            for i in range(n):
                flow = raw.TensorArrayWriteV3(handle=handle, index=i, value=t[0][i], flow_in=flow)
        elif way == "scatter":
            flow = raw.TensorArrayScatterV3(handle=handle, indices=tf.range(n), value=t[0], flow_in=flow)
        else:
            flow = raw.TensorArraySplitV3(handle=handle, value=t[0], lengths=t[2], flow_in=flow)
        out = [raw.TensorArraySizeV3(handle=handle, flow_in=flow), raw.TensorArrayReadV3(handle=handle, index=t[1][0], flow_in=flow, dtype=dtype)]
        out.append(raw.TensorArrayGatherV3(handle=handle, indices=t[1], flow_in=flow, dtype=dtype, element_shape=None))
        if len(element) >= 1:
            out += list(raw.TensorArrayConcatV3(handle=handle, flow_in=flow, dtype=dtype))
        last = list(out)
        if g.op in ("TensorArrayGradV3", "TensorArrayGradWithShape"):
            gate = after(out, lambda: tf.identity(flow))
            if g.op == "TensorArrayGradV3":
                grad, grad_flow = raw.TensorArrayGradV3(handle=handle, flow_in=gate, source="g")
                grad_flow = raw.TensorArrayScatterV3(handle=grad, indices=tf.range(n), value=t[0] if way != "split" else t[0][:, None], flow_in=grad_flow)
                grad_flow = raw.TensorArrayWriteV3(handle=grad, index=0, value=(t[0] if way != "split" else t[0][:, None])[0], flow_in=grad_flow)
                out.append(raw.TensorArrayGatherV3(handle=grad, indices=tf.range(n), flow_in=grad_flow, dtype=dtype))
            else:
                grad, grad_flow = raw.TensorArrayGradWithShape(handle=handle, flow_in=gate, shape_to_prepend=tf.constant([2]), source="g")
                out.append(raw.TensorArraySizeV3(handle=grad, flow_in=grad_flow))
            last = list(out)
        if g.op == "TensorArrayCloseV3":
            out.append(after(last, lambda: raw.TensorArrayCloseV3(handle=handle)))
        return out

    return g.program(build, value, rows, lengths, label=way)


class Lists:
    """Constructors and readers of tensor lists."""

    def __init__(self, g, dtype, n, inner):
        self.g, self.dtype, self.n, self.inner = g, dtype, n, inner
        self.shape = np.array(inner, np.int32)

    def make(self, value, way):
        d, shape = self.dtype, tf.constant(self.shape)
        if way == "TensorListFromTensor":
            return raw.TensorListFromTensor(tensor=value, element_shape=shape)
        if way in ("TensorListScatter", "TensorListScatterV2"):
            more = {"num_elements": tf.constant(-1)} if way.endswith("V2") else {}
            return getattr(raw, way)(tensor=value, indices=tf.range(self.n), element_shape=shape, **more)
        if way == "TensorListSplit":
            return raw.TensorListSplit(tensor=value, element_shape=tf.constant(np.array((-1,) + self.inner[1:], np.int32)), lengths=tf.constant(np.ones(self.n, np.int64)))
        if way == "TensorListReserve":
            handle = raw.TensorListReserve(element_shape=shape, num_elements=self.n, element_dtype=d)
            for i in range(self.n):
                handle = raw.TensorListSetItem(input_handle=handle, index=i, item=value[i])
            return handle
        handle = raw.EmptyTensorList(element_shape=shape, max_num_elements=tf.constant(-1), element_dtype=d)
        for i in range(self.n):
            handle = raw.TensorListPushBack(input_handle=handle, tensor=value[i])
        return handle

    def look(self, handle):
        shape, d = tf.constant(self.shape), self.dtype
        return [raw.TensorListLength(input_handle=handle), raw.TensorListStack(input_handle=handle, element_shape=shape, element_dtype=d)]


MAKERS = ["TensorListFromTensor", "TensorListScatter", "TensorListScatterV2", "TensorListReserve", "EmptyTensorList"]


def tensor_list(g):
    dtype, n, inner = g.pick(TYPES), g.int(1, 4), g.shape(0, 2)
    if "Concat" in g.op and g.op != "TensorListConcatLists" or g.op == "TensorListSplit":
        inner = (1,) + inner
    value, at = g.array(dtype, (n,) + inner), g.int(0, n - 1)
    way = g.op if g.op in MAKERS else {"TensorListPushBack": "EmptyTensorList", "TensorListSetItem": "TensorListReserve"}.get(g.op) or g.pick(MAKERS)

    def build(t):
        lists = Lists(g, dtype, n, inner)
        shape = tf.constant(lists.shape)
        if g.op == "TensorListSplit":
            rows = raw.Reshape(tensor=t[0], shape=np.array((n,) + inner[1:], np.int32))
            handle = raw.TensorListSplit(tensor=rows, element_shape=tf.constant(np.array((-1,) + inner[1:], np.int32)), lengths=tf.constant(np.ones(n, np.int64)))
            return lists.look(handle)
        handle = lists.make(t[0], way)
        out = lists.look(handle)
        if g.op == "TensorListGetItem":
            out.append(raw.TensorListGetItem(input_handle=handle, index=at, element_shape=shape, element_dtype=dtype))
        elif g.op == "TensorListGather":
            out.append(raw.TensorListGather(input_handle=handle, indices=tf.constant([at, at]), element_shape=shape, element_dtype=dtype))
        elif g.op == "TensorListPopBack":
            rest, last = raw.TensorListPopBack(input_handle=handle, element_shape=shape, element_dtype=dtype)
            out += [last, raw.TensorListLength(input_handle=rest)]
        elif g.op == "TensorListResize":
            out.append(raw.TensorListLength(input_handle=raw.TensorListResize(input_handle=handle, size=at + 2)))
        elif g.op == "TensorListElementShape":
            out.append(raw.TensorListElementShape(input_handle=handle, shape_type=g.t("shape_type")))
        elif g.op == "TensorListConcatLists":
            out += lists.look(raw.TensorListConcatLists(input_a=handle, input_b=handle, element_dtype=dtype))
        elif g.op == "TensorListScatterIntoExistingList":
            out += lists.look(raw.TensorListScatterIntoExistingList(input_handle=handle, tensor=t[0][at : at + 1], indices=tf.constant([0])))
        elif g.op == "TensorListPushBackBatch":
            batch = raw.Pack(values=[handle, handle], axis=0)
            pushed = raw.TensorListPushBackBatch(input_handles=batch, tensor=raw.Pack(values=[t[0][at], t[0][0]], axis=0))
            for one in raw.Unpack(value=pushed, num=2, axis=0):
                out += lists.look(one)
        elif g.op == "TensorListConcat":
            out += list(raw.TensorListConcat(input_handle=handle, element_dtype=dtype, element_shape=[None, *inner[1:]]))
        elif g.op == "TensorListConcatV2":
            partial = tf.constant(np.array((-1,) + inner[1:], np.int32))
            out += list(raw.TensorListConcatV2(input_handle=handle, element_shape=partial, leading_dims=tf.constant([], tf.int64), element_dtype=dtype))
        return out

    return g.program(build, value, label=way)


def tensor_map(g):
    """A map of several keys, some of them inserted again, and what the op has to do with it."""
    key_type, dtype, n = g.pick([tf.int32, tf.int64, tf.float32, tf.bool, tf.string]), g.pick(TYPES), g.int(1, 4)
    shape = (n + 1,) + g.shape(0, 2)
    # TensorFlow puts keys into errors, as text.
    keys = g.rng.choice(np.array([b"a", b"b", b"cc"], object), shape) if key_type == tf.string else g.array(key_type, shape, "plain")
    values, asked = g.array(dtype, (n,) + g.shape(0, 2), "plain"), g.int(0, n)
    want = key_type if g.coin(0.9) else tf.uint8

    def build(t):
        key, given = t[0][asked], [t[1][i] for i in range(n)]
        handle = raw.EmptyTensorMap()
        for i in range(n):
            handle = raw.TensorMapInsert(input_handle=handle, key=t[0][i], value=given[i])
        out = [raw.TensorMapSize(input_handle=handle), raw.TensorMapHasKey(input_handle=handle, key=key)]
        if g.op == "TensorMapErase":
            erased = raw.TensorMapErase(input_handle=handle, key=key, value_dtype=dtype)
            out += [raw.TensorMapSize(input_handle=m) for m in (erased, handle)]
        elif g.op == "TensorMapStackKeys":
            stacked = raw.TensorMapStackKeys(input_handle=handle, key_dtype=want)
            # TensorFlow's order is any.
            out.append(tf.shape(stacked) if want in (tf.string, tf.bool) else tf.sort(tf.reshape(stacked, [-1])))
        elif g.op in ("TensorMapLookup", "TensorMapInsert"):
            found = raw.TensorMapLookup(input_handle=handle, key=key, value_dtype=dtype)
            out.append(found)
            if dtype.is_floating:
                out += [x for x in tf1.gradients(found * found, given) if x is not None]
        return out

    return g.program(build, keys, values, label=f"{key_type.name} {n}")


QUEUE_OPS = "QueueClose QueueDequeue QueueDequeueMany QueueDequeueUpTo QueueEnqueue QueueEnqueueMany QueueIsClosed QueueSize FIFOQueue PaddingFIFOQueue PriorityQueue RandomShuffleQueue".split()
GENERATORS = {op + v: queue for op in QUEUE_OPS for v in ("", "V2")}
GENERATORS |= {op + v: stack for op in ("Stack", "StackPush", "StackPop", "StackClose") for v in ("", "V2")}
GENERATORS |= {f"TensorArray{what}": tensor_array for what in "V3 CloseV3 ConcatV3 GatherV3 GradV3 GradWithShape ReadV3 ScatterV3 SizeV3 SplitV3 WriteV3".split()}
GENERATORS |= {f"TensorList{what}": tensor_list for what in "Concat ConcatLists ConcatV2 ElementShape FromTensor Gather GetItem Length PopBack PushBack PushBackBatch Reserve Resize Scatter ScatterIntoExistingList ScatterV2 SetItem Split Stack".split()}
GENERATORS |= {"EmptyTensorList": tensor_list}
GENERATORS |= {f"TensorMap{what}": tensor_map for what in "Erase HasKey Insert Lookup Size StackKeys".split()}
GENERATORS |= {"EmptyTensorMap": tensor_map}
