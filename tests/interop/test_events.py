"""Event files: read by TensorFlow, by TensorBoard, and written by them."""

import numpy as np
import pytest
import tensorflow as tf
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorflow.core.framework import graph_pb2

from tensorboards import tensorboard

tf1 = tf.compat.v1


@pytest.fixture(scope="module")
def run(example, tmp_path_factory):
    """A directory with the logs of a short run of ours."""
    path = tmp_path_factory.mktemp("run")
    example("line", "train", path, 20)
    return path


def test_tensorflow_reads_our_events(run):
    (file,) = run.glob("events.out.tfevents.*")
    events = list(tf1.train.summary_iterator(str(file)))
    assert events[0].file_version == "brain.Event:2"
    graph = graph_pb2.GraphDef.FromString(events[1].graph_def)
    with tf1.Graph().as_default():
        tf.import_graph_def(graph, name="")
    values = [v for e in events[2:] for v in e.summary.value]
    assert [e.step for e in events[2:]] == list(range(1, 21))
    losses = [v.simple_value for v in values if v.tag == "loss"]
    assert len(losses) == 20 and losses[-1] < losses[0]


def test_tensorboards_accumulator_reads_our_events(run):
    events = EventAccumulator(str(run))
    events.Reload()
    tags = events.Tags()
    assert tags["scalars"] == ["loss"] and tags["histograms"] == ["error"] and tags["graph"]
    assert [e.step for e in events.Scalars("loss")] == list(range(1, 21))
    assert all(h.histogram_value.num == 100 for h in events.Histograms("error"))
    assert {"w", "b", "loss", "save/restore_all"} <= {n.name for n in events.Graph().node}


def test_a_run_that_went_on_shows_each_step_once(thalweg, tmp_path):
    """Steps after the newest valid checkpoint, which were lost, are not shown beside those that replaced them."""

    def train(*args):
        done = thalweg("train", "iris", "--save-every", 25, "--logdir", tmp_path, *args)
        assert done.returncode == 0, done.stderr
        return done.stdout

    train("--steps", 60)
    for file in tmp_path.glob("model.ckpt-60.*"):
        file.unlink()
    assert "continuing after step 50" in train("--steps", 80, "--resume")
    events = EventAccumulator(str(tmp_path))
    events.Reload()
    assert [e.step for e in events.Scalars("loss")] == list(range(1, 81))
    assert sorted(events.Tags()["histograms"])[0] == "parameters/dense/bias"


def test_tensorboard_shows_our_run(run):
    with tensorboard(run, lambda board: board.get("scalars/tags")) as board:
        scalars = board.get("scalars/scalars", run=".", tag="loss")
        assert [step for _, step, _ in scalars] == list(range(1, 21))
        assert len(board.get("histograms/histograms", run=".", tag="error")) == 20
        assert b'op: "ScalarSummary"' in board.bytes("plugin/graphs/graph", run=".", conceptual="false")


def test_we_read_tensorflows_events(example, tmp_path):
    values = np.random.default_rng(0).normal(0, 3, 1000).astype(np.float32)
    with tf1.Graph().as_default() as graph, tf1.Session() as session:
        tf1.summary.scalar("a", tf.constant(1.5))
        tf1.summary.histogram("h", tf.constant(values))
        merged = session.run(tf1.summary.merge_all())
        writer = tf1.summary.FileWriter(str(tmp_path / "logs"), graph)
        writer.add_summary(merged, 3)
        writer.close()
    (theirs,) = (tmp_path / "logs").iterdir()
    example("copy", "events", theirs, tmp_path / "ours")
    read = lambda path: list(tf1.train.summary_iterator(str(path)))
    assert read(tmp_path / "ours") == read(theirs)
