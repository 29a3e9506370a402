"""Has TensorFlow read what we write, in both forms.

    cargo build -p thalweg-proto --example pbtxt
    python check_text_with_tensorflow.py target/debug/examples/pbtxt [more GraphDef .pb files]

Each fixture, and each graph named, is printed and parsed again by the program; TensorFlow must find the same
message in both results.
"""

import glob
import os
import subprocess
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from google.protobuf import text_format  # noqa: E402
from tensorflow.core.framework import graph_pb2  # noqa: E402
from tensorflow.core.protobuf import config_pb2, meta_graph_pb2  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
TYPES = {"meta_graph": meta_graph_pb2.MetaGraphDef, "config": config_pb2.ConfigProto}


def main():
    program, *more = sys.argv[1:]
    paths = sorted(glob.glob(HERE + "/data/*.pb")) + more
    for path in paths:
        message_type = TYPES.get(os.path.basename(path)[:-3], graph_pb2.GraphDef)
        name = message_type.DESCRIPTOR.name
        want = message_type.FromString(open(path, "rb").read())

        printed = subprocess.run([program, "print", name], stdin=open(path), capture_output=True, check=True).stdout
        parsed = subprocess.run([program, "parse", name], input=printed, capture_output=True, check=True).stdout
        for got in (text_format.Parse(printed, message_type()), message_type.FromString(parsed)):
            # NaN does not equal itself, so that encodings are compared.
            same = got.SerializeToString(deterministic=True) == want.SerializeToString(deterministic=True)
            if not same:
                sys.exit(f"{path}: TensorFlow reads something else")
        exact = printed.decode() == text_format.MessageToString(want)
        print(f"{path}: same message, text {'identical' if exact else 'differs'}")


if __name__ == "__main__":
    main()
