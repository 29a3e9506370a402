"""Messages of tensorflow.MasterService for tests that send them directly: TensorFlow's package does not export them, so they are defined here, with
the fields that tests need."""

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from tensorflow.core.framework import graph_pb2, tensor_pb2  # noqa: F401  (known to the pool)
from tensorflow.core.protobuf import config_pb2  # noqa: F401

FIELDS = {
    "NamedTensorProto": {"name": (1, str), "tensor": (2, "TensorProto")},
    "CreateSessionRequest": {"graph_def": (1, "GraphDef"), "config": (2, "ConfigProto")},
    "CreateSessionResponse": {"session_handle": (1, str)},
    "PartialRunSetupRequest": {"session_handle": (1, str), "feed": (2, [str]), "fetch": (3, [str]), "target": (4, [str])},
    "PartialRunSetupResponse": {"partial_run_handle": (1, str)},
    "RunStepRequest": {
        "session_handle": (1, str),
        "feed": (2, ["NamedTensorProto"]),
        "fetch": (3, [str]),
        "options": (5, "RunOptions"),
        "partial_run_handle": (6, str),
    },
    "RunStepResponse": {"tensor": (1, ["NamedTensorProto"]), "metadata": (2, "RunMetadata")},
}
OWN = "thalweg.testing"


def _field(name, number, kind):
    field = descriptor_pb2.FieldDescriptorProto(name=name, number=number, label=3 if isinstance(kind, list) else 1)
    kind = kind[0] if isinstance(kind, list) else kind
    if kind is str:
        field.type = descriptor_pb2.FieldDescriptorProto.TYPE_STRING
    else:
        field.type = descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE
        field.type_name = f".{OWN if kind in FIELDS else 'tensorflow'}.{kind}"
    return field


def _classes():
    pool = descriptor_pool.Default()
    needs = [m.DESCRIPTOR.file.name for m in (graph_pb2.GraphDef, tensor_pb2.TensorProto, config_pb2.ConfigProto)]
    file = descriptor_pb2.FileDescriptorProto(name="thalweg_testing_master.proto", package=OWN, syntax="proto3", dependency=needs)
    for name, fields in FIELDS.items():
        file.message_type.add(name=name).field.extend(_field(f, *spec) for f, spec in fields.items())
    pool.Add(file)
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{OWN}.{name}")) for name in FIELDS}


MESSAGES = _classes()


class Master:
    """Calls a master by the names of its methods: `master.RunStep(session_handle=..)`."""

    def __init__(self, target):
        self.channel = grpc.insecure_channel(target.removeprefix("grpc://"))

    def __getattr__(self, method):
        answer = MESSAGES[f"{method}Response"]
        call = self.channel.unary_unary(
            f"/tensorflow.MasterService/{method}", request_serializer=lambda m: m.SerializeToString(), response_deserializer=answer.FromString
        )
        return lambda **fields: call(MESSAGES[f"{method}Request"](**fields), timeout=60)
