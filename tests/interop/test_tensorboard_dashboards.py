"""Every dashboard of a real TensorBoard, on what the example `dashboards` writes."""

import io
import json
import re
import wave

import numpy as np
import pytest
import tensorflow as tf
from google.protobuf import text_format
from tensorboard.plugins.pr_curve import summary as pr_summary
from tensorflow.core.framework import graph_pb2
from tensorflow.core.protobuf import config_pb2

from tensorboards import tensorboard

STEPS = list(range(11))
RUNS = {"values", "graph", "search", "search/0", "search/1", "search/2"}


@pytest.fixture(scope="module")
def logdir(example, tmp_path_factory):
    path = tmp_path_factory.mktemp("dashboards")
    example("dashboards", path)
    return path


@pytest.fixture(scope="module", params=[False, True], ids=["load_slow", "load_fast"])
def board(request, logdir):
    def all_read(board):
        scalars = board.get("scalars/tags")
        # Files are read side by side: the last events of each are waited for.
        return (
            {"values", "graph", "search/0", "search/1", "search/2"} <= set(scalars)
            and "text/table" in board.get("text/tags").get("values", ())
            and len(board.get("scalars/scalars", run="graph", tag="loss")) == 10
            and board.get("custom_scalars/layout")
        )

    with tensorboard(logdir, all_read, load_fast=request.param) as board:
        yield board


def test_scalars(board):
    assert set(json.loads(board.bytes("runs"))) == RUNS
    tags = board.get("scalars/tags")
    assert set(tags["values"]) == {"loss", "loss_low", "loss_high"}
    assert tags["values"]["loss"]["description"] == "<p>Falls by a <em>tenth</em> each step.</p>"
    found = board.get("scalars/scalars", run="values", tag="loss")
    assert [step for _, step, _ in found] == STEPS
    np.testing.assert_allclose([v for _, _, v in found], 0.9 ** np.arange(11), rtol=1e-6)


def test_histograms_and_distributions(board):
    found = board.get("histograms/histograms", run="values", tag="weights")
    assert [step for _, step, _ in found] == STEPS
    for _, step, buckets in found:
        # The fast loader keeps empty buckets at both ends, which it gives the least and the largest value as a limit.
        lefts, rights, counts = np.array([b for b in buckets if b[2]]).T
        assert counts.sum() == 1000 and (lefts <= rights).all()
        mean = ((lefts + rights) / 2 * counts).sum() / 1000
        assert abs(mean - 0.2 * step) < 0.15
    assert len(board.get("histograms/histograms", run="graph", tag="hidden")) == 10
    spread = board.get("distributions/distributions", run="values", tag="weights")
    assert [step for _, step, _ in spread] == STEPS
    # Basis points of the distribution with its quantiles: the median is in the middle.
    middle = {step: dict(points)[5000] for _, step, points in spread}
    assert abs(middle[0]) < 0.15 and abs(middle[10] - 2) < 0.15


def test_images(board):
    tags = board.get("images/tags")
    assert tags["values"]["pictures"]["samples"] == 2
    assert list(tags["graph"]) == ["hidden_units/image"]
    for sample in range(2):
        found = board.get("images/images", run="values", tag="pictures", sample=sample)
        assert [i["step"] for i in found] == STEPS
        image = tf.io.decode_png(board.bytes("plugin/images/individualImage?" + found[-1]["query"])).numpy()
        across = np.arange(32, dtype=np.float32) / np.float32(31)
        want = tf.image.convert_image_dtype(across if sample == 0 else 1 - across, tf.uint8, saturate=True).numpy()
        assert image.shape == (16, 32, 1) and (image[:, :, 0] == want).all()


def test_audio(board):
    assert board.get("audio/tags")["values"]["tones"]["samples"] == 2
    found = board.get("audio/audio", run="values", tag="tones", sample=1)
    assert [a["step"] for a in found] == STEPS and found[0]["contentType"] == "audio/wav"
    with wave.open(io.BytesIO(board.bytes("plugin/audio/individualAudio?" + found[0]["query"]))) as file:
        assert (file.getframerate(), file.getnchannels(), file.getnframes()) == (8000, 1, 8000)
        samples = np.frombuffer(file.readframes(8000), np.int16)
    # The octave of 220 Hz is the strongest frequency in a second of sound.
    assert np.abs(np.fft.rfft(samples)).argmax() == 440
    assert list(board.get("audio/tags")["graph"]) == ["tone/audio"]


