"""Checkpoints: TensorFlow's read by Thalweg, and Thalweg's by TensorFlow."""

import re
from unittest import mock

import numpy as np
import pytest
import tensorflow as tf

tf1 = tf.compat.v1

TYPES = [
    tf.float16, tf.bfloat16, tf.float32, tf.float64, tf.int8, tf.int16, tf.int32, tf.int64,
    tf.uint8, tf.uint16, tf.uint32, tf.uint64, tf.bool, tf.complex64, tf.complex128, tf.string,
]  # fmt: skip
SHAPES = [(), (0,), (5,), (2, 3), (2, 0, 4)]


def value(dtype, shape, rng):
    if dtype == tf.string:
        words = [rng.bytes(int(n)) for n in rng.integers(0, 300, int(np.prod(shape)))]
        return np.array(words, object).reshape(shape)
    if dtype == tf.bool:
        return rng.integers(0, 2, shape).astype(bool)
    numbers = rng.normal(0, 50, shape)
    if dtype.is_complex:
        return (numbers + 1j * rng.normal(0, 50, shape)).astype(dtype.as_numpy_dtype)
    if dtype.is_unsigned:
        numbers = np.abs(numbers)
    return numbers.astype(dtype.as_numpy_dtype)


def all_values():
    rng = np.random.default_rng(0)
    return {f"{t.name}/{i}": (t, value(t, s, rng)) for t in TYPES for i, s in enumerate(SHAPES)}


def save_with_tensorflow(prefix, values):
    with tf1.Graph().as_default(), tf1.Session() as session:
        tensors = [tf.constant(v, t) for t, v in values.values()]
        names = list(values)
        session.run(tf.raw_ops.SaveV2(prefix=str(prefix), tensor_names=names, shape_and_slices=[""] * len(names), tensors=tensors))


def restore_with_tensorflow(prefix, names, types, slices=None):
    with tf1.Graph().as_default(), tf1.Session() as session:
        slices = slices or [""] * len(names)
        return session.run(tf.raw_ops.RestoreV2(prefix=str(prefix), tensor_names=names, shape_and_slices=slices, dtypes=types))


def test_every_type_and_shape_goes_through_both(example, tmp_path):
    values = all_values()
    save_with_tensorflow(tmp_path / "theirs", values)
    example("copy", "checkpoint", tmp_path / "theirs", tmp_path / "ours")
    restored = restore_with_tensorflow(tmp_path / "ours", list(values), [t for t, _ in values.values()])
    for (name, (_, want)), got in zip(values.items(), restored):
        got = np.asarray(got)
        assert got.shape == want.shape and got.tobytes() == want.tobytes() or np.array_equal(got, want), name
    reader = tf.train.load_checkpoint(str(tmp_path / "ours"))
    assert set(reader.get_variable_to_shape_map()) == set(values)
    # The same tensors in the order of their names: the same files, byte for byte.
    save_with_tensorflow(tmp_path / "sorted", dict(sorted(values.items())))
    for file in ("index", "data-00000-of-00001"):
        assert (tmp_path / f"ours.{file}").read_bytes() == (tmp_path / f"sorted.{file}").read_bytes(), file


def test_large_indexes_are_read_and_written(example, tmp_path):
    """More names than fit in one block of the index."""
    names = {f"layer_{i // 7}/some/long/name/for/a/variable/{i}": (tf.int32, np.int32(i)) for i in range(9000)}
    save_with_tensorflow(tmp_path / "theirs", names)
    example("copy", "checkpoint", tmp_path / "theirs", tmp_path / "ours")
    reader = tf.train.load_checkpoint(str(tmp_path / "ours"))
    assert all(reader.get_tensor(n) == v for n, (_, v) in names.items())


def test_partitioned_variables_and_shards_are_put_together(example, tmp_path):
    """A sharded Saver's checkpoint with a variable in three slices."""
    with tf1.Graph().as_default(), tf1.Session() as session:
        parts = tf1.get_variable(
            "p", shape=[7, 3], partitioner=tf1.fixed_size_partitioner(3), initializer=tf1.random_normal_initializer(seed=1), use_resource=True
        )
        saver = tf1.train.Saver(sharded=True)
        session.run(tf1.global_variables_initializer())
        want = session.run(tf.convert_to_tensor(parts))
        prefix = saver.save(session, str(tmp_path / "model"), global_step=1)
    example("copy", "checkpoint", prefix, tmp_path / "ours")
    (got,) = restore_with_tensorflow(tmp_path / "ours", ["p"], [tf.float32])
    assert np.array_equal(got, want)


def partitioned_graph():
    """What `examples/partitioned.rs` builds."""
    table = tf1.get_variable("table", shape=[7, 3], partitioner=tf1.fixed_size_partitioner(3), initializer=tf1.random_normal_initializer(), use_resource=True)
    rows = tf1.nn.embedding_lookup(table, tf.constant([6, 0, 3, 3], tf.int64), partition_strategy="div")
    train = tf1.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(tf.square(rows)))
    return tf.convert_to_tensor(table), train


