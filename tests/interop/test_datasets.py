"""Input pipelines built by TensorFlow: on `thalweg server` they produce TensorFlow's elements."""

import gzip

import numpy as np
import pytest
import tensorflow as tf

from tensorflow.core.framework import dataset_options_pb2
from tensorflow.python.data.experimental.ops.global_shuffle_op import _global_shuffle
from tensorflow.python.data.ops import dataset_ops, from_generator_op
from tensorflow.python.data.ops.dataset_ops import DatasetV1Adapter

tf1 = tf.compat.v1
errors = tf.errors
Dataset = tf1.data.Dataset

# The limit on elements: some pipelines are infinite.
LIMIT = 40


@pytest.fixture
def session(server):
    config = tf1.ConfigProto(isolate_session_state=True)
    with tf1.Graph().as_default(), tf1.Session(server.target, config=config) as s:
        yield s


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Files of all the kinds that datasets read."""
    path = tmp_path_factory.mktemp("files")
    text = "one\r\ntwo\n\nthree\rfour\nlast"
    (path / "a.txt").write_bytes(text.encode())
    (path / "b.txt").write_bytes(b"x\ny\n")
    (path / "a.txt.gz").write_bytes(gzip.compress(text.encode()))
    (path / "fixed").write_bytes(b"head" + bytes(range(12)) + b"ft")
    (path / "a.csv").write_text('h1,h2,h3\n1,2.5,"a, ""b"""\n2,,c\n3,4.5,\n')
    with tf.io.TFRecordWriter(str(path / "records")) as w:
        for i in range(5):
            w.write(b"record %d" % i)
    return path


def numbers(n=10):
    return Dataset.range(n)


def ragged():
    return numbers(7).map(lambda x: tf.fill([x % 4], x))


def fails_at_3(x):
    with tf.control_dependencies([tf1.assert_less(x, np.int64(3), name="less_than_3")]):
        return tf.identity(x)


def words():
    return Dataset.from_tensor_slices({"w": ["a", "bb", "ccc"], "n": np.arange(6, dtype=np.float32).reshape(3, 2)})


def global_shuffle(dataset, seed):
    return DatasetV1Adapter(_global_shuffle(dataset, seed=seed))


def example(i):
    """A serialized Example with features of several lengths."""
    feature = {
        "x": tf.train.Feature(float_list=tf.train.FloatList(value=[i, i + 0.5])),
        "tags": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"tag%d" % j for j in range(i % 3)])),
        "counts": tf.train.Feature(int64_list=tf.train.Int64List(value=range(i % 4))),
    }
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


def parsed(features, batch=2, **kwargs):
    examples = Dataset.from_tensor_slices([example(i) for i in range(5)]).batch(batch)
    return examples.apply(tf.data.experimental.parse_example_dataset(features, **kwargs))


def ragged_parts(element):
    return [(t.values, t.row_splits) if isinstance(t, tf.RaggedTensor) else t for t in (element[k] for k in sorted(element))]


def adapted(op, types=(tf.int64,), shapes=None, **inputs):
    """The dataset of an op that has no Python class, or an old one."""
    shapes = [[] for _ in types] if shapes is None else shapes
    if op != "MatchingFilesDataset":
        inputs |= {"output_types": list(types), "output_shapes": shapes}
    spec = tuple(tf.TensorSpec(shape, dtype) for shape, dtype in zip(shapes, types))
    return DatasetV1Adapter(dataset_ops._VariantDataset(getattr(tf.raw_ops, op)(**inputs), spec if len(spec) > 1 else spec[0]))


def on_numbers(op, n, **inputs):
    return adapted(op, input_dataset=numbers(n)._variant_tensor, **inputs)


def from_list(elements):
    return DatasetV1Adapter(tf.data.experimental.from_list(elements))


def matching(patterns):
    return adapted("MatchingFilesDataset", types=(tf.string,), patterns=patterns)


def generator(n, finalized=None):
    """The numbers that an iterator of that name has, plus 3."""
    iterator = lambda: tf.raw_ops.IteratorV2(shared_name="generated", container="", output_types=[tf.int64], output_shapes=[[]])  # noqa: E731

    def init(x):
        with tf.control_dependencies([tf.raw_ops.MakeIterator(dataset=numbers(n)._variant_tensor, iterator=iterator())]):
            return tf.identity(x)

    def step(x):
        return x + tf.raw_ops.IteratorGetNext(iterator=iterator(), output_types=[tf.int64], output_shapes=[[]])[0]

    def finalize(x):
        write = [tf.io.write_file(finalized, tf.strings.as_string(x))] if finalized else []
        with tf.control_dependencies(write):
            return tf.identity(x)

    return DatasetV1Adapter(from_generator_op._GeneratorDataset(np.int64(3), init, step, finalize, tf.TensorSpec([], tf.int64)))


