"""Iris flowers by feature columns and a DNNClassifier, as the lecture has it."""
import csv
import os
import tempfile

import numpy as np
import thalweg as tf

NAMES = ["SepalLength", "SepalWidth", "PetalLength", "PetalWidth"]
SPECIES = ["Setosa", "Versicolor", "Virginica"]
draw = np.random.RandomState(0)
centres = np.array([[5.0, 3.4, 1.5, 0.25], [5.9, 2.8, 4.3, 1.3], [6.6, 3.0, 5.5, 2.0]])
spread = np.array([[0.35, 0.38, 0.17, 0.1], [0.5, 0.3, 0.45, 0.2], [0.6, 0.3, 0.5, 0.27]])
labels = np.arange(150) % 3
flowers = (centres[labels] + spread[labels] * draw.randn(150, 4)).astype(np.float32)


def columns(rows):
    return {name: flowers[rows, i] for i, name in enumerate(NAMES)}


def train_input_fn(features, labels, batch_size):
    dataset = tf.data.Dataset.from_tensor_slices((dict(features), labels))
    return dataset.shuffle(1000, seed=1).repeat().batch(batch_size)


def eval_input_fn(features, labels, batch_size):
    inputs = dict(features) if labels is None else (dict(features), labels)
    return tf.data.Dataset.from_tensor_slices(inputs).batch(batch_size)


with tempfile.TemporaryDirectory() as folder:
    my_feature_columns = [tf.feature_column.numeric_column(key=key) for key in NAMES]
    classifier = tf.estimator.DNNClassifier(feature_columns=my_feature_columns, hidden_units=[10, 10], n_classes=3, model_dir=folder,
                                            config=tf.estimator.RunConfig(tf_random_seed=3))
    train_rows, test_rows = np.arange(120), np.arange(120, 150)
    classifier.train(input_fn=lambda: train_input_fn(columns(train_rows), labels[train_rows], 100), steps=400)
    eval_result = classifier.evaluate(input_fn=lambda: eval_input_fn(columns(test_rows), labels[test_rows], 100))
    print(sorted(eval_result), eval_result["global_step"])
    print("Test set accuracy good:", eval_result["accuracy"] >= 0.9)
    expected = ["Setosa", "Versicolor", "Virginica"]
    predict_x = {"SepalLength": [5.1, 5.9, 6.9], "SepalWidth": [3.3, 3.0, 3.1], "PetalLength": [1.7, 4.2, 5.4], "PetalWidth": [0.5, 1.5, 2.1]}
    predictions = classifier.predict(input_fn=lambda: eval_input_fn(predict_x, labels=None, batch_size=100))
    for pred_dict, expec in zip(predictions, expected):
        class_id = pred_dict["class_ids"][0]
        probability = pred_dict["probabilities"][class_id]
        print('Prediction is "{}", expected "{}"'.format(SPECIES[class_id], expec), probability > 0.5,
              [key in pred_dict for key in ("probabilities", "logits", "class_ids", "classes")])
    print([name for name in sorted(classifier.get_variable_names()) if "Adagrad" not in name], classifier.get_variable_value("dnn/hiddenlayer_0/bias").shape)
    print(os.path.basename(classifier.latest_checkpoint()))
