"""What `thalweg train` shows in a real TensorBoard: several runs in one directory."""

import gzip
import json
import struct

import numpy as np
import pytest
import tensorflow as tf

from tensorboards import tensorboard

STEPS = 200


def digits(folder):
    """Files as MNIST's, with a few images."""
    folder.mkdir()
    random = np.random.default_rng(0)
    images = {}
    for part, count in (("train", 64), ("t10k", 10)):
        images[part] = random.integers(0, 256, (count, 28, 28), np.uint8)
        labels = random.integers(0, 10, count, np.uint8)
        (folder / f"{part}-images-idx3-ubyte").write_bytes(struct.pack(">4i", 0x803, count, 28, 28) + images[part].tobytes())
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">2i", 0x801, count) + labels.tobytes())
    return images["train"]


@pytest.fixture(scope="module")
def runs(thalweg, tmp_path_factory):
    """A directory with four runs, and the images that one of them was given."""
    path = tmp_path_factory.mktemp("training")
    images = digits(path / "data")

    def train(run, *args):
        done = thalweg("train", *args, "--logdir", path / "logs" / run)
        assert done.returncode == 0, done.stderr

    train("iris", "iris", "--steps", STEPS, "--save-every", 50)
    train("slow", "iris", "--steps", STEPS, "--lr", 0.001, "--optimizer", "sgd")
    train("words", "ptb", "--steps", 12)
    train("digits", "mnist", "--steps", 12, "--batch", 32, "--data", path / "data")
    return path / "logs", images


@pytest.fixture(scope="module")
def board(runs):
    def all_read(board):
        return all(
            board.get("scalars/scalars", run=run, tag="loss")[-1][1] == last
            for run, last in (("iris", STEPS), ("slow", STEPS), ("words", 12), ("digits", 12))
        )

    with tensorboard(runs[0], all_read) as board:
        yield board


def test_curves(board):
    tags = set(board.get("scalars/tags")["iris"])
    assert {"loss", "accuracy", "learning_rate", "gradient_norm", "parameter_norm", "global_step/sec"} <= tags
    last = lambda run, tag: board.get("scalars/scalars", run=run, tag=tag)[-1][2]
    assert (last("iris", "learning_rate"), last("slow", "learning_rate")) == (pytest.approx(0.01), pytest.approx(0.001))
    assert last("iris", "loss") < last("slow", "loss") and last("iris", "global_step/sec") > 0
    norms = board.get("scalars/scalars", run="iris", tag="parameter_norm")
    assert [step for _, step, _ in norms] == list(range(1, STEPS + 1))
    assert norms[-1][2] > norms[0][2] > 0
    # The rate of mnist falls: its schedule is what is shown.
    rates = [v for _, _, v in board.get("scalars/scalars", run="digits", tag="learning_rate")]
    assert rates == sorted(rates, reverse=True) and rates[0] > rates[-1]


def test_norms_are_of_the_variables(board, runs):
    values = tf.train.load_checkpoint(str(runs[0] / "iris" / f"model.ckpt-{STEPS}"))
    trained = [n for n in values.get_variable_to_shape_map() if n.endswith(("/kernel", "/bias"))]
    want = np.sqrt(sum(float((values.get_tensor(n).astype(np.float64) ** 2).sum()) for n in trained))
    shown = board.get("scalars/scalars", run="iris", tag="parameter_norm")[-1]
    assert shown[1] == STEPS and shown[2] == pytest.approx(want, rel=1e-5)


def test_histograms_begin_at_step_0_and_none_is_doubled(board):
    found = board.get("histograms/histograms", run="iris", tag="parameters/dense/kernel")
    assert [step for _, step, _ in found] == [0, 50, 100, 150, 200]
    assert all(sum(count for _, _, count in buckets) == 40 for _, _, buckets in found)


def test_settings_are_hyperparameters(board):
    statuses = ["STATUS_UNKNOWN", "STATUS_SUCCESS", "STATUS_FAILURE", "STATUS_RUNNING"]
    columns = [{"hparam": h} for h in ("optimizer", "learning_rate", "batch", "steps", "seed", "model")]
    asked = {"startIndex": 0, "sliceSize": 10, "allowedStatuses": statuses, "colParams": columns}
    groups = {g["name"]: g for g in board.get("hparams/session_groups", post=asked)["sessionGroups"]}
    assert set(groups) == {"iris", "slow", "words", "digits"}
    want = {"optimizer": "gradient descent", "learning_rate": 0.001, "batch": 32.0, "steps": float(STEPS), "seed": 1.0, "precision": "float"}
    assert groups["slow"]["hparams"] == want
    # A setting that one program has.
    assert groups["digits"]["hparams"]["model"] == "mlp"
    assert {g["sessions"][0]["status"] for g in groups.values()} == {"STATUS_SUCCESS"}
    assert board.get("text/text", run="iris", tag="program")[0]["text"].startswith("<p>iris, 4-10-10-3 net")


def test_graph_with_the_cost_of_a_step(board, runs):
    info = board.get("graphs/info")
    assert all(info[run]["run_graph"] and "step 10" in info[run]["tags"] for run in ("iris", "slow", "words", "digits"))
    assert b"all_end_rel_micros" in board.bytes("plugin/graphs/run_metadata", run="iris", tag="step 10")
    # The same step, for the profile plugin and Perfetto.
    with gzip.open(runs[0] / "digits" / "plugins" / "profile" / "step_10" / "host.trace.json.gz") as file:
        trace = json.load(file)
    names = {e["args"]["name"] for e in trace["traceEvents"] if e["ph"] == "X"}
    assert any("MatMul" in name for name in names)
    assert {e["name"] for e in trace["traceEvents"] if e["ph"] == "M"} == {"process_name", "thread_name"}


def test_words_in_the_projector(board):
    (words,) = [e for e in board.get("projector/info", run="words")["embeddings"] if e["tensorName"] == "embedding/embeddings"]
    rows, width = words["tensorShape"]
    table = board.bytes("plugin/projector/tensor", run="words", name="embedding/embeddings")
    assert len(table) == rows * width * 4
    heading, *lines = board.bytes("plugin/projector/metadata", run="words", name="embedding/embeddings").decode().splitlines()
    assert heading == "word\tcount" and len(lines) == rows and lines[0] == "<unk>\t0"
    counts = [int(line.split("\t")[1]) for line in lines[1:]]
    assert counts == sorted(counts, reverse=True) and counts[-1] > 0


def test_images_of_the_digits(board, runs):
    assert board.get("images/tags")["digits"]["examples"]["samples"] == 16
    (found,) = board.get("images/images", run="digits", tag="examples", sample=5)
    image = tf.io.decode_png(board.bytes("plugin/images/individualImage?" + found["query"])).numpy()
    # 1/255 and back may lose the last bit.
    assert np.abs(image[:, :, 0].astype(int) - runs[1][5].astype(int)).max() <= 1
