"""The C API by ctypes: loads the libraries that it is given, and prints what it sees.

    python checks.py lib/libthalweg.so.1
    python checks.py libtensorflow_framework.so.2 libtensorflow_cc.so.2

It prints the same with TensorFlow's library and with ours (test_capi.py).
"""

import ctypes as c
import pathlib
import socket
import struct
import sys
import tempfile
import threading


class Output(c.Structure):
    _fields_ = [("oper", c.c_void_p), ("index", c.c_int)]


class Buffer(c.Structure):
    _fields_ = [("data", c.c_void_p), ("length", c.c_size_t), ("deallocator", c.c_void_p)]


for path in sys.argv[1:]:
    lib = c.CDLL(path, mode=c.RTLD_GLOBAL)
FLOAT, INT32, STRING = 1, 3, 7
POINTERS = """
    TF_NewStatus TF_NewGraph TF_NewOperation TF_FinishOperation TF_NewSessionOptions TF_NewSession TF_AllocateTensor TF_TensorData
    TF_NewBuffer TF_NewBufferFromString TF_GetAllOpList TF_GetAllRegisteredKernels TF_LoadSessionFromSavedModel TF_NewServer
    TF_GraphToFunction TF_NewImportGraphDefOptions TF_SessionListDevices TFE_NewContext TFE_NewContextOptions TFE_NewOp
    TFE_NewTensorHandle TFE_TensorHandleResolve TF_GraphOperationByName TF_LoadLibrary TF_GetRegisteredKernelsForOp
""".split()
POINTERS += ["TF_NewCheckpointReader", "TF_CheckpointReaderGetTensor"]
for name in POINTERS:
    getattr(lib, name).restype = c.c_void_p
for name in ["TF_Version", "TF_Message", "TF_ServerTarget", "TF_OperationName", "TF_DeviceListName", "TF_FunctionName", "TF_OperationDevice",
             "TF_CheckpointReaderGetVariable"]:
    getattr(lib, name).restype = c.c_char_p
lib.TFE_ContextHasFunction.restype = c.c_ubyte
status = c.c_void_p(lib.TF_NewStatus())


def p(address):
    return c.c_void_p(address)


def code(what):
    print(f"{what}: {lib.TF_GetCode(status)}")
    if lib.TF_GetCode(status):
        print(f"  {lib.TF_Message(status).decode()}", file=sys.stderr)
    lib.TF_SetStatus(status, 0, b"")


# Messages, as far as the tests need any: a field is a number with an int, text or message.
def varint(n):
    out = b""
    while n >= 0x80:
        out, n = out + bytes([n & 0x7F | 0x80]), n >> 7
    return out + bytes([n])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def tensor(values, dtype=FLOAT, dims=()):
    flat = struct.pack({FLOAT: "f", INT32: "i"}[dtype] * len(values), *values)
    made = p(lib.TF_AllocateTensor(dtype, (c.c_int64 * len(dims))(*dims), len(dims), c.c_size_t(len(flat))))
    c.memmove(p(lib.TF_TensorData(made)), flat, len(flat))
    return made


def values(t):
    count = lib.TF_TensorElementCount(t)
    dtype = lib.TF_TensorType(t)
    return list(struct.unpack({FLOAT: "f", INT32: "i"}[dtype] * count, c.string_at(p(lib.TF_TensorData(t)), 4 * count)))


def node(graph, op, name, inputs=(), tensor_attr=None, device=None, **attrs):
    d = p(lib.TF_NewOperation(graph, op.encode(), name.encode()))
    for one in inputs:
        lib.TF_AddInput(d, one)
    if device:
        lib.TF_SetDevice(d, device.encode())
    if tensor_attr is not None:
        lib.TF_SetAttrTensor(d, b"value", tensor_attr, status)
    for key, value in attrs.items():
        lib.TF_SetAttrType(d, key.encode(), value)
    return Output(lib.TF_FinishOperation(d, status), 0)


def fetch(session, output, feeds=()):
    result = p(None)
    inputs = (Output * len(feeds))(*[f for f, _ in feeds])
    fed = (c.c_void_p * len(feeds))(*[v.value for _, v in feeds])
    lib.TF_SessionRun(session, None, inputs, fed, len(feeds), c.byref(output), c.byref(result), 1, None, 0, None, status)
    return values(result) if result.value else None


