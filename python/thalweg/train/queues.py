"""Threads that fill queues: the engine's; and the queues of input files and batches."""

import contextlib
import threading

from .. import _engine
from .._graphs import GraphKeys, add_to_collection, convert_to_tensor, current_scope, get_collection, name_scope
from .._op_functions import call
from .._random import random_shuffle
from ..errors import OutOfRangeError, CancelledError


class Coordinator:
    """Asks threads to stop, and waits for them: those of queue runners, and threads of Python."""

    def __init__(self, clean_stop_exception_types=None):
        self._coordinator = _engine.Coordinator()
        self._clean = clean_stop_exception_types or (OutOfRangeError,)
        self._threads, self._error, self._lock = [], None, threading.Lock()

    def should_stop(self):
        return self._coordinator.should_stop()

    def request_stop(self, ex=None):
        """With an exception, `join` raises it, unless it is the end of the input."""
        if isinstance(ex, tuple):
            ex = ex[1]
        with self._lock:
            if ex is not None and not isinstance(ex, self._clean) and self._error is None and not self.should_stop():
                self._error = ex
        self._coordinator.request_stop()

    def clear_stop(self):
        self._coordinator, self._error = _engine.Coordinator(), None

    def wait_for_stop(self, timeout=None):
        if timeout is None:
            self._coordinator.wait_for_stop()
            return True
        import time

        end = time.monotonic() + timeout
        while not self.should_stop() and time.monotonic() < end:
            time.sleep(0.01)
        return self.should_stop()

    def register_thread(self, thread):
        self._threads.append(thread)

    @contextlib.contextmanager
    def stop_on_exception(self):
        try:
            yield
        except Exception as e:
            self.request_stop(e)

    def join(self, threads=None, stop_grace_period_secs=120, ignore_live_threads=False):
        self.wait_for_stop()
        for thread in list(threads or ()) + self._threads:
            thread.join()
        try:
            self._coordinator.join()
        except self._clean:
            pass
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    @property
    def joined(self):
        return not any(t.is_alive() for t in self._threads)

    def raise_requested_exception(self):
        if self._error is not None:
            raise self._error


class LooperThread(threading.Thread):
    """Calls a function until the coordinator stops: every so many seconds, or without a pause."""

    def __init__(self, coord, timer_interval_secs, target=None, args=None, kwargs=None):
        super().__init__(daemon=True)
        self._coord, self._interval = coord, timer_interval_secs
        self._looped = (target, args or (), kwargs or {})
        coord.register_thread(self)

    @staticmethod
    def loop(coord, timer_interval_secs, target, args=None, kwargs=None):
        thread = LooperThread(coord, timer_interval_secs, target, args, kwargs)
        thread.start()
        return thread

    def run_loop(self):
        target, args, kwargs = self._looped
        target(*args, **kwargs)

    def run(self):
        with self._coord.stop_on_exception():
            while not (self._coord.wait_for_stop(self._interval) if self._interval else self._coord.should_stop()):
                self.run_loop()


class _EngineThread:
    """A thread of the engine, which the coordinator joins."""

    def __init__(self, name):
        self.name, self.daemon = name, True

    def join(self, timeout=None):
        pass

    def is_alive(self):
        return False


class QueueRunner:
    """A queue, and operations that fill it, each run by a thread of its own."""

    def __init__(self, queue=None, enqueue_ops=None, close_op=None, cancel_op=None, queue_closed_exception_types=None, queue_runner_def=None,
                 import_scope=None):
        self._queue = queue
        self._runner = _engine.QueueRunner(current_scope(), queue.queue_ref, list(enqueue_ops))

    queue = property(lambda self: self._queue)
    name = property(lambda self: self._runner.name)

    def create_threads(self, sess, coord=None, daemon=False, start=False):
        coord = coord if coord is not None else Coordinator()
        self._coordinator = coord
        self._runner.start(sess, coord._coordinator)
        return [_EngineThread(f"{self.name}-{i}") for i in range(self._runner.threads)]


def add_queue_runner(qr, collection=GraphKeys.QUEUE_RUNNERS):
    add_to_collection(collection, qr)


def start_queue_runners(sess=None, coord=None, daemon=True, start=True, collection=GraphKeys.QUEUE_RUNNERS):
    """Starts the threads of all queue runners of the graph."""
    from .._session import get_default_session

    sess = sess if sess is not None else get_default_session()
    if sess is None:
        raise ValueError("Cannot start queue runners: No default session is registered. Use `with sess.as_default()` or pass an explicit"
                         " session to tf.start_queue_runners(sess=sess)")
    with sess.graph.as_default():
        return [thread for qr in get_collection(collection) for thread in qr.create_threads(sess, coord, daemon, start)]


# Input by queues.

