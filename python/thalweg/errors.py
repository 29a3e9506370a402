"""Errors by canonical code: ``except tf.errors.OutOfRangeError`` ends a queue or dataset, `AbortedError` means retry, `UnavailableError` reconnect.

Errors of wrong arguments are also ``ValueError`` and ``TypeError``, which TensorFlow raises where a node is made.
"""

OK, CANCELLED, UNKNOWN, INVALID_ARGUMENT, DEADLINE_EXCEEDED, NOT_FOUND, ALREADY_EXISTS, PERMISSION_DENIED = range(8)
RESOURCE_EXHAUSTED, FAILED_PRECONDITION, ABORTED, OUT_OF_RANGE, UNIMPLEMENTED, INTERNAL, UNAVAILABLE, DATA_LOSS = range(8, 16)
UNAUTHENTICATED = 16


class OpError(Exception):
    """An error of the engine, with the node that it happened at and the line of Python that made the node."""

    def __init__(self, node_def, op, message, error_code):
        super().__init__(message)
        self._node_def, self._op, self._message, self._error_code = node_def, op, message, error_code
        #: Name of the node, if there is one.
        self.node = None
        #: File and line of Python that made the node.
        self.place = None

    @property
    def message(self):
        return self._message

    @property
    def op(self):
        return self._op

    @property
    def node_def(self):
        return self._node_def

    @property
    def error_code(self):
        return self._error_code

    def __str__(self):
        text = self._message
        if self.node:
            kind = f" ({self._op.type})" if self._op is not None else ""
            text += f"\n  at node '{self.node}'{kind}"
        if self.place:
            text += f"\n  made at {self.place[0]}:{self.place[1]}"
        return text

    def __reduce__(self):
        return _again, (type(self), self._message, self._error_code, self.node, self.place)


def _again(cls, message, code, node, place):
    e = cls.__new__(cls)
    OpError.__init__(e, None, None, message, code)
    e.node, e.place = node, place
    return e


def _class(name, code, *bases):
    def __init__(self, node_def, op, message, error_code=code):
        OpError.__init__(self, node_def, op, message, error_code)

    made = type(name, (OpError, *bases), {"__init__": __init__, "__module__": __name__})
    _BY_CODE[code] = made
    return made


_BY_CODE = {}
CancelledError = _class("CancelledError", CANCELLED)
UnknownError = _class("UnknownError", UNKNOWN)
InvalidArgumentError = _class("InvalidArgumentError", INVALID_ARGUMENT, ValueError, TypeError)
DeadlineExceededError = _class("DeadlineExceededError", DEADLINE_EXCEEDED)
NotFoundError = _class("NotFoundError", NOT_FOUND)
AlreadyExistsError = _class("AlreadyExistsError", ALREADY_EXISTS)
PermissionDeniedError = _class("PermissionDeniedError", PERMISSION_DENIED)
ResourceExhaustedError = _class("ResourceExhaustedError", RESOURCE_EXHAUSTED)
FailedPreconditionError = _class("FailedPreconditionError", FAILED_PRECONDITION)
AbortedError = _class("AbortedError", ABORTED)
OutOfRangeError = _class("OutOfRangeError", OUT_OF_RANGE)
UnimplementedError = _class("UnimplementedError", UNIMPLEMENTED)
InternalError = _class("InternalError", INTERNAL)
UnavailableError = _class("UnavailableError", UNAVAILABLE)
DataLossError = _class("DataLossError", DATA_LOSS)
UnauthenticatedError = _class("UnauthenticatedError", UNAUTHENTICATED)


def _from_engine(code, message, node, graph, place):
    op = None
    if graph is not None and node is not None:
        try:
            op = graph.get_operation_by_name(node)
        except KeyError:
            pass
    e = _BY_CODE.get(code, UnknownError)(None, op, message)
    e.node, e.place = node, place
    return e