def graph_of_two():
    graph = p(lib.TF_NewGraph())
    x = node(graph, "Placeholder", "x", dtype=FLOAT)
    two = node(graph, "Const", "two", tensor_attr=tensor([2.0]), dtype=FLOAT)
    y = node(graph, "Mul", "y", [x, two])
    return graph, x, y


def graph_def(graph):
    into = p(lib.TF_NewBuffer())
    lib.TF_GraphToGraphDef(graph, into, status)
    b = c.cast(into, c.POINTER(Buffer)).contents
    return c.string_at(b.data, b.length), into


def contents(buffer):
    b = c.cast(p(buffer), c.POINTER(Buffer)).contents
    return c.string_at(b.data, b.length)


def ops():
    listed = contents(lib.TF_GetAllOpList())
    print("ops", all(field(1, name) in listed for name in ["MatMul", "Conv2D", "While", "VarHandleOp", "SparseSoftmaxCrossEntropyWithLogits"]))
    print("kernels", field(1, "MatMul") in contents(lib.TF_GetAllRegisteredKernels(status)))
    print("kernels of one", len(contents(lib.TF_GetRegisteredKernelsForOp(b"MatMul", status))) > 0, "of none",
          len(contents(lib.TF_GetRegisteredKernelsForOp(b"Nothing", status))))
    lib.TF_LoadLibrary(b"/nothing/there.so", status)
    code("library")


def sessions():
    graph, x, y = graph_of_two()
    options = p(lib.TF_NewSessionOptions())
    # ConfigProto: device_count = 1, a map of CPU to 2; allow_soft_placement = 7.
    config = field(1, field(1, "CPU") + field(2, 2)) + field(7, 1)
    lib.TF_SetConfig(options, config, c.c_size_t(len(config)), status)
    code("config")
    session = p(lib.TF_NewSession(graph, options, status))
    code("session")
    devices = p(lib.TF_SessionListDevices(session, status))
    print([lib.TF_DeviceListName(devices, i, status).decode() for i in range(lib.TF_DeviceListCount(devices))])
    print(fetch(session, y, [(x, tensor([1.5, 2.0], dims=[2]))]))
    far = node(graph, "Neg", "far", [y], device="/device:CPU:1")
    print(fetch(session, far, [(x, tensor([3.0]))]))
    nowhere = node(graph, "Neg", "nowhere", [y], device="/device:GPU:3")
    print(fetch(session, nowhere, [(x, tensor([3.0]))]))
    code("placed softly")
    # Threads that share a session.
    wrong = []

    def steps():
        own, result = p(lib.TF_NewStatus()), p(None)
        for i in range(200):
            fed = (c.c_void_p * 1)(tensor([float(i)]).value)
            lib.TF_SessionRun(session, None, c.byref(x), fed, 1, c.byref(y), c.byref(result), 1, None, 0, None, own)
            if values(result) != [2.0 * i]:
                wrong.append(i)

    threads = [threading.Thread(target=steps) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    print("wrong", wrong)
    lib.TF_DeleteSession(session, status)
    lib.TF_DeleteGraph(graph)


def saved_models():
    graph, x, y = graph_of_two()
    definition, _ = graph_def(graph)
    # SavedModel: saved_model_schema_version = 1, meta_graphs = 2 of meta_info_def = 1 (tags = 4), graph_def = 2.
    model = field(1, 1) + field(2, field(1, field(4, "serve")) + field(2, definition))
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "saved_model.pb").write_bytes(model)
        options, loaded, meta = p(lib.TF_NewSessionOptions()), p(lib.TF_NewGraph()), p(lib.TF_NewBuffer())
        tags = (c.c_char_p * 1)(b"serve")
        session = p(lib.TF_LoadSessionFromSavedModel(options, None, folder.encode(), tags, 1, loaded, meta, status))
        code("saved model")
        print("tags", b"serve" in contents(meta.value))
        x, y = [Output(lib.TF_GraphOperationByName(loaded, name), 0) for name in (b"x", b"y")]
        print(fetch(session, y, [(x, tensor([21.0]))]))
        lib.TF_DeleteSession(session, status)
        other = (c.c_char_p * 1)(b"train")
        empty = p(lib.TF_NewGraph())
        print(lib.TF_LoadSessionFromSavedModel(options, None, folder.encode(), other, 1, empty, None, status))
        code("other tags")
    print(lib.TF_LoadSessionFromSavedModel(options, None, b"/nothing/there", tags, 1, p(lib.TF_NewGraph()), None, status))
    code("no model")