def test_partitioned_variables_of_ours_are_tensorflows(example, tmp_path):
    """Partitions saved by either are slices of one tensor to the other, with their slots, and training resumes."""

    def numbers(text):
        return np.array([float(n) for n in text.split()], np.float32).reshape(7, 3)

    prefix = str(tmp_path / "ours")
    ours = numbers(example("partitioned", "train", prefix))
    reader = tf.train.load_checkpoint(prefix)
    assert reader.get_variable_to_shape_map() == {"table": [7, 3], "table/Adagrad": [7, 3]}
    assert np.array_equal(reader.get_tensor("table"), ours)
    with tf1.Graph().as_default(), tf1.Session() as session:
        whole, train = partitioned_graph()
        saver = tf1.train.Saver()
        saver.restore(session, prefix)
        assert np.array_equal(session.run(whole), ours)
        for _ in range(3):
            session.run(train)
        theirs = session.run(whole)
        saved = saver.save(session, str(tmp_path / "theirs"))
    assert np.array_equal(numbers(example("partitioned", "show", saved)), theirs)
    # With the graph from our meta file, whose variables say which slices they are.
    with tf1.Graph().as_default() as graph, tf1.Session() as session:
        saver = tf1.train.import_meta_graph(prefix + ".meta")
        saver.restore(session, prefix)
        for _ in range(3):
            session.run(graph.get_operation_by_name("Adagrad"))
        assert np.allclose(session.run(graph.get_tensor_by_name("table:0")), theirs, rtol=1e-6)
        slices = [v._save_slice_info.spec for v in tf1.trainable_variables()]
        assert slices == ["7 3 0,3:0,3", "7 3 3,2:0,3", "7 3 5,2:0,3"]


def variables_of(text):
    """`name [1. 2.]` lines as numbers."""
    found = {}
    for line in text.splitlines():
        name, numbers = line.split(" ", 1)
        found[name] = np.array([float(n) for n in re.findall(r"[-+.e0-9]+", numbers)])
    return found


def test_training_goes_on_in_tensorflow_and_back(example, tmp_path):
    """A run of ours, restored with its graph by TensorFlow, trained further there, and restored here."""
    example("line", "train", tmp_path, 20)
    prefix = tf.train.latest_checkpoint(str(tmp_path))
    assert prefix == str(tmp_path / "model-20")
    ours = variables_of(example("line", "show", prefix))
    assert set(ours) == {"w", "b", "global_step", "w/Momentum", "b/Momentum"}
    with tf1.Graph().as_default() as graph, tf1.Session() as session:
        saver = tf1.train.import_meta_graph(prefix + ".meta")
        saver.restore(session, prefix)
        theirs = {v.op.name: v for v in tf1.global_variables()}
        assert set(theirs) == set(ours)
        for name, variable in theirs.items():
            assert np.allclose(session.run(variable), ours[name], rtol=1e-6), name
        assert [v.op.name for v in tf1.trainable_variables()] == ["w", "b"]
        train = graph.get_operation_by_name("Momentum")
        for _ in range(10):
            session.run(train)
        after = {name: session.run(v) for name, v in theirs.items()}
        assert after["global_step"] == 30
        saved = saver.save(session, str(tmp_path / "theirs"), global_step=30)
    back = variables_of(example("line", "show", saved))
    for name, want in after.items():
        assert np.allclose(back[name], want, rtol=1e-6), name
    # The same ten steps made by Thalweg itself.
    example("line", "train", tmp_path, 0)
    example("copy", "checkpoint", prefix, tmp_path / "own" / "model-20")
    example("line", "train", tmp_path / "own", 10)
    own = variables_of(example("line", "show", tmp_path / "own" / "model-30"))
    for name, want in after.items():
        assert np.allclose(own[name], want, rtol=1e-5, atol=1e-7), name


@pytest.mark.parametrize("newest, hours", [(2, 1), (1, 0.5), (3, 10000), (0, 1)])
def test_the_same_checkpoints_stay(example, tmp_path, newest, hours):
    """Saved about every quarter of an hour, with one long gap, by mock clocks."""
    times = [100, 1000, 1900, 2800, 3700, 4600, 5500, 6400, 7300, 20000, 20900, 21800, 22700, 23600, 24500]
    example("keeping", tmp_path / "ours", newest, hours, *times)
    with tf1.Graph().as_default(), tf1.Session() as session, mock.patch("time.time") as clock:
        clock.return_value = 0
        tf1.get_variable("v", initializer=1.0, use_resource=True)
        saver = tf1.train.Saver(max_to_keep=newest, keep_checkpoint_every_n_hours=hours)
        session.run(tf1.global_variables_initializer())
        for i, clock.return_value in enumerate(times):
            saver.save(session, str(tmp_path / "theirs" / "model"), global_step=i)
    theirs = sorted(p.name for p in (tmp_path / "theirs").iterdir())
    assert sorted(p.name for p in (tmp_path / "ours").iterdir()) == theirs
    if newest:
        listed = [tf.train.get_checkpoint_state(str(tmp_path / of)).all_model_checkpoint_paths for of in ("ours", "theirs")]
        assert [p.split("/")[-1] for p in listed[0]] == [p.split("/")[-1] for p in listed[1]]


@pytest.mark.parametrize("ours", ["", "GZIP", "ZLIB"])
@pytest.mark.parametrize("theirs", ["", "GZIP", "ZLIB"])
def test_records_go_both_ways(example, tmp_path, theirs, ours):
    rng = np.random.default_rng(1)
    records = [rng.bytes(int(n)) for n in [0, 1, 100, 70000, 3]]
    with tf.io.TFRecordWriter(str(tmp_path / "theirs"), theirs) as writer:
        for r in records:
            writer.write(r)
    example("copy", "records", tmp_path / "theirs", tmp_path / "ours", theirs, ours)
    got = list(tf1.io.tf_record_iterator(str(tmp_path / "ours"), tf.io.TFRecordOptions(compression_type=ours)))
    assert got == records
