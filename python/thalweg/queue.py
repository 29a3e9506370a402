"""Queues: values that one step leaves for another."""

from . import _engine
from ._arrays import concat
from ._graphs import convert_to_tensor, get_default_graph
from ._op_functions import call
from ._shapes import TensorShape


class QueueBase:
    """Elements of one or more tensors each, which may have names."""

    def __init__(self, op, dtypes, shapes, names, attrs, shared_name, name):
        single = not isinstance(dtypes, (list, tuple))
        self._dtypes = [_engine.as_dtype(t) for t in ([dtypes] if single else dtypes)]
        self._single = single or len(self._dtypes) == 1
        if shapes is not None:
            whole = isinstance(shapes, TensorShape) or (isinstance(shapes, (list, tuple)) and all(d is None or isinstance(d, int) for d in shapes))
            shapes = [TensorShape(s) for s in ([shapes] if whole and len(self._dtypes) == 1 else shapes)]
        self._shapes = shapes
        self._names = [names] if isinstance(names, str) else list(names) if names else None
        self.queue_ref = call(op, [], {"component_types": self._dtypes, "shapes": shapes or [], "shared_name": shared_name or "", **attrs}, name)

    name = property(lambda self: self.queue_ref.op.name)
    dtypes = property(lambda self: self._dtypes)
    shapes = property(lambda self: self._shapes)
    names = property(lambda self: self._names)

    def _given(self, vals):
        if isinstance(vals, dict):
            if not self._names:
                raise ValueError("Queue must have names to enqueue a dictionary")
            vals = [vals[name] for name in self._names]
        elif self._names:
            raise ValueError("You must enqueue a dictionary in a Queue with names")
        elif not isinstance(vals, (list, tuple)) or (self._single and len(vals) != 1):
            vals = [vals]
        return [convert_to_tensor(v, dtype=t) for v, t in zip(vals, self._dtypes)]

    def _taken(self, made, rows=()):
        """What was taken out, of one element or of several rows."""
        made = list(made) if isinstance(made, (list, tuple)) else [made]
        for tensor, shape in zip(made, self._shapes or ()):
            tensor.set_shape(TensorShape(rows).concatenate(shape))
        if self._names:
            return dict(zip(self._names, made))
        return made[0] if self._single else made

    def enqueue(self, vals, name=None):
        return call("QueueEnqueueV2", [self.queue_ref, self._given(vals)], None, name or f"{self.name}_enqueue")

    def enqueue_many(self, vals, name=None):
        return call("QueueEnqueueManyV2", [self.queue_ref, self._given(vals)], None, name or f"{self.name}_EnqueueMany")

    def dequeue(self, name=None):
        return self._taken(call("QueueDequeueV2", [self.queue_ref], {"component_types": self._dtypes}, name or f"{self.name}_Dequeue"))

    def dequeue_many(self, n, name=None):
        made = call("QueueDequeueManyV2", [self.queue_ref, n], {"component_types": self._dtypes}, name or f"{self.name}_DequeueMany")
        return self._taken(made, [n if isinstance(n, int) else None])

    def dequeue_up_to(self, n, name=None):
        made = call("QueueDequeueUpToV2", [self.queue_ref, n], {"component_types": self._dtypes}, name or f"{self.name}_DequeueUpTo")
        return self._taken(made, [None])

    def close(self, cancel_pending_enqueues=False, name=None):
        return call("QueueCloseV2", [self.queue_ref], {"cancel_pending_enqueues": bool(cancel_pending_enqueues)}, name or f"{self.name}_Close")

    def is_closed(self, name=None):
        return call("QueueIsClosedV2", [self.queue_ref], None, name or f"{self.name}_Closed")

    def size(self, name=None):
        return call("QueueSizeV2", [self.queue_ref], None, name or f"{self.name}_Size")


class FIFOQueue(QueueBase):
    def __init__(self, capacity, dtypes, shapes=None, names=None, shared_name=None, name="fifo_queue"):
        super().__init__("FIFOQueueV2", dtypes, shapes, names, {"capacity": capacity}, shared_name, name)


class PaddingFIFOQueue(QueueBase):
    """Batches are padded to the largest of their elements."""

    def __init__(self, capacity, dtypes, shapes, names=None, shared_name=None, name="padding_fifo_queue"):
        super().__init__("PaddingFIFOQueueV2", dtypes, shapes, names, {"capacity": capacity}, shared_name, name)


class RandomShuffleQueue(QueueBase):
    def __init__(self, capacity, min_after_dequeue, dtypes, shapes=None, names=None, seed=None, shared_name=None, name="random_shuffle_queue"):
        seed, seed2 = get_default_graph()._scope.seeds(seed)
        attrs = {"capacity": capacity, "min_after_dequeue": min_after_dequeue, "seed": seed, "seed2": seed2}
        super().__init__("RandomShuffleQueueV2", dtypes, shapes, names, attrs, shared_name, name)


class PriorityQueue(QueueBase):
    """Elements by a number that comes first."""

    def __init__(self, capacity, types, shapes=None, names=None, shared_name=None, name="priority_queue"):
        super().__init__("PriorityQueueV2", types, shapes, names, {"capacity": capacity}, shared_name, name)
        self._dtypes = [_engine.as_dtype("int64")] + self._dtypes
        self._shapes = [TensorShape([])] + (self._shapes or [])
        self._single = False