def limit_epochs(tensor, num_epochs=None, name=None):
    """The tensor as often as that; then the end of the input."""
    if num_epochs is None:
        return tensor
    from .._variables import Variable

    with name_scope(name, "limit_epochs"):
        epochs = Variable(convert_to_tensor(0, "int64"), name="epochs", trainable=False, collections=[GraphKeys.LOCAL_VARIABLES])
        counted = call("ResourceCountUpTo", [epochs.handle], {"limit": num_epochs, "T": "int64"})
        from .._graphs import control_dependencies

        with control_dependencies([counted]):
            return call("Identity", [tensor])


def input_producer(input_tensor, element_shape=None, num_epochs=None, shuffle=True, seed=None, capacity=32, shared_name=None, summary_name=None,
                   name=None, cancel_op=None):
    """A queue of the rows of a tensor, as often as that."""
    from ..queue import FIFOQueue

    with name_scope(name, "input_producer"):
        input_tensor = convert_to_tensor(input_tensor, name="input_tensor")
        if shuffle:
            input_tensor = random_shuffle(input_tensor, seed=seed)
        input_tensor = limit_epochs(input_tensor, num_epochs)
        queue = FIFOQueue(capacity, [input_tensor.dtype], [input_tensor.shape[1:]], shared_name=shared_name)
        add_queue_runner(QueueRunner(queue, [queue.enqueue_many([input_tensor])]))
        return queue


def string_input_producer(string_tensor, num_epochs=None, shuffle=True, seed=None, capacity=32, shared_name=None, name=None, cancel_op=None):
    """A queue of names, such as those of files."""
    with name_scope(name, "input_producer"):
        return input_producer(convert_to_tensor(string_tensor, "string"), None, num_epochs, shuffle, seed, capacity, shared_name)


def range_input_producer(limit, num_epochs=None, shuffle=True, seed=None, capacity=32, shared_name=None, name=None):
    from .._arrays import range as range_

    with name_scope(name, "input_producer"):
        return input_producer(range_(limit), [], num_epochs, shuffle, seed, capacity, shared_name, "fraction_of_%d_full" % capacity)


def slice_input_producer(tensor_list, num_epochs=None, shuffle=True, seed=None, capacity=32, shared_name=None, name=None):
    """The rows of several tensors, together."""
    from .._arrays import gather, shape

    with name_scope(name, "input_producer"):
        tensors = [convert_to_tensor(t) for t in tensor_list]
        known = tensors[0].shape[0]
        index = range_input_producer(int(known) if known is not None else shape(tensors[0])[0], num_epochs, shuffle, seed, capacity,
                                     shared_name).dequeue()
        return [gather(t, index) for t in tensors]


def _batched(tensors, queue_of, batch_size, num_threads, enqueue_many, smaller, name):
    from .._control_flow import _flat, _packed

    flat = [convert_to_tensor(t) for t in _flat(tensors)]
    with name_scope(name, "batch"):
        shapes = [t.shape[1:] if enqueue_many else t.shape for t in flat]
        queue = queue_of([t.dtype for t in flat], shapes)
        enqueue = queue.enqueue_many(flat) if enqueue_many else queue.enqueue(flat)
        add_queue_runner(QueueRunner(queue, [enqueue] * num_threads))
        made = queue.dequeue_up_to(batch_size) if smaller else queue.dequeue_many(batch_size)
        made = list(made) if isinstance(made, (list, tuple)) else [made]
        return _packed(tensors, iter(made))


def batch(tensors, batch_size, num_threads=1, capacity=32, enqueue_many=False, shapes=None, dynamic_pad=False, allow_smaller_final_batch=False,
          shared_name=None, name=None):
    """Batches of tensors, by a queue."""
    from ..queue import FIFOQueue, PaddingFIFOQueue

    kind = PaddingFIFOQueue if dynamic_pad else FIFOQueue
    return _batched(tensors, lambda t, s: kind(capacity, t, shapes or s, shared_name=shared_name), batch_size, num_threads, enqueue_many,
                    allow_smaller_final_batch, name)


def shuffle_batch(tensors, batch_size, capacity, min_after_dequeue, num_threads=1, seed=None, enqueue_many=False, shapes=None,
                  allow_smaller_final_batch=False, shared_name=None, name=None):
    """Batches of tensors in random order, by a queue."""
    from ..queue import RandomShuffleQueue

    return _batched(tensors, lambda t, s: RandomShuffleQueue(capacity, min_after_dequeue, t, shapes or s, seed=seed, shared_name=shared_name),
                    batch_size, num_threads, enqueue_many, allow_smaller_final_batch, name or "shuffle_batch")


def match_filenames_once(pattern, name=None):
    from .._variables import Variable

    return Variable(call("MatchingFiles", [pattern]), name=name or "matching_filenames", trainable=False, validate_shape=False,
                    collections=[GraphKeys.LOCAL_VARIABLES])
