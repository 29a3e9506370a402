"""Monitored sessions: the engine's, with TensorFlow's arguments."""

from .. import _engine
from .._graphs import GraphKeys, get_collection, get_default_graph
from ..errors import OutOfRangeError
from .hooks import CheckpointSaverHook, SessionRunHook, StepCounterHook, SummarySaverHook

USE_DEFAULT = object()


class _QueueRunners(SessionRunHook):
    """Starts the threads that fill the graph's queues."""

    def after_create_session(self, session, coord):
        from .queues import Coordinator, start_queue_runners

        self._coordinator = Coordinator()
        start_queue_runners(session, self._coordinator)

    def end(self, session):
        self._coordinator.request_stop()


class Scaffold:
    """Accepted where TensorFlow takes one; the engine makes its own nodes for initialising and saving."""

    def __init__(self, **parts):
        given = [name for name, value in parts.items() if value is not None]
        if given:
            raise NotImplementedError(f"tf.train.Scaffold with {', '.join(given)}")


class SessionCreator:
    def __init__(self, **settings):
        self._settings = {k: v for k, v in settings.items() if v is not None}


def _filters(config):
    return list(config.device_filters) if config is not None else None


class ChiefSessionCreator(SessionCreator):
    def __init__(self, scaffold=None, master="", config=None, checkpoint_dir=None, checkpoint_filename_with_path=None):
        super().__init__(master=master, checkpoint_dir=checkpoint_dir, is_chief=True, device_filters=_filters(config))


class WorkerSessionCreator(SessionCreator):
    def __init__(self, scaffold=None, master="", config=None, max_wait_secs=30 * 60):
        super().__init__(master=master, is_chief=False, device_filters=_filters(config))


class MonitoredSession:
    """A session with hooks around each run; it recovers when another task is lost. Use it in a `with` statement."""

    def __init__(self, session_creator=None, hooks=None, stop_grace_period_secs=120):
        creator = session_creator or ChiefSessionCreator()
        hooks = list(hooks or ())
        if get_collection(GraphKeys.QUEUE_RUNNERS):
            hooks.append(_QueueRunners())
        self.graph = get_default_graph()
        self._context = self.graph.as_default()
        self._session = _engine.Monitored(self.graph._root, hooks, creator._settings)

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        found = self._session.run(fetches, feed_dict)
        if found is None:
            raise OutOfRangeError(None, None, "the input of the training loop has ended, or a hook has stopped it")
        return found[0]

    def run_step_fn(self, step_fn):
        raise NotImplementedError("MonitoredSession.run_step_fn: use run")

    def should_stop(self):
        return self._session.should_stop()

    def raw_session(self):
        return self._session.session()

    def close(self):
        self._session.close(False)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        ended = kind is not None and issubclass(kind, (OutOfRangeError, StopIteration))
        self._session.close(kind is not None and not ended)
        return ended

    def make_callable(self, *args, **kwargs):
        return self.raw_session().make_callable(*args, **kwargs)


class SingularMonitoredSession(MonitoredSession):
    """In this process, without recovery."""

    def __init__(self, hooks=None, scaffold=None, master="", config=None, checkpoint_dir=None, stop_grace_period_secs=120,
                 checkpoint_filename_with_path=None):
        super().__init__(ChiefSessionCreator(master=master, config=config, checkpoint_dir=checkpoint_dir), hooks)


def MonitoredTrainingSession(master="", is_chief=True, checkpoint_dir=None, scaffold=None, hooks=None, chief_only_hooks=None,
                             save_checkpoint_secs=USE_DEFAULT, save_summaries_steps=USE_DEFAULT, save_summaries_secs=USE_DEFAULT, config=None,
                             stop_grace_period_secs=120, log_step_count_steps=100, max_wait_secs=7200, save_checkpoint_steps=USE_DEFAULT,
                             summary_dir=None, save_graph_def=True):
    """A session for training: initialises or restores, saves checkpoints and summaries."""
    hooks = list(hooks or ())
    if not is_chief:
        return MonitoredSession(WorkerSessionCreator(master=master, config=config), hooks)
    if save_checkpoint_secs is USE_DEFAULT and save_checkpoint_steps is USE_DEFAULT:
        save_checkpoint_secs, save_checkpoint_steps = 600, None
    save_checkpoint_secs, save_checkpoint_steps = (None if v is USE_DEFAULT else v for v in (save_checkpoint_secs, save_checkpoint_steps))
    if save_summaries_steps is USE_DEFAULT and save_summaries_secs is USE_DEFAULT:
        save_summaries_steps, save_summaries_secs = 100, None
    save_summaries_steps, save_summaries_secs = (None if v is USE_DEFAULT else v for v in (save_summaries_steps, save_summaries_secs))
    folder = summary_dir or checkpoint_dir
    hooks += list(chief_only_hooks or ())
    if folder and (save_summaries_steps or save_summaries_secs):
        hooks.append(SummarySaverHook(save_summaries_steps, save_summaries_secs, output_dir=folder))
    if folder and log_step_count_steps:
        hooks.append(StepCounterHook(log_step_count_steps, output_dir=folder))
    if checkpoint_dir and (save_checkpoint_secs or save_checkpoint_steps):
        hooks.append(CheckpointSaverHook(checkpoint_dir, save_checkpoint_secs, save_checkpoint_steps))
    return MonitoredSession(ChiefSessionCreator(master=master, config=config, checkpoint_dir=checkpoint_dir), hooks)
