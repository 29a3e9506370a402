"""An Estimator with a model function of our own, its metrics, hooks and export of predictions."""
import tempfile

import numpy as np
import thalweg as tf

draw = np.random.RandomState(1)
features = draw.rand(200, 3).astype(np.float32)
targets = (features @ np.array([1.0, -2.0, 0.5], np.float32) + 0.25).astype(np.float32)


def model_fn(features, labels, mode, params):
    net = tf.concat([tf.expand_dims(features["a"], 1), features["rest"]], 1)
    for units in params["hidden"]:
        net = tf.layers.dense(net, units, activation=tf.nn.tanh, kernel_initializer=tf.glorot_uniform_initializer(seed=units))
    output = tf.squeeze(tf.layers.dense(net, 1, kernel_initializer=tf.glorot_uniform_initializer(seed=9)), 1)
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"output": output, "rounded": tf.round(output)})
    loss = tf.losses.mean_squared_error(labels, output)
    metrics = {"mae": tf.metrics.mean_absolute_error(labels, output), "rmse": tf.metrics.root_mean_squared_error(labels, output)}
    if mode == tf.estimator.ModeKeys.EVAL:
        return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops=metrics)
    train_op = tf.train.AdamOptimizer(params["rate"]).minimize(loss, global_step=tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def input_fn(repeat):
    dataset = tf.data.Dataset.from_tensor_slices(({"a": features[:, 0], "rest": features[:, 1:]}, targets))
    return (dataset.repeat() if repeat else dataset).batch(50)


class CountRuns(tf.train.SessionRunHook):
    def begin(self):
        self.runs, self.loss = 0, None

    def before_run(self, run_context):
        return tf.train.SessionRunArgs(tf.train.get_global_step())

    def after_run(self, run_context, run_values):
        self.runs += 1
        self.step = int(run_values.results)


with tempfile.TemporaryDirectory() as folder:
    estimator = tf.estimator.Estimator(model_fn, folder, params={"hidden": [8, 4], "rate": 0.01})
    hook = CountRuns()
    estimator.train(lambda: input_fn(True), steps=60, hooks=[hook])
    print(hook.runs, hook.step)
    first = estimator.evaluate(lambda: input_fn(False))
    print({k: "%.3f" % v for k, v in sorted(first.items())})
    estimator.train(lambda: input_fn(True), max_steps=150)
    second = estimator.evaluate(lambda: input_fn(False), steps=2, name="half")
    print({k: "%.3f" % v for k, v in sorted(second.items())}, second["loss"] < first["loss"])
    found = list(estimator.predict(lambda: input_fn(False).take(1)))
    print(len(found), sorted(found[0]), "%.2f %.2f" % (found[0]["output"], targets[0]))
    for name in estimator.get_variable_names():
        print(name)
    numpy_input = tf.estimator.inputs.numpy_input_fn({"a": features[:, 0], "rest": features[:, 1:]}, targets, batch_size=100, shuffle=False,
                                                     num_epochs=1)
    print("%.3f" % estimator.evaluate(numpy_input)["loss"])
    result = tf.estimator.train_and_evaluate(estimator, tf.estimator.TrainSpec(lambda: input_fn(True), max_steps=160),
                                             tf.estimator.EvalSpec(lambda: input_fn(False), steps=None))
    print(result[0]["global_step"])
