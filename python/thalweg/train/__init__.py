"""Training: optimizers, savers, servers, schedules, loops. The engine does the work."""

from .averages import ExponentialMovingAverage
from .checkpoints import NewCheckpointReader, list_variables, load_checkpoint, load_variable
from .hooks import (CheckpointSaverHook, FeedFnHook, FinalOpsHook, GlobalStepWaiterHook, LoggingTensorHook, NanLossDuringTrainingError,
                    NanTensorHook, SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues, StepCounterHook, StopAtStepHook,
                    SummarySaverHook)
from .messages import BytesList, Example, Feature, Features, FloatList, Int64List
from .monitored import (ChiefSessionCreator, MonitoredSession, MonitoredTrainingSession, Scaffold, SessionCreator, SingularMonitoredSession,
                        WorkerSessionCreator)
from .optimizers import (AdadeltaOptimizer, AdagradDAOptimizer, AdagradOptimizer, AdamOptimizer, FtrlOptimizer, GradientDescentOptimizer,
                         MomentumOptimizer, Optimizer, ProximalAdagradOptimizer, ProximalGradientDescentOptimizer, RMSPropOptimizer)
from .queues import (Coordinator, LooperThread, QueueRunner, add_queue_runner, batch, input_producer, limit_epochs, match_filenames_once,
                     range_input_producer, shuffle_batch, slice_input_producer, start_queue_runners, string_input_producer)
from .saver import Saver, checkpoint_exists, get_checkpoint_state, latest_checkpoint
from .schedules import (cosine_decay, exponential_decay, inverse_time_decay, natural_exp_decay, piecewise_constant, piecewise_constant_decay,
                        polynomial_decay)
from .server import ClusterSpec, Server, replica_device_setter
from .steps import assert_global_step, create_global_step, get_global_step, get_or_create_global_step, global_step
from ..summary import FileWriter as SummaryWriter, summary_iterator
from .._imports import import_meta_graph


def write_graph(graph_or_graph_def, logdir, name, as_text=True):
    """Writes a GraphDef to a file; returns its path."""
    import os

    definition = graph_or_graph_def if hasattr(graph_or_graph_def, "SerializeToString") else graph_or_graph_def.as_graph_def()
    os.makedirs(logdir, exist_ok=True)
    path = os.path.join(logdir, name)
    with open(path, "wb") as f:
        f.write(str(definition).encode() if as_text else definition.SerializeToString())
    return path
