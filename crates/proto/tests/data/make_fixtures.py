"""Writes the fixtures of `tests/text.rs` with TensorFlow: each message as .pb, and as .pbtxt beside it.

    python make_fixtures.py

Functions are named by counters and graphs keep creation order, so the output is the same each time.
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf  # noqa: E402
from google.protobuf import text_format  # noqa: E402
from tensorflow.core.protobuf import config_pb2  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
v1 = tf.compat.v1


def write(name, message):
    with open(f"{HERE}/{name}.pb", "wb") as file:
        file.write(message.SerializeToString(deterministic=True))
    with open(f"{HERE}/{name}.pbtxt", "w", encoding="utf-8") as file:
        file.write(text_format.MessageToString(message))


def constants():
    """Constants of many types, and attributes of all kinds."""
    with tf.Graph().as_default() as graph:
        nan, inf = float("nan"), float("inf")
        for i, value in enumerate([nan, inf, -inf, 0.1, -0.0, 1.0, 1e-5, 1e20, 16777216.0, 3.4028235e38, 1e-45]):
            tf.constant(value, tf.float32, name=f"f{i}")
        for i, value in enumerate([nan, inf, -inf, 0.1, -0.0, 123456789012345680.0, 1e15, 1e16, 5e-324, 1 / 3]):
            tf.constant(value, tf.float64, name=f"d{i}")
        for dtype in (tf.int8, tf.int16, tf.int32, tf.int64):
            tf.constant(dtype.min, dtype)
            tf.constant([-1, 2, 3], dtype)
        for dtype in (tf.uint8, tf.uint16, tf.uint32, tf.uint64):
            tf.constant(dtype.max, dtype)
        tf.constant(-1.5, tf.half)
        tf.constant([1.5, 2.5], tf.bfloat16)
        tf.constant(True)
        tf.constant([True, False])
        tf.constant(1 - 2j, tf.complex64)
        tf.constant(1 - 2j, tf.complex128)
        tf.constant(bytes(range(256)))
        tf.constant([b"", b"plain", b"tab\tquote\"'back\\slash\n", "\u00e9\u6c34\U0001f30a".encode(), b"\xff\x007"])
        tf.zeros([0, 3])
        tf.zeros([4, 5], name="zeros")
        x = v1.placeholder(tf.float32, [None, 3], name="x")
        v1.placeholder(tf.float32, None, name="any_shape")
        tf.raw_ops.MaxPool(input=tf.reshape(x, [1, 1, -1, 3]), ksize=[1, 1, 2, 1], strides=[1, 1, 2, 1], padding="SAME")
        graph_def = graph.as_graph_def()
    node = graph_def.node.add(name="odd", op="Odd", device="/job:ps/task:0/device:CPU:0", input=["x", "f0:0", "^d0"])
    node.attr["unknown_enum"].type = 77
    node.attr["reference"].type = 101
    node.attr["zero"].i = 0
    node.attr["false"].b = False
    node.attr["empty"].s = b""
    node.attr["nothing"].SetInParent()
    node.attr["placeholder"].placeholder = "T"
    node.attr["\u6c34 \"'\n"].s = "\u6c34\x7f".encode()
    node.attr["floats"].list.f.extend([nan, -inf, 0.5, 0.0])
    node.attr["ints"].list.i.extend([-(2**63), 2**63 - 1, 0])
    node.attr["types"].list.type.extend([1, 99, 0])
    node.attr["shapes"].list.shape.add().unknown_rank = True
    node.attr["function"].func.name = "f"
    node.attr["function"].func.attr["T"].type = 3
    node.attr["variant"].tensor.dtype = 21
    node.attr["variant"].tensor.variant_val.add(type_name="t", metadata=b"\x01\xfe").tensors.add(dtype=1, float_val=[2])
    node.attr["resource"].tensor.resource_handle_val.add(device="d", hash_code=2**64 - 1).dtypes_and_shapes.add(dtype=1)
    node.experimental_debug_info.original_node_names.append("before")
    return graph_def


def control_flow():
    """Loops and conditionals of both generations, and functions."""
    with tf.Graph().as_default() as graph:
        v1.disable_control_flow_v2()
        x = v1.placeholder(tf.float32, [], name="x")
        tf.cond(x > 0, lambda: x * 2, lambda: x - 1)
        v1.while_loop(lambda i, _: i < 10, lambda i, a: (i + 1, a * x), [0, x])
        v1.enable_control_flow_v2()
        tf.cond(x > 0, lambda: x * 2, lambda: x - 1, name="cond_v2")
        v1.while_loop(lambda i: i < 10, lambda i: i + 1, [0], name="while_v2")

        @tf.function(input_signature=[tf.TensorSpec([2], tf.float32, name="v")], autograph=False)
        def double(v):
            return v + v

        with tf.control_dependencies([x]):
            double(tf.stack([x, x]))
        return graph.as_graph_def()


def meta_graph():
    """Variables, a saver, collections and signatures; a message inside of an Any."""
    with tf.Graph().as_default():
        v = v1.get_variable("v", [2], initializer=v1.zeros_initializer(), use_resource=True)
        v1.add_to_collection("numbers", 3)
        v1.add_to_collection("losses", tf.reduce_sum(v))
        saver = v1.train.Saver([v], sharded=False)
        meta = v1.train.export_meta_graph(saver_def=saver.as_saver_def(), clear_devices=True)
    del meta.meta_info_def.stripped_op_list.op[4:]
    meta.meta_info_def.tensorflow_git_version = "unknown"
    meta.meta_info_def.function_aliases["b"] = ""
    meta.meta_info_def.function_aliases["a"] = "x"
    meta.meta_info_def.any_info.Pack(v1.GraphDef(versions={"producer": 7}).versions)
    other = meta.collection_def["anys"].any_list.value.add()
    other.type_url, other.value = "type.googleapis.com/tensorflow.NoSuchMessage", b"\x08\x01"
    signature = meta.signature_def["serving_default"]
    signature.inputs["v"].name = "v:0"
    signature.inputs["v"].dtype = 1
    signature.inputs["sparse"].coo_sparse.values_tensor_name = "s:0"
    return meta


def config():
    """Maps with zero values and integer keys; enums with negative values."""
    config = config_pb2.ConfigProto(device_count={"CPU": 1, "GPU": 0}, operation_timeout_in_ms=-1)
    config.graph_options.optimizer_options.opt_level = -1
    config.graph_options.rewrite_options.constant_folding = 2
    config.gpu_options.per_process_gpu_memory_fraction = 0.333
    config.gpu_options.experimental.SetInParent()
    job = config.cluster_def.job.add(name="worker")
    for task in (10, 9, 0, 2):
        job.tasks[task] = f"host{task}:2222"
    config.session_inter_op_thread_pool.add()
    return config


def main():
    v1.disable_eager_execution()
    write("constants", constants())
    write("control_flow", control_flow())
    write("meta_graph", meta_graph())
    write("config", config())


if __name__ == "__main__":
    sys.exit(main())
