"""SavedModels of TensorFlow and Keras in `thalweg run`, ours in TensorFlow and its command line tool."""

import os
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

import keras
import saved_models as models

RNG = np.random.default_rng(0)


def feed(tmp_path, name, value):
    """`--feed` with a file, or a literal for strings that .npy files cannot hold."""
    if value.dtype == object or value.dtype.kind in "SU":
        def quoted(v):
            if isinstance(v, list):
                return "[" + ", ".join(map(quoted, v)) + "]"
            data = v if isinstance(v, bytes) else str(v).encode()
            return '"' + "".join(f"\\x{b:02x}" for b in data) + '"'

        return ["--feed", f"{name}={quoted(value.tolist())}"]
    path = tmp_path / f"{name}.npy"
    np.save(path, value)
    return ["--feed", f"{name}={path}"]


def run(thalweg, tmp_path, directory, inputs, signature="serving_default"):
    """The outputs of a signature, by name."""
    out = tmp_path / f"out-{signature}"
    feeds = [word for name, value in inputs.items() for word in feed(tmp_path, name, value)]
    done = thalweg("run", directory, "--signature", signature, *feeds, "--out", out)
    assert done.returncode == 0, done.stderr
    return {file.stem: np.load(file) for file in out.iterdir()}


def same(thalweg, tmp_path, directory, inputs, signature="serving_default"):
    loaded = tf.saved_model.load(str(directory))
    want = loaded.signatures[signature](**{name: tf.constant(value) for name, value in inputs.items()})
    got = run(thalweg, tmp_path, directory, inputs, signature)
    assert sorted(got) == sorted(want)
    for name, value in want.items():
        value = value.numpy()
        assert got[name].shape == value.shape and got[name].dtype == value.dtype, name
        if value.dtype.kind == "f":
            assert np.abs(got[name] - value).max() <= 1e-5 * max(np.abs(value).max(), 1e-30), name
        else:
            np.testing.assert_array_equal(got[name], value)


def keras_model(thalweg, tmp_path, model, value):
    model.export(str(tmp_path / "model"), verbose=False)
    same(thalweg, tmp_path, tmp_path / "model", {model.input.name: value})


@pytest.mark.parametrize("name", ["MobileNetV2", "EfficientNetB0"])
def test_applications(thalweg, tmp_path, name):
    model = models.application(name, small=True)
    keras_model(thalweg, tmp_path, model, RNG.random((2, *model.input_shape[1:])).astype(np.float32))


@pytest.mark.parametrize("cell", [keras.layers.LSTM, keras.layers.GRU])
def test_text_models(thalweg, tmp_path, cell):
    texts = np.array([["The cat flew, high!"], ["dog park unknown words here and some more of them"], [""]])
    keras_model(thalweg, tmp_path, models.text(cell), texts)


def test_string_lookup(thalweg, tmp_path):
    keras_model(thalweg, tmp_path, models.lookup(), np.array([["cat", "dog", "cow", "bird"], ["", "x", "y", "cat"]]))


def test_transformer(thalweg, tmp_path):
    keras_model(thalweg, tmp_path, models.transformer(), RNG.normal(size=(3, 10, 16)).astype(np.float32))


def test_unet(thalweg, tmp_path):
    keras_model(thalweg, tmp_path, models.unet(), RNG.random((1, 32, 32, 3)).astype(np.float32))


def test_ragged_rows(thalweg, tmp_path):
    model = models.Ragged()
    tf.saved_model.save(model, str(tmp_path / "model"), signatures=model.serve)
    values = np.array([3, 1, 4, 1, 5, 9, 2, 6], np.int64)
    same(thalweg, tmp_path, tmp_path / "model", {"values": values, "row_splits": np.array([0, 2, 3, 8], np.int64)})