def strings(*texts):
    made = p(lib.TF_AllocateTensor(STRING, (c.c_int64 * 1)(len(texts)) if len(texts) > 1 else None, int(len(texts) > 1), c.c_size_t(24 * len(texts))))
    for i, text in enumerate(texts):
        at = p(lib.TF_TensorData(made) + 24 * i)
        lib.TF_StringInit(at)
        lib.TF_StringCopy(at, text.encode(), c.c_size_t(len(text)))
    return made


def changes():
    graph, x, y = graph_of_two()
    three = node(graph, "Const", "three", tensor_attr=tensor([3.0]), dtype=FLOAT)
    wrong = node(graph, "Const", "wrong", tensor_attr=tensor([3], INT32), dtype=INT32)
    lib.TF_UpdateEdge(graph, three, Output(y.oper, 1), status)
    code("update")
    lib.TF_UpdateEdge(graph, three, Output(y.oper, 7), status)
    code("update what is not there")
    lib.TF_SetRequestedDevice(graph, p(y.oper), b"/device:CPU:0")
    print(lib.TF_OperationDevice(p(y.oper)))
    lib.TF_AddOperationControlInput(graph, p(y.oper), p(wrong.oper))
    print("control", lib.TF_OperationNumControlInputs(p(y.oper)))
    lib.TF_RemoveAllControlInputs(graph, p(y.oper))
    print("control", lib.TF_OperationNumControlInputs(p(y.oper)))
    # AttrValue: b = 5.
    lib.TF_SetAttr(graph, p(y.oper), b"_mine", p(lib.TF_NewBufferFromString(field(5, 1), c.c_size_t(2))), status)
    code("set")
    value = c.c_ubyte(9)
    lib.TF_OperationGetAttrBool(p(y.oper), b"_mine", c.byref(value), status)
    print("mine", value.value)
    lib.TF_ClearAttr(graph, p(y.oper), b"_mine", status)
    code("clear")
    lib.TF_OperationGetAttrBool(p(y.oper), b"_mine", c.byref(value), status)
    code("cleared")
    session = p(lib.TF_NewSession(graph, p(lib.TF_NewSessionOptions()), status))
    print(fetch(session, y, [(x, tensor([5.0]))]))


def checkpoints():
    graph, x, y = graph_of_two()
    with tempfile.TemporaryDirectory() as folder:
        prefix = str(pathlib.Path(folder, "model"))
        inputs = [node(graph, "Const", f"text{i}", tensor_attr=t, dtype=STRING)
                  for i, t in enumerate([strings(prefix), strings("w", "layer/a name that is a bit longer"), strings("", "")])]
        two = Output(lib.TF_GraphOperationByName(graph, b"two"), 0)
        ints = node(graph, "Const", "ints", tensor_attr=tensor([1, 2, 3, 4, 5, 6], INT32, [2, 3]), dtype=INT32)
        d = p(lib.TF_NewOperation(graph, b"SaveV2", b"save"))
        for one in inputs:
            lib.TF_AddInput(d, one)
        lib.TF_AddInputList(d, (Output * 2)(two, ints), 2)
        save = (c.c_void_p * 1)(lib.TF_FinishOperation(d, status))
        session = p(lib.TF_NewSession(graph, p(lib.TF_NewSessionOptions()), status))
        lib.TF_SessionRun(session, None, None, None, 0, None, None, 0, save, 1, None, status)
        code("save")
        reader = p(lib.TF_NewCheckpointReader(prefix.encode(), status))
        code("reader")
        names = [lib.TF_CheckpointReaderGetVariable(reader, i) for i in range(lib.TF_CheckpointReaderSize(reader))]
        print(sorted(names))
        for name in sorted(names):
            rank = lib.TF_CheckpointReaderGetVariableNumDims(reader, name)
            dims = (c.c_int64 * 4)()
            lib.TF_CheckpointReaderGetVariableShape(reader, name, dims, rank, status)
            kept = p(lib.TF_CheckpointReaderGetTensor(reader, name, status))
            print(lib.TF_CheckpointReaderGetVariableDataType(reader, name), list(dims)[:rank], values(kept))
        print("has", lib.TF_CheckpointReaderHasTensor(reader, b"w"), lib.TF_CheckpointReaderHasTensor(reader, b"v"))
        lib.TF_CheckpointReaderGetTensor(reader, b"v", status)
        code("no variable")
        lib.TF_NewCheckpointReader(b"/nothing/there", status)
        code("no checkpoint")


