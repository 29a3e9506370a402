"""`Estimator`: a model function, and how it is run. The engine trains, evaluates and predicts."""

import collections
import inspect
import os
import tempfile

import numpy

from .. import _engine
from .._graphs import GraphKeys, add_to_collection, get_default_graph
from ..data import Dataset, make_initializable_iterator
from ..train import saver as _saver
from ..train.checkpoints import NewCheckpointReader, load_variable


class ModeKeys:
    TRAIN, EVAL, PREDICT = "train", "eval", "infer"


class RunConfig:
    """How an estimator runs: seeds, checkpoints, summaries."""

    def __init__(self, model_dir=None, tf_random_seed=None, save_summary_steps=100, save_checkpoints_steps=None, save_checkpoints_secs=None,
                 session_config=None, keep_checkpoint_max=5, keep_checkpoint_every_n_hours=10000, log_step_count_steps=100, train_distribute=None,
                 device_fn=None, protocol=None, eval_distribute=None, experimental_distribute=None, experimental_max_worker_delay_secs=None,
                 session_creation_timeout_secs=7200, checkpoint_save_graph_def=True):
        if save_checkpoints_steps is None and save_checkpoints_secs is None:
            save_checkpoints_secs = 600
        self.model_dir, self.tf_random_seed, self.save_summary_steps = model_dir, tf_random_seed, save_summary_steps
        self.save_checkpoints_steps, self.save_checkpoints_secs = save_checkpoints_steps, save_checkpoints_secs
        self.session_config, self.keep_checkpoint_max, self.log_step_count_steps = session_config, keep_checkpoint_max, log_step_count_steps
        self.keep_checkpoint_every_n_hours = keep_checkpoint_every_n_hours
        self.is_chief, self.task_type, self.task_id, self.master, self.num_worker_replicas = True, "worker", 0, "", 1

    def replace(self, **kwargs):
        made = RunConfig.__new__(RunConfig)
        made.__dict__.update(self.__dict__, **kwargs)
        return made


_SPEC = ("mode", "predictions", "loss", "train_op", "eval_metric_ops", "export_outputs", "training_chief_hooks", "training_hooks", "scaffold",
         "evaluation_hooks", "prediction_hooks")


class EstimatorSpec(collections.namedtuple("EstimatorSpec", _SPEC)):
    """The nodes of a model that an estimator runs."""

    def __new__(cls, mode, predictions=None, loss=None, train_op=None, eval_metric_ops=None, export_outputs=None, training_chief_hooks=None,
                training_hooks=None, scaffold=None, evaluation_hooks=None, prediction_hooks=None):
        if mode == ModeKeys.TRAIN and train_op is None:
            raise ValueError("Missing train_op.")
        if mode in (ModeKeys.TRAIN, ModeKeys.EVAL) and loss is None:
            raise ValueError("Missing loss.")
        if mode == ModeKeys.PREDICT and predictions is None:
            raise ValueError("Missing predictions.")
        return super().__new__(cls, mode, predictions if predictions is not None else {}, loss, train_op, eval_metric_ops or {}, export_outputs,
                               list(training_chief_hooks or ()), list(training_hooks or ()), scaffold, list(evaluation_hooks or ()),
                               list(prediction_hooks or ()))


