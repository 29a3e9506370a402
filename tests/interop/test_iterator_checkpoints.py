"""Positions in input pipelines, saved by TensorFlow's client with its Saver and restored in another session of another server."""

import pytest
import tensorflow as tf

from tensorflow.python.data.ops import save_op
from tensorflow.python.data.ops.dataset_ops import DatasetV1Adapter

from test_datasets import FAILING, PIPELINES, Dataset, errors, files, numbers, plain, tf1  # noqa: F401 (a fixture)

# The most elements that are compared: some pipelines are infinite.
LIMIT = 25


def elements(session, element):
    seen = []
    while len(seen) < LIMIT:
        try:
            seen.append(plain(session.run(element)))
        except errors.OutOfRangeError:
            break
        except errors.OpError as e:
            seen.append(type(e).__name__)
            if seen[-3:] == [seen[-1]] * 3:
                break
    return seen


class Pipeline:
    """A session with an iterator that can be saved."""

    def __init__(self, target, make, files):
        self.graph = tf1.Graph()
        with self.graph.as_default():
            tf1.set_random_seed(11)
            self.iterator = tf1.data.make_initializable_iterator(make(files))
            self.element = self.iterator.get_next()
            saveable = tf1.data.experimental.make_saveable_from_iterator(self.iterator)
            self.saver = tf1.train.Saver([saveable])
        self.session = tf1.Session(target, graph=self.graph, config=tf1.ConfigProto(isolate_session_state=True))
        self.session.run(self.iterator.initializer)

    def skip(self, count):
        for _ in range(count):
            try:
                self.session.run(self.element)
            except errors.OpError:
                pass

    def save(self, path):
        with self.graph.as_default():
            return self.saver.save(self.session, str(path), write_meta_graph=False)

    def restore(self, path):
        with self.graph.as_default():
            self.saver.restore(self.session, path)

    def rest(self):
        return elements(self.session, self.element)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.session.close()


# A generator's position is in its functions' state: neither TensorFlow nor we save it.
@pytest.mark.parametrize("name", [n for n in PIPELINES if not n.startswith("generator") and n not in FAILING])
def test_the_rest_after_restoring_is_the_rest(server, files, tmp_path, name):
    make = PIPELINES[name]
    for at in (0, 1, 3, 4):
        with Pipeline(server.target, make, files) as one:
            one.skip(at)
            path = one.save(tmp_path / f"at{at}")
            want = one.rest()
        with Pipeline(server.target, make, files) as two:
            two.skip(2)
            two.restore(path)
            assert two.rest() == want, at


@pytest.mark.parametrize("name", ["shuffle repeat", "interleave", "training", "prefetch", "cache", "records"])
def test_the_order_is_the_one_that_tensorflow_continues_in(server, files, tmp_path, name):
    for at in (2, 5):
        orders = []
        for target in ("", server.target):
            with Pipeline(target, PIPELINES[name], files) as one:
                one.skip(at)
                path = one.save(tmp_path / f"{bool(target)}{at}")
            with Pipeline(target, PIPELINES[name], files) as two:
                two.restore(path)
                orders.append(two.rest())
        assert orders[0] == orders[1]


def test_an_iterator_that_was_not_initialised(server, tmp_path):
    with tf1.Graph().as_default(), tf1.Session(server.target, config=tf1.ConfigProto(isolate_session_state=True)) as session:
        iterator = tf1.data.make_initializable_iterator(numbers())
        saver = tf1.train.Saver([tf1.data.experimental.make_saveable_from_iterator(iterator)])
        with pytest.raises(errors.FailedPreconditionError, match="has not been initialized"):
            saver.save(session, str(tmp_path / "x"), write_meta_graph=False)


def test_a_state_of_another_pipeline_is_refused(server, tmp_path):
    with Pipeline(server.target, lambda f: numbers().shuffle(3, seed=1), None) as one:
        one.skip(1)
        path = one.save(tmp_path / "x")
    with Pipeline(server.target, lambda f: numbers().take(3).repeat(2), None) as two:
        with pytest.raises(errors.OpError):
            two.restore(path)
        assert len(two.rest()) == 6


def test_a_training_loop_with_weights_and_pipeline_in_one_checkpoint(server, tmp_path):
    def run(steps, restore=None, save=None):
        with tf1.Graph().as_default():
            tf1.set_random_seed(1)
            iterator = tf1.data.make_initializable_iterator(numbers(9).shuffle(9, seed=2).repeat().batch(2).prefetch(2))
            total = tf1.Variable(0, dtype=tf.int64)
            add = tf1.assign_add(total, tf.reduce_sum(iterator.get_next()))
            saver = tf1.train.Saver([total, tf1.data.experimental.make_saveable_from_iterator(iterator)])
            with tf1.Session(server.target, config=tf1.ConfigProto(isolate_session_state=True)) as session:
                session.run([iterator.initializer, total.initializer])
                if restore:
                    saver.restore(session, restore)
                for _ in range(steps):
                    session.run(add)
                if save:
                    saver.save(session, save, write_meta_graph=False)
                return session.run(total)

    run(7, save=str(tmp_path / "model"))
    assert run(6, restore=str(tmp_path / "model")) == run(13)


FILES = {
    "cache in files": lambda f: numbers(7).cache(str(f / "cache")),
    "saving": lambda f: DatasetV1Adapter(save_op._SaveDataset(numbers(7), str(f / "saving"), lambda x: x % 2, None)),
    "saved": lambda f: saved(f),
}


def saved(f):
    if not (f / "saved").exists():
        with tf1.Graph().as_default(), tf1.Session() as session:
            session.run(numbers(7).save(str(f / "saved"), shard_func=lambda x: x % 2))
    read = lambda d: d.interleave(lambda x: x, cycle_length=2)  # noqa: E731
    return DatasetV1Adapter(tf.data.Dataset.load(str(f / "saved"), tf.TensorSpec([], tf.int64), reader_func=read))


@pytest.mark.parametrize("name", FILES)
def test_the_rest_of_what_is_in_files(server, tmp_path, name):
    for at in (0, 1, 3, 7, 8):
        path = tmp_path / str(at)
        path.mkdir()
        with Pipeline(server.target, FILES[name], path) as whole:
            want = whole.rest()[at:]
        for file in path.glob("cache*"):
            file.unlink()
        with Pipeline(server.target, FILES[name], path) as one:
            one.skip(at)
            state = one.save(path / "state")
        with Pipeline(server.target, FILES[name], path) as two:
            two.restore(state)
            assert two.rest() == want, at
        if name == "cache in files":
            # What is in the files afterwards is all of it.
            with tf1.Graph().as_default(), tf1.Session() as session:
                element = tf1.data.make_one_shot_iterator(numbers(0).cache(str(path / "cache"))).get_next()
                assert [e[0][2] for e in elements(session, element)] == list(range(7))