def servers():
    with socket.socket() as s:
        s.bind(("localhost", 0))
        port = s.getsockname()[1]
    # ServerDef: cluster = 1 (job = 1: name = 1, tasks = 2, a map), job_name = 2, task_index = 3, protocol = 5.
    job = field(1, "local") + field(2, field(1, 0) + field(2, f"localhost:{port}"))
    definition = field(1, field(1, job)) + field(2, "local") + field(3, 0) + field(5, "grpc")
    server = p(lib.TF_NewServer(definition, c.c_size_t(len(definition)), status))
    code("server")
    print(lib.TF_ServerTarget(server).decode() == f"grpc://localhost:{port}")
    lib.TF_ServerStart(server, status)
    code("start")
    graph, x, y = graph_of_two()
    options = p(lib.TF_NewSessionOptions())
    lib.TF_SetTarget(options, f"grpc://localhost:{port}".encode())
    session = p(lib.TF_NewSession(graph, options, status))
    code("remote session")
    print(fetch(session, y, [(x, tensor([4.0]))]))
    more = node(graph, "Neg", "more", [y])
    print(fetch(session, more, [(x, tensor([4.0]))]))
    devices = p(lib.TF_SessionListDevices(session, status))
    print(any(b"/job:local/replica:0/task:0/device:CPU:0" in lib.TF_DeviceListName(devices, i, status) for i in range(lib.TF_DeviceListCount(devices))))
    lib.TF_CloseSession(session, status)
    code("close")
    lib.TF_NewServer(b"\xff", c.c_size_t(1), status)
    code("garbage server")


def eager():
    context = p(lib.TFE_NewContext(p(lib.TFE_NewContextOptions()), status))
    graph, x, y = graph_of_two()
    function = p(lib.TF_GraphToFunction(graph, b"double", 0, -1, None, 1, c.byref(x), 1, c.byref(y), None, None, None, status))
    code("function")
    lib.TFE_ContextAddFunction(context, function, status)
    code("add")
    print("has", lib.TFE_ContextHasFunction(context, b"double"), lib.TFE_ContextHasFunction(context, b"other"))
    lib.TFE_NewOp(context, b"other", status)
    code("no function")
    handle = p(lib.TFE_NewTensorHandle(tensor([1.0, 2.0], dims=[2]), status))

    def execute(name, inputs, places=2, **types):
        op = p(lib.TFE_NewOp(context, name.encode(), status))
        for one in inputs:
            lib.TFE_OpAddInput(op, one, status)
        for key, value in types.items():
            lib.TFE_OpSetAttrType(op, key.encode(), value)
        results, count = (c.c_void_p * places)(), c.c_int(places)
        lib.TFE_Execute(op, results, c.byref(count), status)
        code(name)
        return [p(r) for r in results[: count.value]] if results[0] else []

    for _ in range(2):
        print([values(p(lib.TFE_TensorHandleResolve(r, status))) for r in execute("double", [handle])])
    print([values(p(lib.TFE_TensorHandleResolve(r, status))) for r in execute("AddV2", [handle, handle])])
    print([values(p(lib.TFE_TensorHandleResolve(r, status))) for r in execute("Cast", [handle], SrcT=FLOAT, DstT=INT32)])
    execute("MatMul", [handle, handle])
    lib.TFE_ContextRemoveFunction(context, b"double", status)
    code("remove")
    print("has", lib.TFE_ContextHasFunction(context, b"double"))
    # A variable: made, assigned, read.
    op = p(lib.TFE_NewOp(context, b"VarHandleOp", status))
    lib.TFE_OpSetAttrType(op, b"dtype", FLOAT)
    lib.TFE_OpSetAttrShape(op, b"shape", (c.c_int64 * 1)(2), 1, status)
    lib.TFE_OpSetAttrString(op, b"shared_name", b"v", c.c_size_t(1))
    results, count = (c.c_void_p * 1)(), c.c_int(1)
    lib.TFE_Execute(op, results, c.byref(count), status)
    code("variable")
    variable = p(results[0])
    execute("AssignVariableOp", [variable, handle], places=1)
    execute("AssignAddVariableOp", [variable, handle], places=1)
    print([values(p(lib.TFE_TensorHandleResolve(r, status))) for r in execute("ReadVariableOp", [variable], dtype=FLOAT)])


for check in [ops, sessions, changes, checkpoints, saved_models, eager, servers]:
    print(f"-- {check.__name__}")
    check()
    sys.stdout.flush()
print("done")
# A server of TensorFlow's does not stop.
sys.stdout.flush()
__import__("os")._exit(0)