class _Batch:
    """The input of one run: what the input function gave, in its structure."""

    def __init__(self, input_fn):
        self._input_fn, self.features, self.labels = input_fn, None, None

    def begin(self):
        """Makes the nodes of the input; features and labels for the engine's own models."""
        found = self._input_fn()
        if isinstance(found, Dataset):
            iterator = make_initializable_iterator(found)
            add_to_collection(GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
            found = iterator.get_next()
        self.features, self.labels = found if isinstance(found, (tuple, list)) and len(found) == 2 else (found, None)
        named = {name: t for name, t in self.features.items() if isinstance(t, _engine.Tensor)} if isinstance(self.features, dict) else {}
        return named, self.labels if isinstance(self.labels, _engine.Tensor) else None


class Estimator:
    """A model that is a function of features, labels and mode, which returns an `EstimatorSpec`."""

    #: The engine's name of a model that needs no function.
    _kind = ""

    def __init__(self, model_fn, model_dir=None, config=None, params=None, warm_start_from=None):
        if warm_start_from is not None:
            raise NotImplementedError("Estimator with warm_start_from")
        self._config = config if config is not None else RunConfig()
        self._model_dir = os.fspath(model_dir) if model_dir else self._config.model_dir
        self._temporary = None
        if self._model_dir is None:
            self._temporary = tempfile.TemporaryDirectory()
            self._model_dir = self._temporary.name
        self._model_fn, self._params, self._canned = model_fn, dict(params or {}), {}

    model_dir = property(lambda self: self._model_dir)
    config = property(lambda self: self._config)
    params = property(lambda self: dict(self._params))
    model_fn = property(lambda self: lambda features, labels, mode, config=None: self._call_model_fn(features, labels, mode))

    def _settings(self):
        config = self._config
        return {**self._canned, "model_dir": self._model_dir, "tf_random_seed": config.tf_random_seed,
                "save_checkpoints_steps": config.save_checkpoints_steps, "save_checkpoints_secs": config.save_checkpoints_secs,
                "keep_checkpoint_max": config.keep_checkpoint_max or 0, "save_summary_steps": config.save_summary_steps or 0}

    def _call_model_fn(self, features, labels, mode):
        parameters = inspect.signature(self._model_fn).parameters
        given = {"labels": labels, "mode": mode, "params": self._params, "config": self._config}
        return self._model_fn(features, **{name: value for name, value in given.items() if name in parameters})

    def _input(self, input_fn, mode):
        parameters = inspect.signature(input_fn).parameters
        given = {"mode": mode, "params": self._params, "config": self._config}
        return _Batch(lambda: input_fn(**{name: value for name, value in given.items() if name in parameters}))

    def _model(self, batch):
        """The model for the engine: a function of the mode, which returns the parts of its spec."""
        if self._kind:
            return None

        def model(mode):
            spec = self._call_model_fn(batch.features, batch.labels if mode != ModeKeys.PREDICT else None, mode)
            if not isinstance(spec, EstimatorSpec):
                raise ValueError("model_fn should return an EstimatorSpec.")
            predictions = spec.predictions if isinstance(spec.predictions, dict) else {_ONLY: spec.predictions}
            metrics = []
            for name, pair in spec.eval_metric_ops.items():
                value, update = pair
                metrics.append((name, value, update))
            hooks = {ModeKeys.TRAIN: spec.training_hooks + spec.training_chief_hooks}.get(mode, [])
            return {"predictions": list(predictions.items()), "loss": spec.loss, "train_op": spec.train_op, "metrics": metrics, "hooks": hooks}

        return model

    def _run(self, job, input_fn, mode, **arguments):
        batch = self._input(input_fn, mode)
        return _engine.run_estimator(job, self._kind, self._settings(), batch.begin, self._model(batch), **arguments)

    def train(self, input_fn, hooks=None, steps=None, max_steps=None, saving_listeners=None):
        """Trains for `steps` more steps, until the global step is `max_steps`, or to the end of the input."""
        if steps is not None and max_steps is not None:
            raise ValueError("Can not provide both steps and max_steps.")
        for name, value in (("steps", steps), ("max_steps", max_steps)):
            if value is not None and value <= 0:
                raise ValueError(f"Must specify {name} > 0, given: {value}")
        self._run("train", input_fn, ModeKeys.TRAIN, hooks=list(hooks or ()), steps=steps, max_steps=max_steps)
        return self

    def evaluate(self, input_fn, steps=None, hooks=None, checkpoint_path=None, name=None):
        """Metrics by name, of the newest checkpoint."""
        if checkpoint_path is not None:
            raise NotImplementedError("evaluate: of the newest checkpoint only")
        metrics, step = self._run("evaluate", input_fn, ModeKeys.EVAL, steps=steps, name=name)
        found = {key: numpy.float32(value) for key, value in metrics}
        found["global_step"] = step
        return dict(sorted(found.items()))

    def predict(self, input_fn, predict_keys=None, hooks=None, checkpoint_path=None, yield_single_examples=True):
        """The predictions for one example after another."""
        if checkpoint_path is not None or not yield_single_examples:
            raise NotImplementedError("predict: of the newest checkpoint, and single examples only")
        for row in self._run("predict", input_fn, ModeKeys.PREDICT):
            if list(row) == [_ONLY]:
                yield row[_ONLY]
            else:
                yield row if predict_keys is None else {key: row[key] for key in row if key in predict_keys}

    def latest_checkpoint(self):
        return _saver.latest_checkpoint(self._model_dir)

    def get_variable_names(self):
        return sorted(NewCheckpointReader(self._checkpoint()).get_variable_to_shape_map())

    def get_variable_value(self, name):
        return load_variable(self._checkpoint(), name)

    def _checkpoint(self):
        newest = self.latest_checkpoint()
        if newest is None:
            raise ValueError(f"Could not find trained model in model_dir: {self._model_dir}.")
        return newest

    def eval_dir(self, name=None):
        return os.path.join(self._model_dir, "eval" if not name else "eval_" + name)

    def export_saved_model(self, export_dir_base, serving_input_receiver_fn, assets_extra=None, as_text=False, checkpoint_path=None):
        """The model for serving, in a new directory below this one."""
        import time

        from .. import Graph, Session, saved_model, tables_initializer

        if self._kind:
            raise NotImplementedError("export_saved_model of a canned estimator: write a model function")
        with Graph().as_default(), Session() as sess:
            receiver = serving_input_receiver_fn()
            spec = self._call_model_fn(receiver.features, None, ModeKeys.PREDICT)
            outputs = spec.export_outputs or {"serving_default": spec.predictions}
            saver = _saver.Saver() if get_default_graph()._root.global_variables() else None
            if saver is not None:
                saver.restore(sess, checkpoint_path or self._checkpoint())
            sess.run(tables_initializer())
            receivers = receiver.receiver_tensors
            receivers = receivers if isinstance(receivers, dict) else {"input": receivers}
            signatures = {}
            for name, output in outputs.items():
                tensors = getattr(output, "outputs", output)
                tensors = tensors if isinstance(tensors, dict) else {"output": tensors}
                signatures[name] = saved_model.predict_signature_def(receivers, tensors)
            path = os.path.join(os.fspath(export_dir_base), str(int(time.time())))
            builder = saved_model.Builder(path)
            builder.add_meta_graph_and_variables(sess, [saved_model.tag_constants.SERVING], signatures)
            builder.save()
            return path.encode()

    export_savedmodel = export_saved_model


#: The name of predictions that are one tensor.
_ONLY = "output"


class TrainSpec(collections.namedtuple("TrainSpec", ["input_fn", "max_steps", "hooks"])):
    def __new__(cls, input_fn, max_steps=None, hooks=None, saving_listeners=None):
        return super().__new__(cls, input_fn, max_steps, tuple(hooks or ()))


class EvalSpec(collections.namedtuple("EvalSpec", ["input_fn", "steps", "name", "hooks"])):
    def __new__(cls, input_fn, steps=100, name=None, hooks=None, exporters=None, start_delay_secs=120, throttle_secs=600):
        return super().__new__(cls, input_fn, steps, name, tuple(hooks or ()))


def train_and_evaluate(estimator, train_spec, eval_spec):
    """Trains to the end, and evaluates. Evaluations in between are those that `save_checkpoints_steps` asks for."""
    estimator.train(train_spec.input_fn, list(train_spec.hooks), max_steps=train_spec.max_steps)
    return estimator.evaluate(eval_spec.input_fn, eval_spec.steps, name=eval_spec.name), []