def test_vocabulary_is_read_from_the_models_assets(thalweg, tmp_path):
    (tmp_path / "words.txt").write_text("cat\ndog\nbird\n")
    model = models.Vocabulary(str(tmp_path / "words.txt"))
    tf.saved_model.save(model, str(tmp_path / "model"), signatures=model.serve)
    (tmp_path / "words.txt").unlink()
    os.rename(tmp_path / "model", tmp_path / "moved")
    same(thalweg, tmp_path, tmp_path / "moved", {"words": np.array(["dog", "cat", "none", "other"])})


def test_branches_loops_and_several_signatures(thalweg, tmp_path):
    model = models.Branches()
    signatures = {"serving_default": model.serve, "score": model.score}
    tf.saved_model.save(model, str(tmp_path / "model"), signatures=signatures)
    x = np.array([1, -2, 0.5], np.float32)
    for training in (False, True):
        same(thalweg, tmp_path, tmp_path / "model", {"x": x, "training": np.array(training)})
    same(thalweg, tmp_path, tmp_path / "model", {"rows": RNG.normal(size=(4, 3)).astype(np.float32)}, "score")


def test_examples_of_a_v1_export(thalweg, tmp_path):
    (tmp_path / "words.txt").write_text("?\ncat\ndog\nbird\nfish\n")
    models.export_examples(tmp_path / "model", tmp_path / "words.txt")
    (tmp_path / "words.txt").unlink()
    same(thalweg, tmp_path, tmp_path / "model", {"examples": models.examples(6)})


def test_errors_list_what_is_there(thalweg, tmp_path):
    model = models.Branches()
    tf.saved_model.save(model, str(tmp_path / "model"), signatures={"score": model.score, "serve": model.serve})

    def error(*args):
        done = thalweg("run", tmp_path / "model", *args)
        assert done.returncode in (1, 2), done
        return done.stderr

    assert "did you mean 'score'?; it has: score, serve" in error("--signature", "scores")
    missing = error("--signature", "score", "--feed", "row=1")
    assert "has no input 'row'" in missing and "it takes: rows (float [?,3])" in missing
    assert "needs a value for rows (float [?,3])" in error("--signature", "score")
    assert "takes rows (float [?,3]), got float [2]" in error("--signature", "score", "--feed", "rows=[1, 2]")
    assert "it returns: scores" in error("--signature", "score", "--feed", "rows=[[1, 2, 3]]", "--fetch", "score")
    assert "{serve}" in error("--signature", "score", "--tags", "gpu")
    assert "say --signature NAME" in error("--feed", "rows=[[1, 2, 3]]", "--save", f"scores={tmp_path / 's.npy'}")


def test_inspect_shows_signatures_variables_assets_and_files(thalweg, tmp_path):
    (tmp_path / "words.txt").write_text("?\ncat\ndog\nbird\nfish\n")
    models.export_examples(tmp_path / "model", tmp_path / "words.txt")
    shown = thalweg("inspect", tmp_path / "model").stdout
    for part in ["tags {serve}", "examples", "scores", "model/w", "[3,4]", "words.txt", "RestoreV2", "ParseExample", "InitializeTableFromTextFileV2"]:
        assert part in shown, shown
    # Its initialisers are no results.
    assert "\nresults " not in shown and "\nfiles " in shown, shown


def test_images_csv_and_npz_are_fed(thalweg, tmp_path):
    class Images(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None, 5, 7, 3], tf.float32, "image"), tf.TensorSpec([None, 2], tf.float32, "rows")])
        def serve(self, image, rows):
            return {"mean": tf.reduce_mean(image, [0, 3]), "rows": rows * 2.0}

    model = Images()
    tf.saved_model.save(model, str(tmp_path / "model"), signatures=model.serve)
    pixels = RNG.integers(0, 256, (9, 12, 3)).astype(np.uint8)
    (tmp_path / "i.png").write_bytes(tf.io.encode_png(pixels).numpy())
    (tmp_path / "r.csv").write_text("a,b\n1,2\n3,4.5\n")
    np.savez_compressed(tmp_path / "r.npz", rows=np.array([[1, 2], [3, 4.5]], np.float32), other=np.arange(3))
    want = tf.reduce_mean(tf.image.resize(pixels[None], [5, 7]), [0, 3]).numpy()
    for rows in ("r.csv", "r.npz", "r.npz:rows"):
        out = tmp_path / "out"
        done = thalweg("run", tmp_path / "model", "--feed", f"image={tmp_path / 'i.png'}", "--feed", f"rows={tmp_path / rows}", "--out", out)
        assert done.returncode == 0, done.stderr
        np.testing.assert_allclose(np.load(out / "mean.npy"), want, rtol=1e-5)
        np.testing.assert_array_equal(np.load(out / "rows.npy"), [[2, 4], [6, 9]])