def sliding(n, size, shift, stride, drop_remainder=True, source=None):
    source, shape = (numbers(n), [None]) if source is None else (source, [None, None])
    return adapted("SlidingWindowDataset", shapes=[shape], input_dataset=source._variant_tensor, window_size=size, window_shift=shift, window_stride=stride, drop_remainder=drop_remainder)


def concrete(f, *specs):
    return tf.function(f).get_concrete_function(*specs)


def index_flat_map(n, index=lambda i: (i // 2, i % 2), rows=lambda x: tf.stack([x * 10, x * 10 + 1])):
    scalar = tf.TensorSpec([], tf.int64)
    functions = {"map_func": concrete(rows, scalar), "index_map_func": concrete(index, scalar)}
    return on_numbers("IndexFlatMapDataset", n, map_func_other_args=[], index_map_func_other_args=[], output_cardinality=2 * n, **functions)


def weighted(sizes, weights):
    datasets = [Dataset.range(100 * i, 100 * i + n)._variant_tensor for i, n in enumerate(sizes)]
    return adapted("WeightedFlatMapDataset", input_datasets=datasets, weights=[np.float64(w) for w in weights])


def fastest_branch(n, *branches):
    of = lambda f: concrete(lambda d: f(dataset_ops._VariantDataset(d, tf.TensorSpec([], tf.int64)))._variant_tensor, tf.TensorSpec([], tf.variant))  # noqa: E731
    return on_numbers("ChooseFastestBranchDataset", n, ratio_numerator=2, ratio_denominator=1, other_arguments=[], num_elements_per_branch=2, branches=[of(f) for f in branches], other_arguments_lengths=[0] * len(branches))


def first_snapshot(f, n, mode="auto"):
    return on_numbers("SnapshotDataset", n, path=str(f / "snapshot"), mode=mode)


def twice(d):
    return d.flat_map(lambda x: tf.data.Dataset.from_tensors(x).repeat(2))


PIPELINES = {
    "range": lambda f: Dataset.range(2, 20, 5),
    "range down": lambda f: Dataset.range(10, 0, -3),
    "range int32": lambda f: Dataset.range(4, output_type=tf.int32),
    "tensors": lambda f: Dataset.from_tensors(([1, 2], b"x")),
    "slices": lambda f: words(),
    "zip": lambda f: Dataset.zip((words(), numbers())),
    "concatenate": lambda f: numbers(3).concatenate(numbers(2)),
    "repeat": lambda f: numbers(3).repeat(2),
    "repeat forever": lambda f: numbers(3).repeat(),
    "repeat nothing": lambda f: numbers(0).repeat(),
    "take": lambda f: numbers().take(4),
    "skip": lambda f: numbers().skip(7),
    "shard": lambda f: numbers().shard(3, 1),
    "batch": lambda f: numbers().batch(4),
    "batch exact": lambda f: numbers().batch(4, drop_remainder=True),
    "batch of words": lambda f: words().batch(2),
    "batch of different shapes": lambda f: ragged().batch(3),
    "padded": lambda f: ragged().padded_batch(3, [None]),
    "padded to size": lambda f: ragged().padded_batch(2, [4], np.int64(-1), drop_remainder=True),
    "padded too small": lambda f: ragged().padded_batch(4, [2]),
    "shuffle": lambda f: numbers(20).shuffle(6, seed=3),
    "shuffle all": lambda f: numbers(20).shuffle(100, seed=3),
    "shuffle repeat": lambda f: numbers(8).shuffle(5, seed=3).repeat(3),
    "shuffle fixed": lambda f: numbers(8).shuffle(5, seed=3, reshuffle_each_iteration=False).repeat(2),
    "repeat shuffle": lambda f: numbers(8).repeat(2).shuffle(5, seed=3),
    "shuffle batch": lambda f: numbers(20).shuffle(7, seed=4).repeat().batch(4),
    "shuffle_and_repeat": lambda f: numbers(6).apply(tf1.data.experimental.shuffle_and_repeat(4, 3, seed=5)),
    "cache": lambda f: numbers(5).shuffle(5, seed=1).cache().repeat(2),
    "prefetch": lambda f: numbers().prefetch(3),
    "prefetch auto": lambda f: numbers().prefetch(tf.data.AUTOTUNE),
    "map": lambda f: numbers().map(lambda x: (x * 2, tf.cast(x, tf.float32) / 3)),
    "map words": lambda f: words().map(lambda e: {"l": tf1.strings.length(e["w"]), "s": tf.reduce_sum(e["n"])}),
    "map fails": lambda f: numbers(5).map(fails_at_3),
    "map fails behind prefetch": lambda f: numbers(5).map(fails_at_3).prefetch(2),
    "parallel map": lambda f: numbers().map(lambda x: x * x, num_parallel_calls=4),
    "parallel map auto": lambda f: numbers().map(lambda x: x * x, num_parallel_calls=tf.data.AUTOTUNE),
    "map with a loop": lambda f: numbers(6).map(lambda n: tf.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + i), [np.int64(0), np.int64(0)])[1]),
    "map and batch": lambda f: numbers().apply(tf1.data.experimental.map_and_batch(lambda x: x + 1, 4)),
    "filter": lambda f: numbers().filter(lambda x: tf.equal(x % 3, 0)),
    "filter nothing": lambda f: numbers().filter(lambda x: x < 0),
    "take while": lambda f: numbers().take_while(lambda x: x < 4),
    "flat map": lambda f: numbers(4).flat_map(lambda x: Dataset.range(x).map(lambda y: x * 10 + y)),
    "interleave": lambda f: Dataset.range(1, 6).interleave(lambda x: Dataset.from_tensors(x).repeat(x), cycle_length=2, block_length=2),
    "interleave wide": lambda f: Dataset.range(1, 4).interleave(lambda x: Dataset.from_tensors(x).repeat(x), cycle_length=7, block_length=1),
    "parallel interleave": lambda f: Dataset.range(1, 6).interleave(lambda x: Dataset.from_tensors(x).repeat(x), cycle_length=2, block_length=2, num_parallel_calls=2),
    "options": lambda f: numbers().map(lambda x: x + 1).with_options(tf.data.Options()),
    "lines": lambda f: tf1.data.TextLineDataset([str(f / "a.txt"), str(f / "b.txt")]),
    "lines gzip": lambda f: tf1.data.TextLineDataset(str(f / "a.txt.gz"), compression_type="GZIP"),
    "lines of no file": lambda f: tf1.data.TextLineDataset(str(f / "none")),
    "records": lambda f: tf1.data.TFRecordDataset(str(f / "records")),
    "fixed": lambda f: tf1.data.FixedLengthRecordDataset(str(f / "fixed"), 4, header_bytes=4, footer_bytes=2),
    "fixed uneven": lambda f: tf1.data.FixedLengthRecordDataset(str(f / "fixed"), 5, header_bytes=4, footer_bytes=2),
    "csv": lambda f: tf1.data.experimental.CsvDataset(str(f / "a.csv"), [tf.int64, [7.5], ["none"]], header=True),
    "csv columns": lambda f: tf1.data.experimental.CsvDataset(str(f / "a.csv"), [tf.int32, tf.string], header=True, select_cols=[0, 2]),
    "lines of files": lambda f: Dataset.from_tensor_slices([str(f / "a.txt"), str(f / "b.txt")]).flat_map(tf1.data.TextLineDataset),
    "window": lambda f: numbers().window(3).flat_map(lambda w: w.batch(3)),
    "window shift": lambda f: numbers().window(3, shift=2, stride=2).flat_map(lambda w: w),
    "window exact": lambda f: numbers().window(3, shift=5, drop_remainder=True).flat_map(lambda w: w.batch(9)),
    "window far": lambda f: numbers().window(2, shift=4).flat_map(lambda w: w),
    "window of words": lambda f: words().window(2).flat_map(lambda w: Dataset.zip((w["w"], w["n"]))),
    "window prefetch": lambda f: numbers().window(4, shift=1).prefetch(2).flat_map(lambda w: w.batch(4)),
    "rebatch": lambda f: Dataset.range(11).batch(4).rebatch(3),
    "rebatch sizes": lambda f: Dataset.range(21).batch(4).rebatch([1, 3, 2], drop_remainder=True),
    "rebatch words": lambda f: words().batch(3).rebatch(2),
    "rebatch empty batches": lambda f: Dataset.range(11).batch(4).rebatch([3, 0, 1]),
    "unbatch": lambda f: numbers().batch(4).unbatch(),
    "unbatch words": lambda f: words().batch(2).unbatch(),
    "scan": lambda f: numbers().scan(np.int64(0), lambda s, x: (s + x, (s, x * 2))),
    "choose": lambda f: Dataset.choose_from_datasets([Dataset.range(3), Dataset.range(10, 15)], Dataset.from_tensor_slices(np.array([0, 1, 1, 0, 0, 0, 1], np.int64)), stop_on_empty_dataset=False),
    "choose stops": lambda f: Dataset.choose_from_datasets([Dataset.range(2), Dataset.range(10, 15)], Dataset.range(2).repeat()),
    "choose wrong": lambda f: Dataset.choose_from_datasets([Dataset.range(2), Dataset.range(10, 15)], Dataset.range(5)),
    "sample": lambda f: Dataset.sample_from_datasets([Dataset.range(9), Dataset.range(10, 19)], [0.3, 0.7], seed=4),
    "random": lambda f: Dataset.random(seed=3).take(6),
    "random again": lambda f: Dataset.random(seed=3, rerandomize_each_iteration=True).take(3).repeat(2),
    "unique": lambda f: Dataset.from_tensor_slices(np.array([1, 2, 1, 3, 2, 5], np.int64)).unique(),
    "unique words": lambda f: Dataset.from_tensor_slices(["a", "b", "a"]).unique(),
    "ignore errors": lambda f: numbers(6).map(lambda x: tf.debugging.check_numerics(1.0 / tf.cast(x % 3, tf.float32), "x")).ignore_errors(),
    "parallel batch": lambda f: numbers().batch(4, num_parallel_calls=2),
    "group by window": lambda f: numbers(12).group_by_window(lambda x: 2 - x % 3, lambda k, w: w.map(lambda x: x + 100 * k).batch(10), window_size=2),
    "group by window sizes": lambda f: numbers(15).group_by_window(lambda x: x % 3, lambda k, w: w, window_size_func=lambda k: k + 1),
    "group by reducer": lambda f: numbers().apply(tf1.data.experimental.group_by_reducer(lambda x: 2 - x % 3, tf1.data.experimental.Reducer(lambda k: (k * 100, np.int64(0)), lambda s, x: (s[0] + x, s[1] + 1), lambda s, n: s * n))),
    "legacy parallel interleave": lambda f: Dataset.range(1, 6).apply(tf1.data.experimental.parallel_interleave(lambda x: Dataset.from_tensors(x).repeat(x), cycle_length=2, block_length=1)),
    "sparse slices": lambda f: Dataset.from_sparse_tensor_slices(tf1.SparseTensor([[0, 1], [2, 0], [2, 3]], [1.0, 2.0, 3.0], [4, 5])),
    "sparse batches": lambda f: ragged().apply(tf1.data.experimental.dense_to_sparse_batch(3, [None])),
    "sparse batches of a size": lambda f: ragged().apply(tf1.data.experimental.dense_to_sparse_batch(2, [5])),
    "sparse batches too small": lambda f: ragged().apply(tf1.data.experimental.dense_to_sparse_batch(2, [2])),
    "sparse batches of matrices": lambda f: numbers(5).map(lambda x: tf.strings.as_string(tf.fill([x % 3, 2], x))).apply(tf1.data.experimental.dense_to_sparse_batch(2, [None, 3])).prefetch(2),
    "examples": lambda f: parsed({"x": tf.io.FixedLenFeature([2], tf.float32), "tags": tf.io.VarLenFeature(tf.string), "counts": tf.io.FixedLenSequenceFeature([], tf.int64, True, -1)}),
    "examples in parallel": lambda f: parsed({"tags": tf.io.VarLenFeature(tf.string), "more": tf.io.FixedLenFeature([], tf.int64, 7)}, batch=3, num_parallel_calls=2).prefetch(1),
    "ragged examples": lambda f: parsed({"counts": tf.io.RaggedFeature(tf.int64, row_splits_dtype=tf.int64), "tags": tf.io.RaggedFeature(tf.string)}).map(ragged_parts),
    "examples without a feature": lambda f: parsed({"none": tf.io.FixedLenFeature([], tf.float32)}),
    "compressed elements": lambda f: words().map(lambda e: tf.raw_ops.CompressElement(components=[e["w"], e["n"]])).prefetch(2).map(lambda v: tf.raw_ops.UncompressElement(compressed=v, output_types=[tf.string, tf.float32], output_shapes=[[], [2]])),
    "global shuffle": lambda f: global_shuffle(tf.data.Dataset.range(20).batch(2, drop_remainder=True).map(lambda x: x * 3), seed=3),
    "global shuffle again": lambda f: global_shuffle(numbers(7), seed=3).repeat(2),
    "global shuffle concatenated": lambda f: global_shuffle(numbers(7).concatenate(Dataset.range(10, 13)), seed=3),
    "global shuffle of parts": lambda f: global_shuffle(Dataset.zip((numbers(9).skip(1).take(6).repeat(2).shard(3, 1), words().repeat(2))).prefetch(1), seed=5),
    "training": lambda f: words().shuffle(3, seed=1).repeat(4).batch(5).map(lambda e: e["n"] * 2).prefetch(1),
    "list": lambda f: adapted("ListDataset", tensors=[1, 2, 3, 4], types=[tf.int32, tf.int32]),
    "from a list": lambda f: from_list([(1, b"a"), (2, b"b")]),
    "asserted": lambda f: numbers(3).apply(tf.data.experimental.assert_cardinality(3)),
    "asserted fewer": lambda f: numbers(3).apply(tf.data.experimental.assert_cardinality(2)),
    "asserted more": lambda f: numbers(3).apply(tf.data.experimental.assert_cardinality(4)),
    "asserted infinite": lambda f: numbers(3).apply(tf.data.experimental.assert_cardinality(-1)),
    "sampling": lambda f: on_numbers("SamplingDataset", 30, rate=0.3, seed=5, seed2=7),
    "sampling repeated": lambda f: on_numbers("SamplingDataset", 9, rate=0.5, seed=1, seed2=0).repeat(3),
    "intra-op": lambda f: on_numbers("MaxIntraOpParallelismDataset", 3, max_intra_op_parallelism=1),
    "private threads": lambda f: on_numbers("PrivateThreadPoolDataset", 3, num_threads=2),
    "not serializable": lambda f: on_numbers("NonSerializableDataset", 3),
    "optimized": lambda f: on_numbers("OptimizeDataset", 3, optimizations=["map_fusion"]),
    "optimized by default": lambda f: on_numbers(
        "OptimizeDatasetV2", 3, optimizations_enabled=[], optimizations_disabled=[], optimizations_default=[]
    ),
    "asserted next": lambda f: on_numbers("AssertNextDataset", 3, transformations=["Batch"]).batch(2),
    "wrapped": lambda f: DatasetV1Adapter(dataset_ops._VariantDataset(tf.raw_ops.UnwrapDatasetVariant(input_handle=tf.raw_ops.WrapDatasetVariant(input_handle=numbers(3)._variant_tensor)), tf.TensorSpec([], tf.int64))),
    "matching files": lambda f: matching([str(f / "a*"), str(f / "*.txt")]),
    "matching no file": lambda f: matching([str(f / "nothing*")]),
    "generator": lambda f: generator(5),
    "generator repeated": lambda f: generator(2).repeat(2),
    "sleep": lambda f: on_numbers("SleepDataset", 3, sleep_microseconds=2000),
    "sleep before now": lambda f: on_numbers("SleepDataset", 3, sleep_microseconds=-1),
    "thread pool": lambda f: on_numbers("ThreadPoolDataset", 3, thread_pool=tf.raw_ops.ThreadPoolHandle(num_threads=2, display_name="pool")),
    "latency": lambda f: on_numbers("LatencyStatsDataset", 3, tag="latency"),
    "bytes produced": lambda f: on_numbers("BytesProducedStatsDataset", 3, tag="bytes"),
    "stats": lambda f: on_numbers("SetStatsAggregatorDataset", 3, stats_aggregator=tf.raw_ops.StatsAggregatorHandle(), tag="tag", counter_prefix=""),
    "sliding": lambda f: sliding(7, 3, 2, 1),
    "sliding far": lambda f: sliding(20, 3, 8, 2, False),
    "sliding strides": lambda f: sliding(7, 2, 2, 3, False),
    "sliding wide": lambda f: sliding(7, 14, 1, 1),
    "sliding over different shapes": lambda f: sliding(6, 2, 1, 1, True, Dataset.range(6).map(lambda x: tf.fill([x // 2 + 1], x))),
    "sliding nothing": lambda f: sliding(7, 0, 1, 1),
    "index flat map": lambda f: index_flat_map(5),
    "index flat map skipping": lambda f: index_flat_map(5, index=lambda i: (i // 2 * 2, i % 2)),
    "index flat map of scalars": lambda f: index_flat_map(4, rows=lambda x: x),
    "index flat map one result": lambda f: index_flat_map(4, index=lambda i: i // 2),
    "index flat map int32": lambda f: index_flat_map(4, index=lambda i: (tf.cast(i // 2, tf.int32), tf.cast(i % 2, tf.int32))),
    "weighted": lambda f: weighted([10, 10], [0.1, 0.9]),
    "weighted of three": lambda f: weighted([10, 10, 5], [0.5, 0.3, 0.2]),
    "weighted by integers": lambda f: weighted([10, 30, 10, 50], [2, 1, 1, 3]),
    "weighted too much": lambda f: weighted([10, 30, 10, 9], [2, 1, 1, 3]),
    "weighted nothing": lambda f: weighted([10, 0], [1, 1]),
    "weighted by zero": lambda f: weighted([10, 4], [0, 1]),
    "auto shard": lambda f: on_numbers("AutoShardDataset", 10, num_workers=3, index=1),
    "auto shard data": lambda f: on_numbers("AutoShardDataset", 10, num_workers=3, index=2, auto_shard_policy=2),
    "auto shard off": lambda f: on_numbers("AutoShardDataset", 4, num_workers=3, index=1, auto_shard_policy=-1),
    "auto shard files": lambda f: on_numbers("AutoShardDataset", 4, num_workers=3, index=1, auto_shard_policy=1),
    "auto shard wrong": lambda f: on_numbers("AutoShardDataset", 4, num_workers=3, index=3),
    "fastest": lambda f: adapted("ChooseFastestDataset", input_datasets=[numbers(12)._variant_tensor, numbers(12).prefetch(1)._variant_tensor], num_experiments=3),
    "fastest of different": lambda f: adapted("ChooseFastestDataset", input_datasets=[numbers(12)._variant_tensor, numbers(3)._variant_tensor], num_experiments=3),
    "fastest branch": lambda f: fastest_branch(7, twice, twice),
    "snapshot": lambda f: first_snapshot(f, 6),
    "snapshot passed through": lambda f: first_snapshot(f, 6, "passthrough"),
    "snapshot wrong": lambda f: first_snapshot(f, 6, "both"),
}


# Pipelines whose iterators fail at their start.
FAILING = ("sleep before now", "sliding nothing", "weighted too much", "weighted by zero", "auto shard files", "auto shard wrong", "fastest of different", "snapshot wrong")

# Pipelines with a seed generator.
STATEFUL = ("thread pool", "stats", "random again", "global shuffle", "global shuffle concatenated", "global shuffle again", "global shuffle of parts")


def plain(element):
    """An element as a comparable value."""
    return [(np.asarray(x).dtype.kind, np.asarray(x).shape, np.asarray(x).tolist()) for x in tf.nest.flatten(element)]


def elements(session, element, limit=LIMIT):
    """The results of runs, errors by code, up to the end or the limit."""
    seen = []
    while len(seen) < limit:
        try:
            seen.append(plain(session.run(element)))
        except errors.OutOfRangeError as e:
            seen.append("end: " + e.message.splitlines()[0])
            break
        except errors.OpError as e:
            seen.append(type(e).__name__)
            if len(seen) > 8 and seen[-3:] == [seen[-1]] * 3:
                break
    return seen


def run(target, make, files, one_shot):
    config = tf1.ConfigProto(isolate_session_state=True) if target else None
    with tf1.Graph().as_default(), tf1.Session(target, config=config) as session:
        tf1.set_random_seed(11)
        dataset = make(files)
        if one_shot:
            return elements(session, tf1.data.make_one_shot_iterator(dataset).get_next())
        iterator = tf1.data.make_initializable_iterator(dataset)
        element = iterator.get_next()
        passes = []
        for _ in range(2):
            try:
                session.run(iterator.initializer)
            except errors.OpError as e:
                return type(e).__name__
            passes.append(elements(session, element))
        return passes


@pytest.mark.parametrize("one_shot", [True, False], ids=["one_shot", "initializable"])
@pytest.mark.parametrize("name", PIPELINES)
def test_elements_are_tensorflows(server, files, name, one_shot):
    if one_shot and name in STATEFUL:
        pytest.skip("TensorFlow's client puts no stateful node into a one-shot iterator")
    want = run("", PIPELINES[name], files, one_shot)
    assert run(server.target, PIPELINES[name], files, one_shot) == want


@pytest.mark.parametrize("taken", [1, 2, 3])
def test_a_generator_is_finalized_at_its_end_and_when_it_is_given_up(session, tmp_path, taken):
    path = tmp_path / "finalized"
    iterator = tf1.data.make_initializable_iterator(generator(2, str(path)))
    element = iterator.get_next()
    session.run(iterator.initializer)
    assert len(elements(session, element, taken)) == taken
    assert path.exists() == (taken == 3)
    session.run(iterator.make_initializer(generator(2)))
    while not path.exists():
        session.run(tf.no_op())
    assert path.read_text() == "3"


def test_an_iterator_that_was_not_initialised(session):
    element = tf1.data.make_initializable_iterator(numbers()).get_next()
    with pytest.raises(errors.FailedPreconditionError, match="has not been initialized"):
        session.run(element)


def test_an_error_names_the_node_inside_of_the_function(session):
    element = tf1.data.make_one_shot_iterator(Dataset.range(3, 5).map(fails_at_3)).get_next()
    with pytest.raises(errors.InvalidArgumentError, match="less_than_3"):
        session.run(element)


def test_a_dataset_of_placeholders_and_variables(session):
    n, v = tf1.placeholder(tf.int64, []), tf1.Variable(np.int64(100))
    iterator = tf1.data.make_initializable_iterator(Dataset.range(n).map(lambda x: x + v))
    element = iterator.get_next()
    session.run(v.initializer)
    session.run(iterator.initializer, {n: 3})
    assert [session.run(element) for _ in range(3)] == [100, 101, 102]
    with pytest.raises(errors.OutOfRangeError, match="End of sequence"):
        session.run(element)


def test_the_device_of_an_iterator(session, server):
    iterator = tf1.data.make_initializable_iterator(numbers(2))
    session.run(iterator.initializer)
    device = tf.raw_ops.IteratorGetDevice(resource=iterator._iterator_resource)
    assert session.run(device).decode() == f"{server.task}/device:CPU:0"


def test_a_feed_chooses_the_iterator(session):
    train, test = numbers(5), Dataset.range(100, 105)
    handle = tf1.placeholder(tf.string, [])
    element = tf1.data.Iterator.from_string_handle(handle, tf1.data.get_output_types(train), tf1.data.get_output_shapes(train)).get_next()
    iterators = [tf1.data.make_one_shot_iterator(train), tf1.data.make_initializable_iterator(test)]
    names = session.run([i.string_handle() for i in iterators])
    session.run(iterators[1].initializer)
    assert [session.run(element, {handle: names[i]}) for i in (0, 1, 1, 0)] == [0, 100, 101, 1]


def test_a_reinitializable_iterator(session):
    iterator = tf1.data.Iterator.from_structure(tf.int64, [])
    element = iterator.get_next()
    inits = [iterator.make_initializer(numbers(2)), iterator.make_initializer(Dataset.range(7, 9))]
    for init, want in zip(inits, ([0, 1], [7, 8])):
        session.run(init)
        assert [session.run(element) for _ in want] == want


def test_optionals_cardinality_and_reduction(session):
    iterator = tf1.data.make_initializable_iterator(numbers(1))
    optional = tf1.data.experimental.get_next_as_optional(iterator)
    session.run(iterator.initializer)
    has, value = optional.has_value(), optional.get_value()
    assert session.run([has, value]) == [True, 0]
    assert not session.run(has)
    assert session.run(tf.data.experimental.cardinality(numbers(7).batch(2))) == 4
    assert session.run(numbers(5).reduce(np.int64(0), lambda s, x: s + x)) == 10
    assert session.run(tf.data.experimental.get_single_element(numbers(5).batch(5))).tolist() == [0, 1, 2, 3, 4]


def with_options(dataset, **fields):
    options = tf.data.Options()
    for name, value in fields.items():
        setattr(options, name, value)
    return dataset.with_options(options)


@pytest.mark.parametrize(
    "make",
    [
        lambda: numbers(9),
        lambda: with_options(numbers(9), deterministic=True).batch(4),
        lambda: with_options(with_options(numbers(9), deterministic=True, experimental_slack=True).map(lambda x: x), deterministic=False),
        lambda: Dataset.zip((with_options(numbers(4), deterministic=True).batch(2), with_options(numbers(4), deterministic=False).batch(2))),
        lambda: numbers(9).batch(4).filter(lambda x: True).shuffle(3, seed=1).prefetch(2).repeat(2).take(3).skip(1).cache(),
        lambda: numbers(9).batch(4).map(lambda x: x),
        lambda: numbers(9).padded_batch(3, []),
        lambda: numbers(9).apply(tf1.data.experimental.map_and_batch(lambda x: x, 4)),
        lambda: Dataset.zip((numbers(9).batch(4), numbers(9).batch(3))),
        lambda: numbers(9).batch(4).concatenate(numbers(9).batch(4)),
        lambda: numbers(9).batch(4).batch(2).shard(2, 0),
        lambda: numbers(9).batch(4).unbatch(),
    ],
)
def test_options_and_sizes_of_batches(session, make):
    with tf1.Session() as theirs:
        dataset = make()._variant_tensor
        asked = [tf.raw_ops.GetOptions(input_dataset=dataset), tf.raw_ops.ComputeBatchSize(input_dataset=dataset)]
        assert session.run(asked) == theirs.run(asked)


def test_the_fingerprint_of_a_dataset(session):
    datasets = [numbers(4).map(lambda x: x + 1), numbers(4).map(lambda x: x + 1), numbers(4).map(lambda x: x + 2), numbers(5)]
    a, same, *others = session.run([tf.raw_ops.DatasetFingerprint(input_dataset=d._variant_tensor) for d in datasets])
    assert a == same and a not in others


def counted(dataset):
    level = dataset_options_pb2.CardinalityOptions(compute_level="CARDINALITY_COMPUTE_MODERATE")
    return tf.raw_ops.DatasetCardinality(input_dataset=dataset._variant_tensor, cardinality_options=level.SerializeToString())


@pytest.mark.parametrize(
    "make",
    [
        lambda: numbers(2).flat_map(lambda x: Dataset.range(4)),
        lambda: numbers(0).flat_map(lambda x: Dataset.range(4)),
        lambda: numbers(3).flat_map(lambda x: Dataset.range(x)),
        lambda: numbers(3).flat_map(lambda x: Dataset.range(x).repeat()),
        lambda: numbers(3).flat_map(lambda x: Dataset.range(4).filter(lambda y: y > x)),
        lambda: numbers(3).flat_map(lambda x: Dataset.range(x).flat_map(lambda y: Dataset.range(3))),
        lambda: numbers(3).flat_map(lambda x: Dataset.range(4)).batch(5).take(9),
    ],
)
def test_the_elements_of_flat_maps_are_counted(session, make):
    with tf1.Session() as theirs:
        dataset = make()
        plainly, all_ = tf.data.experimental.cardinality(dataset), counted(dataset)
        assert session.run(plainly) == theirs.run(plainly) == -2
        assert session.run(all_) == theirs.run(all_)


def test_a_table_from_a_dataset(session):
    def table(dataset):
        handle = tf.raw_ops.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64, shared_name=f"table{len(session.graph.get_operations())}")
        fill = tf.raw_ops.InitializeTableFromDataset(table_handle=handle, dataset=dataset._variant_tensor)
        return fill, tf.raw_ops.LookupTableFindV2(table_handle=handle, keys=["b", "x", "a"], default_value=np.int64(-1))

    pairs = lambda keys, values: Dataset.from_tensor_slices((keys, np.array(values, np.int64)))  # noqa: E731
    fill, found = table(pairs(["a", "b"], [1, 2]).shuffle(5))
    for _ in range(2):
        session.run(fill)
        assert session.run(found).tolist() == [2, -1, 1]
    wrong = {
        errors.FailedPreconditionError: pairs(["a", "a"], [1, 2]),
        errors.OutOfRangeError: pairs(["a"], [1]).take(0),
        errors.InvalidArgumentError: pairs(["a", "b"], [1, 2]).batch(2),
    }
    for kind, dataset in wrong.items():
        fill, _ = table(dataset)
        with pytest.raises(kind):
            session.run(fill)


def test_elements_by_index(session):
    dataset = tf.data.Dataset.range(9).map(lambda x: x * 2).skip(1).batch(3)
    at = tf1.placeholder(tf.int64, [])
    element = tf.raw_ops.GetElementAtIndex(dataset=dataset._variant_tensor, index=at, output_types=[tf.int64], output_shapes=[[None]])
    assert [session.run(element, {at: i})[0].tolist() for i in (2, 0)] == [[14, 16], [2, 4, 6]]
    for wrong in (3, -1):
        with pytest.raises(errors.OutOfRangeError, match="Index out of range"):
            session.run(element, {at: wrong})
    other = numbers(9).filter(lambda x: x > 3)
    with pytest.raises(errors.UnimplementedError, match="Random access"):
        session.run(tf.raw_ops.GetElementAtIndex(dataset=other._variant_tensor, index=np.int64(0), output_types=[tf.int64], output_shapes=[[]]))


def test_several_elements_of_one_run_are_different(session):
    iterator = tf1.data.make_one_shot_iterator(numbers(4).prefetch(1))
    assert sorted(session.run([iterator.get_next() for _ in range(4)])) == [0, 1, 2, 3]


def test_a_model_trains_from_a_dataset(session):
    x = np.linspace(0, 1, 100, dtype=np.float32)
    batches = Dataset.from_tensor_slices((x, 0.1 * x + 0.3)).shuffle(100, seed=1).repeat().batch(20).prefetch(2)
    bx, by = tf1.data.make_one_shot_iterator(batches).get_next()
    w, b = tf1.Variable(0.0), tf1.Variable(0.0)
    train = tf1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(tf.square(w * bx + b - by)))
    session.run(tf1.global_variables_initializer())
    for _ in range(300):
        session.run(train)
    got = session.run([w, b])
    assert abs(got[0] - 0.1) < 1e-3 and abs(got[1] - 0.3) < 1e-3


def test_an_iterator_that_never_has_an_element_ends_with_its_session(server):
    graph = tf1.Graph()
    with graph.as_default():
        element = tf1.data.make_one_shot_iterator(numbers(3).repeat().filter(lambda x: x < 0)).get_next()
        session = tf1.Session(server.target, graph=graph, config=tf1.ConfigProto(isolate_session_state=True, operation_timeout_in_ms=2000))
        with pytest.raises((errors.DeadlineExceededError, errors.CancelledError)):
            session.run(element)
        session.close()
    with tf1.Session(server.target, graph=tf1.Graph()) as other:
        with other.graph.as_default():
            assert other.run(tf.constant(1)) == 1


def test_a_pipeline_described_in_rust_gives_the_same_in_tensorflow(example, tmp_path):
    ours = example("pipeline", tmp_path / "graph.pb").splitlines()
    graph_def = tf1.GraphDef.FromString((tmp_path / "graph.pb").read_bytes())
    with tf1.Graph().as_default(), tf1.Session() as session:
        tf.import_graph_def(graph_def, name="")
        theirs = elements(session, "next:0")
    assert theirs.pop().startswith("end")
    assert [str(e[0][2]) for e in theirs] == ours
