"""Our feature columns against TensorFlow's own: values, names of variables, and our graph run by TensorFlow."""

import numpy as np
import pytest
import tensorflow as tf

tf1 = tf.compat.v1
fc = tf.compat.v1.feature_column

FEATURES = {
    "age": np.array([3, 18, 70.5], np.float32),
    "size": np.array([[1, 2], [30, 40], [500, 600]], np.int32),
    "colour": np.array([b"green", b"pink", b""], object),
    "colours": np.array([[b"red", b"green"], [b"", b"blue"], [b"red", b"ultraviolet"]], object),
    "number": np.array([7, -1, 1234567], np.int64),
    "code": np.array([2, 5, 0], np.int32),
    "counts": np.array([[0.5, 2.0], [0.0, 3.0], [-1.0, 0.25]], np.float32),
    "share": np.array([4, 5, 0], np.int32),
    "times": np.array([3, 0, 2], np.float32),
}


def counting(shape, dtype=None, partition_info=None):
    return tf.reshape(tf.constant(np.arange(np.prod(shape)) * np.float32(0.1), tf.float32), shape)


def columns(vocabulary):
    def age():
        return fc.numeric_column("age")

    def words(key, **kwargs):
        return fc.categorical_column_with_vocabulary_list(key, ["red", "green", "blue"], **kwargs)

    def in_file(**kwargs):
        return fc.categorical_column_with_vocabulary_file("colours", str(vocabulary), **kwargs)

    bucketized = fc.bucketized_column(age(), [10.0, 18.0, 65.0])
    both = fc.bucketized_column(fc.numeric_column("size", shape=(2,)), [2.0, 100.0])
    identity = fc.categorical_column_with_identity("code", 4, default_value=3)
    hashed = fc.categorical_column_with_hash_bucket("colours", 11)
    code = fc.crossed_column(["colour", "code"], 13)

    weighted = fc.weighted_categorical_column(hashed, "counts")

    def embedded(source, dimension, combiner="mean"):
        return fc.embedding_column(source, dimension, combiner=combiner, initializer=counting)

    numbers = fc.categorical_column_with_vocabulary_list("number", [7, 1234567], dtype=tf.int64, num_oov_buckets=2)
    return {
        "numeric": age(),
        "numeric_shape": fc.numeric_column("size", shape=(2,), normalizer_fn=lambda x: x * 2),
        "bucketized": bucketized,
        "bucketized_shape": both,
        "list": fc.indicator_column(words("colour")),
        "list_default": fc.indicator_column(words("colour", default_value=1)),
        "list_oov": fc.indicator_column(words("colours", num_oov_buckets=4)),
        "list_numbers": fc.indicator_column(numbers),
        "file": fc.indicator_column(in_file()),
        "file_oov": fc.indicator_column(in_file(vocabulary_size=2, num_oov_buckets=3)),
        "hashed": fc.indicator_column(hashed),
        "hashed_numbers": fc.indicator_column(fc.categorical_column_with_hash_bucket("number", 9, dtype=tf.int64)),
        "identity": fc.indicator_column(identity),
        "crossed": fc.indicator_column(code),
        "crossed_ids": fc.indicator_column(fc.crossed_column(["colours", bucketized, both], 17)),
        "crossed_nested": fc.indicator_column(fc.crossed_column(["number", fc.crossed_column(["colour", "code"], 5)], 19, hash_key=9)),
        "embedding_mean": embedded(hashed, 3),
        "embedding_sum": embedded(hashed, 3, "sum"),
        "embedding_sqrtn": embedded(hashed, 3, "sqrtn"),
        "embedding_list": embedded(words("colour"), 2),
        "weighted_indicator": fc.indicator_column(weighted),
        "weighted_list": fc.indicator_column(fc.weighted_categorical_column(words("colour"), "share", dtype=tf.int32)),
        "weighted_mean": embedded(weighted, 3),
        "weighted_sum": embedded(weighted, 3, "sum"),
        "weighted_sqrtn": embedded(weighted, 3, "sqrtn"),
        "linear_weighted": weighted,
        "linear_hashed": hashed,
        "linear_list": words("colours"),
        "linear_bucketized": both,
        "linear_crossed": code,
    }


def shared():
    """Columns of one table, and another beside them."""
    hashed = [fc.categorical_column_with_hash_bucket(key, 7, dtype=dtype) for key, dtype in [("colours", tf.string), ("colour", tf.string)]]
    numbers = fc.weighted_categorical_column(fc.categorical_column_with_hash_bucket("number", 7, dtype=tf.int64), "times")
    return [*fc.shared_embedding_columns([*hashed, numbers], 2, initializer=counting), fc.numeric_column("age")]


def theirs(vocabulary):
    """The values of each, and the names of all variables."""
    with tf.Graph().as_default(), tf1.Session() as session:
        features = {k: tf.constant(v) for k, v in FEATURES.items()}
        wanted, together = {}, []
        for name, column in columns(vocabulary).items():
            with tf1.variable_scope(name):
                if not name.startswith("linear"):
                    wanted[name] = fc.input_layer(features, [column])
                wanted[f"{name}/linear"] = fc.linear_model(features, [column], units=2)
            if name in ("numeric", "bucketized_shape", "hashed", "embedding_list"):
                together.append(column)
        with tf1.variable_scope("shared"):
            wanted["shared"] = fc.input_layer(features, shared())
            wanted["shared/linear"] = fc.linear_model(features, shared(), units=2)
        with tf1.variable_scope("all"):
            wanted["all"] = fc.input_layer(features, together)
            wanted["all/linear"] = fc.linear_model(features, together, units=2)
        variables = tf1.global_variables()
        session.run([tf1.global_variables_initializer(), tf1.tables_initializer()])
        session.run([tf1.assign(v, counting(v.shape)) for v in variables if "linear_model" in v.name])
        return session.run(wanted), sorted(v.op.name for v in variables)


@pytest.fixture(scope="module")
def ours(tmp_path_factory, example):
    folder = tmp_path_factory.mktemp("columns")
    vocabulary = folder / "colours.txt"
    vocabulary.write_text("blue\nred\ngreen\n")
    values, tensors, variables = {}, {}, []
    for line in example("feature_columns", vocabulary, folder / "graph.pb").splitlines():
        parts = line.split()
        if parts[0] == "variable":
            variables.append(parts[1])
        elif parts[0] == "tensor":
            tensors[parts[1]] = parts[2]
        else:
            dims = [int(d) for d in parts[1].split(",")]
            values[parts[0]] = np.array([float(v) for v in parts[2].split(",")], np.float32).reshape(dims)
    return vocabulary, values, tensors, sorted(variables), folder / "graph.pb"


def test_values_and_names_are_tensorflows(ours):
    vocabulary, values, _, variables, _ = ours
    expected, names = theirs(vocabulary)
    assert variables == names
    assert sorted(values) == sorted(expected)
    for name, value in expected.items():
        np.testing.assert_allclose(values[name], value, rtol=1e-6, atol=1e-7, err_msg=name)


def test_tensorflow_runs_our_columns(ours):
    _, values, tensors, _, path = ours
    graph = tf1.GraphDef.FromString(path.read_bytes())
    with tf.Graph().as_default(), tf1.Session() as session:
        tf.import_graph_def(graph, name="")
        session.run(["init", "init_all_tables"])
        session.run("group_deps")
        for name, tensor in tensors.items():
            np.testing.assert_allclose(session.run(tensor), values[name], rtol=1e-6, atol=1e-7, err_msg=name)