def test_a_checkpoint_for_a_meta_graph_and_for_a_bare_graph(thalweg, tmp_path):
    tf1 = tf.compat.v1
    with tf.Graph().as_default() as graph, tf1.Session() as session:
        v = tf1.get_variable("v", initializer=np.array([1.5, 2.5], np.float32), use_resource=True)
        r = tf1.get_variable("r", initializer=np.array([1.0, 3.0], np.float32), use_resource=False)
        x = tf1.placeholder(tf.float32, [2], name="x")
        tf.add(v * x, r, name="y")
        session.run(tf1.global_variables_initializer())
        tf1.train.Saver().save(session, str(tmp_path / "model"))
        bare = tf1.graph_util.extract_sub_graph(graph.as_graph_def(), ["y"])
    (tmp_path / "bare.pb").write_bytes(bare.SerializeToString())
    for file in ("model.meta", "bare.pb"):
        done = thalweg("run", tmp_path / file, "--checkpoint", tmp_path / "model", "--feed", "x=[2, 4]", "--fetch", "y")
        assert done.stdout == "[ 4. 13.]\n", done.stderr


def test_feeds_reach_the_initialiser(thalweg, tmp_path):
    tf1 = tf.compat.v1
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [2], name="x")
        v = tf1.get_variable("v", initializer=x * 2.0, use_resource=True)
        tf.identity(v, name="y")
        init = v.initializer.name
    (tmp_path / "g.pb").write_bytes(graph.as_graph_def().SerializeToString())
    done = thalweg("run", tmp_path / "g.pb", "--init", init, "--feed", "x=[1, 2]", "--fetch", "y")
    assert done.stdout == "[2. 4.]\n", done.stderr


@pytest.fixture(scope="module")
def ours(example, tmp_path_factory):
    """What `examples/export.rs` exports: directories by name."""
    out = tmp_path_factory.mktemp("ours")
    return dict(line.split(" ", 1) for line in example("export", out).splitlines())


def test_our_export_is_accepted_by_tensorflow(ours):
    loaded = tf.saved_model.load(ours["session"])
    found = loaded.signatures["serving_default"](x=tf.constant([[1.0, 2.0]]), word=tf.constant(["dog"]))
    np.testing.assert_allclose(found["y"].numpy(), [[8.0, 9.0]])
    assert found["id"].numpy().tolist() == [1]


def test_our_export_runs_in_saved_model_cli(ours):
    tool = os.path.join(os.path.dirname(sys.executable), "saved_model_cli")
    shown = subprocess.run([tool, "show", "--dir", ours["session"], "--all"], capture_output=True, text=True, check=True).stdout
    assert "signature_def['serving_default']" in shown and "shape: (-1, 2)" in shown, shown
    command = ["run", "--dir", ours["session"], "--tag_set", "serve", "--signature_def", "serving_default"]
    inputs = ["--input_exprs", "x=[[1.0, 2.0]];word=['cat']"]
    done = subprocess.run([tool, *command, *inputs], capture_output=True, text=True, check=True).stdout
    assert "[[8. 9.]]" in done, done