def test_text(board):
    assert set(board.get("text/tags")["values"]) == {"text/notes", "text/table"}
    found = board.get("text/text", run="values", tag="text/notes")
    assert [t["step"] for t in found] == STEPS
    assert found[0]["text"] == "<p>Step <strong>0</strong> has a loss of <code>1.000</code>.</p>"
    (table,) = board.get("text/text", run="values", tag="text/table")
    assert re.findall(r"<td><p>(.*?)</p></td>", table["text"]) == ["name", "value", "one", "1", "two", "2"]
    assert "<em>op</em>" in board.get("text/text", run="graph", tag="remark")[0]["text"]


def test_pr_curves(board):
    tags = board.get("pr_curves/tags")
    assert list(tags["values"]) == ["thirds"] and list(tags["graph"]) == ["above"]
    curves = board.get("pr_curves/pr_curves", run="values", tag="thirds")["values"]
    assert [c["step"] for c in curves] == STEPS
    last = curves[-1]
    # Once the predictions of both kinds no longer overlap, precision is 1 at some threshold with all of them found.
    assert any(p == 1 and r == 1 for p, r in zip(last["precision"], last["recall"]))
    assert last["true_positives"][0] == 34 and last["false_positives"][0] == 66
    assert len(board.get("pr_curves/pr_curves", run="graph", tag="above")["graph"]) == 10


def test_a_pr_curve_is_tensorboards_own(logdir):
    """Ours at step 0 against TensorBoard's of the same labels and predictions, which the example draws as this does."""
    mask = (1 << 64) - 1

    def random(i):
        mixed = i * 0x9E3779B97F4A7C15 & mask
        mixed = (mixed ^ (mixed >> 29)) * 0xBF58476D1CE4E5B9 & mask
        return (mixed >> 40) / (1 << 24)

    labels = np.arange(100) % 3 == 0
    predictions = np.array([random(i) for i in range(100)], np.float32)
    theirs = tf.make_ndarray(pr_summary.pb("thirds", labels, predictions, num_thresholds=201).value[0].tensor)
    (file,) = (logdir / "values").glob("events.out.tfevents.*")
    events = tf.compat.v1.train.summary_iterator(str(file))
    ours = next(v for e in events for v in e.summary.value if v.tag == "thirds")
    np.testing.assert_allclose(tf.make_ndarray(ours.tensor), theirs, rtol=1e-6)


def test_custom_scalars(board):
    (category,) = board.get("custom_scalars/layout")["category"]
    lines, margins = category["chart"]
    assert category["title"] == "losses" and lines["multiline"]["tag"] == ["loss.*"]
    assert margins["margin"]["series"] == [{"value": "loss", "lower": "loss_low", "upper": "loss_high"}]
    found = board.get("custom_scalars/scalars", run="values", tag="loss.*")
    assert found["regex_valid"] and set(found["tag_to_events"]) == {"loss", "loss_low", "loss_high"}


def test_hparams(board):
    experiment = board.get("hparams/experiment", post={})
    assert experiment["description"] == "Three runs."
    infos = {info["name"]: info for info in experiment["hparamInfos"]}
    assert infos["optimizer"]["domainDiscrete"] == ["sgd", "adam"] and infos["nesterov"]["type"] == "DATA_TYPE_BOOL"
    assert infos["rate"]["domainInterval"] == {"minValue": 0.0, "maxValue": 1.0}
    statuses = ["STATUS_UNKNOWN", "STATUS_SUCCESS", "STATUS_FAILURE", "STATUS_RUNNING"]
    columns = [{"hparam": "optimizer"}, {"hparam": "rate"}, {"hparam": "nesterov"}, {"metric": {"tag": "accuracy"}}]
    asked = {"startIndex": 0, "sliceSize": 10, "allowedStatuses": statuses, "colParams": columns}
    groups = board.get("hparams/session_groups", post=asked)["sessionGroups"]
    found = {g["name"]: (g["hparams"], g["sessions"][0]["status"], g["metricValues"][0]["value"]) for g in groups}
    assert found == {
        "search/0": ({"optimizer": "sgd", "rate": 0.1, "nesterov": True}, "STATUS_SUCCESS", pytest.approx(0.53)),
        "search/1": ({"optimizer": "adam", "rate": 0.01, "nesterov": False}, "STATUS_SUCCESS", pytest.approx(0.63)),
        "search/2": ({"optimizer": "adam", "rate": 0.001, "nesterov": False}, "STATUS_FAILURE", pytest.approx(0.73)),
    }


