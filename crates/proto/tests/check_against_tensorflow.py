"""Compares our messages with those of an installed TensorFlow.

    cargo run -p thalweg-proto --example descriptor_set > /tmp/ours.bin
    python check_against_tensorflow.py /tmp/ours.bin

Every message, field, enum and value that we declare must exist there with the same number, type, label and
oneof. What TensorFlow has beyond ours is listed, and is not an error.

TensorFlow ships no Python modules for master.proto and worker.proto; their descriptors are read from its shared
library, which contains them in encoded form. The services are in neither place: the names of their methods are
looked for in that library.
"""

import glob
import importlib
import mmap
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from google.protobuf import descriptor_pb2  # noqa: E402
import tensorflow  # noqa: E402

ROOT = os.path.dirname(tensorflow.__file__)
Field = descriptor_pb2.FieldDescriptorProto


def python_files():
    """The descriptors of all Python modules of TensorFlow and TensorBoard, and of what they import."""
    found = {}
    site = os.path.dirname(ROOT)
    for path in glob.glob(ROOT + "/**/*_pb2.py", recursive=True) + glob.glob(site + "/tensorboard/**/*_pb2.py", recursive=True):
        name = os.path.relpath(path, site)[:-3].replace("/", ".")
        try:
            todo = [importlib.import_module(name).DESCRIPTOR]
        except Exception as error:  # Some need packages that are not installed.
            print(f"note: cannot import {name}: {error}")
            continue
        while todo:
            file = todo.pop()
            if file.name not in found:
                found[file.name] = descriptor_pb2.FileDescriptorProto()
                file.CopyToProto(found[file.name])
                todo += file.dependencies
    return list(found.values())


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def library():
    with open(ROOT + "/libtensorflow_cc.so.2", "rb") as file:
        return mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)


def embedded_file(data, name):
    """The FileDescriptorProto that starts with this name; `syntax` is the last field of each."""
    start = data.find(b"\x0a" + bytes([len(name)]) + name.encode())
    if start < 0:
        sys.exit(f"no descriptor of {name} in TensorFlow's library")
    at, number = start, 0
    while number != 12:
        tag, at = varint(data, at)
        number = tag >> 3
        length, at = varint(data, at)
        if tag & 7 == 2:
            at += length
    return descriptor_pb2.FileDescriptorProto.FromString(data[start:at])


def types(files):
    """All messages and enums by full name."""
    messages, enums = {}, {}

    def add(scope, message_types, enum_types):
        for enum in enum_types:
            enums[f"{scope}.{enum.name}"] = enum
        for message in message_types:
            name = f"{scope}.{message.name}"
            messages[name] = message
            add(name, message.nested_type, message.enum_type)

    for file in files:
        add(file.package, file.message_type, file.enum_type)
    return messages, enums


def facts(message, field):
    """All of a field that matters on the wire and in text."""
    oneof = message.oneof_decl[field.oneof_index].name if field.HasField("oneof_index") else None
    unpacked = field.options.HasField("packed") and not field.options.packed
    return {
        "number": field.number,
        "type": Field.Type.Name(field.type),
        "label": Field.Label.Name(field.label),
        "type_name": field.type_name,
        "oneof": oneof,
        "optional": field.proto3_optional,
        "unpacked": unpacked,
    }


def main():
    ours = descriptor_pb2.FileDescriptorSet.FromString(open(sys.argv[1], "rb").read())
    data = library()
    theirs = python_files()
    theirs += [embedded_file(data, f"tensorflow/core/protobuf/{name}.proto") for name in ("master", "worker")]
    our_messages, our_enums = types(ours.file)
    their_messages, their_enums = types(theirs)

    wrong, beyond, fields = [], [], 0
    for name, message in our_messages.items():
        other = their_messages.get(name)
        if other is None:
            wrong.append(f"{name}: no such message")
            continue
        if message.options.map_entry != other.options.map_entry:
            wrong.append(f"{name}: a map on one side only")
        their_fields = {field.name: field for field in other.field}
        for field in message.field:
            fields += 1
            match = their_fields.pop(field.name, None)
            if match is None:
                wrong.append(f"{name}.{field.name}: no such field")
            elif facts(message, field) != facts(other, match):
                wrong.append(f"{name}.{field.name}: {facts(message, field)} is {facts(other, match)}")
        beyond += [f"{name}.{field}" for field in their_fields]
    for name, enum in our_enums.items():
        if name not in their_enums:
            wrong.append(f"{name}: no such enum")
            continue
        values = {value.name: value.number for value in enum.value}
        their_values = {value.name: value.number for value in their_enums[name].value}
        wrong += [f"{name}.{v}: no such value" for v in values.items() - their_values.items()]
        beyond += [f"{name}.{v}" for v in their_values.items() - values.items()]
    methods = 0
    for file in ours.file:
        for service in file.service:
            for method in service.method:
                methods += 1
                path = f"/{file.package}.{service.name}/{method.name}"
                if data.find(path.encode() + b"\0") < 0:
                    wrong.append(f"{path}: no such method")

    for line in beyond:
        print("only in TensorFlow:", line)
    for line in wrong:
        print("WRONG", line)
    print(
        f"TensorFlow {tensorflow.__version__}: {len(our_messages)} messages, {fields} fields, {len(our_enums)} enums, "
        f"{methods} methods compared; {len(wrong)} wrong, {len(beyond)} only in TensorFlow"
    )
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