def test_an_estimators_export_classifies_examples(ours, thalweg, tmp_path):
    def example_of(*values):
        names = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
        features = {n: tf.train.Feature(float_list=tf.train.FloatList(value=[v])) for n, v in zip(names, values)}
        return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()

    flowers = np.array([example_of(5.1, 3.3, 1.7, 0.5), example_of(6.9, 3.1, 5.4, 2.1)], dtype=object)
    directory = ours["estimator"]
    assert os.path.basename(directory).isdigit()
    loaded = tf.saved_model.load(directory)
    want = loaded.signatures["classification"](tf.constant(flowers))["scores"].numpy()
    assert want.argmax(axis=1).tolist() == [0, 2]
    got = run(thalweg, tmp_path, directory, {"inputs": flowers}, "classification")
    np.testing.assert_allclose(got["scores"], want, rtol=1e-5)


def test_a_frozen_model_is_run_by_tensorflow(thalweg, tmp_path):
    model = models.unet()
    model.export(str(tmp_path / "model"), verbose=False)
    done = thalweg("convert", "freeze", tmp_path / "model", tmp_path / "frozen.pb")
    assert done.returncode == 0, done.stderr
    graph = tf.compat.v1.GraphDef()
    graph.ParseFromString((tmp_path / "frozen.pb").read_bytes())
    assert not [n for n in graph.node if n.op in ("VarHandleOp", "ReadVariableOp", "StatefulPartitionedCall")]
    x = RNG.random((1, 32, 32, 3)).astype(np.float32)
    call = tf.saved_model.load(str(tmp_path / "model")).signatures["serving_default"]
    (want,) = call(**{model.input.name: tf.constant(x)}).values()
    fed, fetched = (line.rsplit(" ", 1)[1] for line in done.stdout.splitlines())
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        tf.import_graph_def(graph, name="")
        got = session.run(fetched, {fed: x})
    np.testing.assert_allclose(got, want.numpy(), rtol=1e-5, atol=1e-7)


def test_a_stripped_graph_keeps_what_is_needed(thalweg, tmp_path):
    tf1 = tf.compat.v1
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [2], name="x")
        tf.multiply(x, 2.0, name="y")
        tf.multiply(x, 3.0, name="z")
    (tmp_path / "g.pb").write_bytes(graph.as_graph_def().SerializeToString())
    assert thalweg("convert", "strip", tmp_path / "g.pb", tmp_path / "s.pbtxt", "--fetch", "y").returncode == 0
    shown = (tmp_path / "s.pbtxt").read_text()
    assert '"y"' in shown and '"z"' not in shown
    assert thalweg("run", tmp_path / "s.pbtxt", "--feed", "x=[1, 2]", "--fetch", "y").stdout == "[2. 4.]\n"


def test_weights_go_round_all_forms(thalweg, tmp_path):
    tf1 = tf.compat.v1
    want = {"a/w": RNG.normal(size=(3, 4)).astype(np.float32), "b": np.arange(5, dtype=np.int64)}
    with tf.Graph().as_default(), tf1.Session() as session:
        for name, value in want.items():
            tf1.get_variable(name, initializer=value)
        session.run(tf1.global_variables_initializer())
        tf1.train.Saver().save(session, str(tmp_path / "start"))
    steps = [("start", "w.safetensors"), ("w.safetensors", "w.npz"), ("w.npz", "first"), ("first", "end")]
    for source, target in steps:
        extra = ["--v1"] if target == "first" else []
        done = thalweg("convert", "weights", tmp_path / source, tmp_path / target, *extra)
        assert done.returncode == 0, done.stderr
    found = np.load(tmp_path / "w.npz")
    first = tf1.train.NewCheckpointReader(str(tmp_path / "first"))
    end = tf.train.load_checkpoint(str(tmp_path / "end"))
    for name, value in want.items():
        np.testing.assert_array_equal(found[name], value)
        np.testing.assert_array_equal(first.get_tensor(name), value)
        np.testing.assert_array_equal(end.get_tensor(name), value)
