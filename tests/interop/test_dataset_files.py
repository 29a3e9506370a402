"""Files that datasets write: what TensorFlow has cached or saved is read on `thalweg server`, and the reverse."""

import pytest
import tensorflow as tf

from test_datasets import Dataset, elements, errors, numbers, tf1

tf2 = tf.data.Dataset


def run(target, make, limit=40):
    """What a fetch gives, or the elements of a dataset."""
    config = tf1.ConfigProto(isolate_session_state=True) if target else None
    with tf1.Graph().as_default(), tf1.Session(target, config=config) as session:
        made = make()
        if not isinstance(made, tf2):
            return session.run(made)
        iterator = tf1.data.make_initializable_iterator(made)
        session.run(iterator.initializer)
        return elements(session, iterator.get_next(), limit)


def pairs(n):
    return numbers(n).map(lambda x: (x, tf.strings.as_string(x), tf.fill([x % 3], tf.cast(x, tf.float32))))


@pytest.mark.parametrize("theirs_first", [True, False])
@pytest.mark.parametrize("count", [0, 5, 12])
def test_a_cache_in_files(server, tmp_path, theirs_first, count):
    writer, reader = ("", server.target) if theirs_first else (server.target, "")
    prefix = str(tmp_path / "cache")
    want = run(writer, lambda: pairs(count).cache(prefix))
    assert len(want) == count + 1
    assert not list(tmp_path.glob("*lockfile"))
    for target in (reader, writer):
        assert run(target, lambda: pairs(0).cache(prefix)) == want


def test_a_cache_has_one_writer_and_goes_with_it(server, tmp_path):
    config = tf1.ConfigProto(isolate_session_state=True)
    with tf1.Graph().as_default(), tf1.Session(server.target, config=config) as session:
        iterators = [tf1.data.make_initializable_iterator(numbers(3).cache(str(tmp_path / "c"))) for _ in range(2)]
        one, two = (i.get_next() for i in iterators)
        session.run([i.initializer for i in iterators])
        assert session.run(one) == 0
        with pytest.raises(errors.AlreadyExistsError, match="concurrent caching iterator"):
            session.run(two)
        assert session.run(one) == 1
        session.run(iterators[0].initializer)
        assert not list(tmp_path.iterdir())
        assert [session.run(two) for _ in range(3)] == [0, 1, 2]


@pytest.mark.parametrize("compression", [None, "GZIP", "SNAPPY"])
@pytest.mark.parametrize("theirs_first", [True, False])
def test_saved_and_loaded(server, tmp_path, theirs_first, compression):
    writer, reader = ("", server.target) if theirs_first else (server.target, "")
    path = str(tmp_path / "saved")
    run(writer, lambda: pairs(9).save(path, compression=compression, shard_func=lambda x, *_: x % 2))
    spec = pairs(1).element_spec
    read = lambda d: d.flat_map(lambda x: x)  # noqa: E731
    load = lambda: tf2.load(path, spec, compression=compression, reader_func=read)  # noqa: E731
    want = run("", load)
    assert len(want) == 10
    assert run(reader, load) == run(writer, load) == want
    assert run(reader, lambda: tf2.load(path, spec, compression=compression).cardinality()) == 9


def test_nothing_saved(server, tmp_path):
    with pytest.raises(errors.NotFoundError, match="Could not find metadata file"):
        run(server.target, lambda: tf2.load(str(tmp_path / "none"), tf.TensorSpec([], tf.int64)))


@pytest.mark.parametrize("compression", ["", "GZIP"])
def test_records_written(server, tmp_path, compression):
    path = str(tmp_path / "records")
    words = lambda: Dataset.from_tensor_slices(["a", "", "ccc"])  # noqa: E731
    run(server.target, lambda: tf.raw_ops.DatasetToTFRecord(input_dataset=words()._variant_tensor, filename=path, compression_type=compression))
    got = run("", lambda: tf1.data.TFRecordDataset(path, compression_type=compression))
    assert got == run("", words)


def snapshot(path, n, **kwargs):
    return numbers(n).map(lambda x: x * 2).snapshot(str(path), **kwargs)


def files_in(path):
    return sorted(str(f.relative_to(path).with_name(f.name)).split("/")[2:] for f in path.rglob("*.snapshot"))


@pytest.mark.parametrize("kwargs", [{}, {"compression": None}, {"compression": "GZIP", "shard_func": lambda x: x % 3}])
def test_a_snapshot_is_written_once_and_read_after(server, tmp_path, kwargs):
    theirs = [run("", lambda: snapshot(tmp_path / "theirs", 7, **kwargs)) for _ in range(2)]
    ours = [run(server.target, lambda: snapshot(tmp_path / "ours", 7, **kwargs)) for _ in range(2)]
    assert ours[0] == theirs[0]
    assert sorted(map(str, ours[1])) == sorted(map(str, theirs[1]))
    if kwargs:
        assert ours[1] == theirs[1]
        assert files_in(tmp_path / "ours") == files_in(tmp_path / "theirs")
    # Another dataset is another snapshot.
    assert len(run(server.target, lambda: snapshot(tmp_path / "ours", 3, **kwargs))) == 4
    assert len(list((tmp_path / "ours").iterdir())) == 2


@pytest.mark.parametrize("theirs_first", [True, False])
def test_the_shards_and_files_of_a_snapshot_are_datasets(server, tmp_path, theirs_first):
    # TensorFlow writes them, but cannot begin to read such a dataset: its optimiser folds it.
    run("" if theirs_first else server.target, lambda: snapshot(tmp_path, 7, shard_func=lambda x: x % 4))
    attrs = {"output_types": [tf.int64], "output_shapes": [[]], "compression": "SNAPPY"}

    def dataset(op, **inputs):
        return tf.data.experimental.from_variant(getattr(tf.raw_ops, op)(**inputs, **attrs), tf.TensorSpec([], tf.int64))

    shards = sorted(map(str, tmp_path.rglob("*.shard")))
    assert len(shards) == 2
    seen = []
    for shard in shards:
        later = lambda: dataset("SnapshotDatasetReader", shard_dir=shard, start_index=1, version=2)  # noqa: E731, B023
        whole = lambda: dataset("SnapshotChunkDataset", chunk_file=shard + "/00000000.snapshot")  # noqa: E731, B023
        assert run(server.target, later) == run(server.target, whole)[1:]
        seen += [e[0][2] for e in run(server.target, whole)[:-1]]
    assert sorted(seen) == list(range(0, 14, 2))
