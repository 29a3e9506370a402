"""`thalweg train csv --export`: TensorFlow loads the model and predicts what `thalweg predict` does."""

import csv

import numpy as np
import tensorflow as tf


def rows(count):
    for i in range(count):
        kind = ("apple", "lemon", "plum")[i * 7919 % 1000 % 3]
        weight = "" if i % 11 == 0 else 30 + i % 20 if kind == "plum" else 120 + i % 50
        colour = "" if i % 13 == 0 else {"apple": "red", "lemon": "yellow", "plum": "blue"}[kind]
        yield {"weight": weight, "colour": colour, "shop": f"shop {i % 40}", "kind": kind}


def test_an_exported_model_of_a_table_predicts_the_same_in_tensorflow(thalweg, tmp_path):
    data, model, out = (tmp_path / name for name in ("fruit.csv", "model", "out.csv"))
    given = list(rows(200))
    with open(data, "w", newline="") as file:
        writer = csv.DictWriter(file, list(given[0]))
        writer.writeheader()
        writer.writerows(given)
    done = thalweg("train", "csv", data, "--label", "kind", "--steps", 100, "--export", model)
    assert done.returncode == 0, done.stderr
    done = thalweg("predict", model, data, "--out", out)
    assert done.returncode == 0, done.stderr
    with open(out, newline="") as file:
        ours = list(csv.DictReader(file))
    serve = tf.saved_model.load(str(model)).signatures["serving_default"]
    theirs = serve(
        weight=tf.constant([np.nan if r["weight"] == "" else r["weight"] for r in given], tf.float32),
        colour=tf.constant([r["colour"] for r in given]),
        shop=tf.constant([r["shop"] for r in given]),
    )
    assert [r["predicted_kind"] for r in ours] == [c.decode() for c in theirs["classes"].numpy().reshape(-1)]
    ours = np.array([float(r["probability"]) for r in ours])
    np.testing.assert_allclose(ours, theirs["probabilities"].numpy().max(axis=1), atol=6e-5)