def test_projector(board):
    assert set(board.get("projector/runs")) == {"values", "graph"}
    (points,) = board.get("projector/info", run="values")["embeddings"]
    assert points["tensorName"] == "points" and points["tensorShape"] == [60, 4]
    values = np.frombuffer(board.bytes("plugin/projector/tensor", run="values", name="points"), np.float32).reshape(60, 4)
    assert (np.floor(values[7]) == np.array([1, 2, 3, 4])).all()
    metadata = board.bytes("plugin/projector/metadata", run="values", name="points").decode().splitlines()
    assert metadata[:2] == ["cluster\tnumber", "cluster 0\t0"] and len(metadata) == 61
    sheet = tf.io.decode_png(board.bytes("plugin/projector/sprite_image", run="values", name="points")).numpy()
    assert sheet.shape == (64, 64, 1) and [sheet[0, 8 * i, 0] for i in range(3)] == [55, 155, 255]
    # A variable of the checkpoint.
    found = {e["tensorName"]: e for e in board.get("projector/info", run="graph")["embeddings"]}
    assert found["dense/kernel"]["tensorShape"] == [2, 32]
    kernel = board.bytes("plugin/projector/tensor", run="graph", name="dense/kernel")
    assert np.isfinite(np.frombuffer(kernel, np.float32)).all() and len(kernel) == 2 * 32 * 4


def test_mesh(board):
    assert board.get("mesh/tags")["values"] == {"torus": {"samples": 1}}
    parts = board.get("mesh/meshes", run="values", tag="torus", sample=0)
    assert {p["content_type"] for p in parts} == {"VERTEX", "FACE", "COLOR"} or len(parts) >= 3
    raw = board.bytes("plugin/mesh/data", run="values", tag="torus", sample=0, step=0, content_type="VERTEX")
    vertices = np.frombuffer(raw, np.float32).reshape(-1, 3)
    assert vertices.shape == (288, 3) and np.allclose(vertices[0], [1.1, 0, 0])


def test_the_graph_has_shapes_devices_and_the_cost_of_its_nodes(board):
    info = board.get("graphs/info")["graph"]
    assert info["run_graph"] and {t for t, v in info["tags"].items() if v["profile"]} == {"step 5", "step 10"}
    text = board.bytes("plugin/graphs/graph", run="graph", conceptual="false").decode()
    graph = text_format.Parse(text, graph_pb2.GraphDef())
    nodes = {n.name: n for n in graph.node}
    assert {n.device for n in graph.node} == {"/job:localhost/replica:0/task:0/device:CPU:0"}
    (shape,) = nodes["dense/MatMul"].attr["_output_shapes"].list.shape
    assert [d.size for d in shape.dim] == [256, 32]
    text = board.bytes("plugin/graphs/run_metadata", run="graph", tag="step 10").decode()
    metadata = text_format.Parse(text, config_pb2.RunMetadata())
    (device,) = metadata.step_stats.dev_stats
    stats = {s.node_name: s for s in device.node_stats}
    assert all(s.all_end_rel_micros >= 1 for s in stats.values())
    # Joined with the graph by name: most of what ran is a node of it.
    known = set(stats) & set(nodes)
    assert len(known) > 20 and any(s.startswith("gradients/") for s in known)
    # The matrix of hidden units, 256 x 32 floats, is memory that some node allocated, and told with its shape.
    sizes = [(m.total_bytes, [d.size for d in o.tensor_description.shape.dim]) for s in stats.values() for m in s.memory for o in s.output]
    assert (256 * 32 * 4, [256, 32]) in sizes
    # A variable that is read is nobody's allocation.
    reads = [s for name, s in stats.items() if name.endswith("/read") and s.output]
    assert not any(m.total_bytes for s in reads for m in s.memory)
