"""Hooks: code around each step of a training loop. Those with a name of the engine are the engine's."""

import collections

from .. import _engine

SessionRunArgs = collections.namedtuple("SessionRunArgs", ["fetches", "feed_dict", "options"], defaults=(None, None))
SessionRunValues = collections.namedtuple("SessionRunValues", ["results", "options", "run_metadata"])


class SessionRunContext:
    """What a hook knows of the run that it is called around."""

    def __init__(self, original_args, session):
        self.original_args, self.session, self._stop_requested = original_args, session, False

    @property
    def stop_requested(self):
        return self._stop_requested

    def request_stop(self):
        """No more runs are made after this one."""
        self._stop_requested = True


class SessionRunHook:
    """A hook of your own overrides any of these."""

    def begin(self):
        pass

    def after_create_session(self, session, coord):
        pass

    def before_run(self, run_context):
        return None

    def after_run(self, run_context, run_values):
        pass

    def end(self, session):
        pass


class NanLossDuringTrainingError(RuntimeError):
    def __str__(self):
        return "NaN loss during training."


class _EngineHook(SessionRunHook):
    _kind = None

    def __init__(self, **settings):
        self._settings = {k: v for k, v in settings.items() if v is not None}

    def _engine_hook(self):
        return self._kind, self._settings


class StopAtStepHook(_EngineHook):
    _kind = "stop_at_step"

    def __init__(self, num_steps=None, last_step=None):
        if num_steps is None and last_step is None:
            raise ValueError("One of num_steps or last_step must be specified.")
        if num_steps is not None and last_step is not None:
            raise ValueError("Only one of num_steps or last_step can be specified.")
        super().__init__(num_steps=num_steps, last_step=last_step)


class CheckpointSaverHook(_EngineHook):
    _kind = "checkpoint_saver"

    def __init__(self, checkpoint_dir, save_secs=None, save_steps=None, saver=None, checkpoint_basename="model.ckpt", scaffold=None, listeners=None,
                 save_graph_def=True):
        super().__init__(directory=checkpoint_dir, save_secs=save_secs, save_steps=save_steps)


class SummarySaverHook(_EngineHook):
    """Saves all summaries of the graph."""

    _kind = "summary_saver"

    def __init__(self, save_steps=None, save_secs=None, output_dir=None, summary_writer=None, scaffold=None, summary_op=None):
        if output_dir is None:
            raise NotImplementedError("SummarySaverHook needs an output_dir")
        super().__init__(directory=output_dir, save_secs=save_secs, save_steps=save_steps)


class StepCounterHook(_EngineHook):
    _kind = "step_counter"

    def __init__(self, every_n_steps=100, every_n_secs=None, output_dir=None, summary_writer=None):
        super().__init__(directory=output_dir, every_n_steps=every_n_steps, every_n_secs=every_n_secs)


class LoggingTensorHook(_EngineHook):
    """Writes values to standard error."""

    _kind = "logging"

    def __init__(self, tensors, every_n_iter=None, every_n_secs=None, at_end=False, formatter=None):
        named = tensors.items() if isinstance(tensors, dict) else [(getattr(t, "name", t), t) for t in tensors]
        self._named = list(named)
        super().__init__(every_n_iter=every_n_iter, every_n_secs=every_n_secs)

    def _engine_hook(self):
        from .._graphs import get_default_graph

        graph = get_default_graph()
        tensors = [(n, graph.as_graph_element(t) if isinstance(t, str) else t) for n, t in self._named]
        return self._kind, {**self._settings, "tensors": tensors}


class NanTensorHook(SessionRunHook):
    """Ends training where a loss is not a number."""

    def __init__(self, loss_tensor, fail_on_nan_loss=True):
        self._loss, self._fails = loss_tensor, fail_on_nan_loss

    def before_run(self, run_context):
        return SessionRunArgs(self._loss)

    def after_run(self, run_context, run_values):
        import numpy

        if numpy.isnan(run_values.results).any():
            if self._fails:
                raise NanLossDuringTrainingError
            run_context.request_stop()


class FinalOpsHook(SessionRunHook):
    """Runs operations at the end."""

    def __init__(self, final_ops, final_ops_feed_dict=None):
        self._ops, self._feeds, self.final_ops_values = final_ops, final_ops_feed_dict, None

    def end(self, session):
        if self._ops is not None:
            self.final_ops_values = session.run(self._ops, self._feeds)


class FeedFnHook(SessionRunHook):
    def __init__(self, feed_fn):
        raise NotImplementedError("FeedFnHook: feed in session.run")


class GlobalStepWaiterHook(SessionRunHook):
    """Waits until the global step is so far."""

    def __init__(self, wait_until_step):
        self._until = wait_until_step

    def begin(self):
        from .steps import get_global_step

        self._step = get_global_step()

    def after_create_session(self, session, coord):
        import time

        while session.run(self._step) < self._until:
            time.sleep(0.5)


# Called by the engine, with the graph of the loop as the default one.

def _in_graph(graph, function, args):
    with graph.as_default():
        return function(*args)


def _begin(hook):
    hook.begin()


def _after_create_session(hook, session):
    hook.after_create_session(session, None)


def _before_run(hook, session, asked):
    fetches, feeds = asked if asked is not None else (None, None)
    context = SessionRunContext(SessionRunArgs(fetches, feeds), session)
    args = hook.before_run(context)
    if args is not None and getattr(args, "feed_dict", None):
        raise NotImplementedError("a hook's before_run cannot feed")
    return context, args.fetches if isinstance(args, SessionRunArgs) else args


def _after_run(hook, context, results):
    hook.after_run(context, SessionRunValues(results, None, None))
    return bool(context.stop_requested)


def _end(hook, session):
    hook.end(session)


def _called(function, args):
    return function(*args)
