"""Training: optimizers, savers, servers, schedules. The engine does the work."""

from .optimizers import (AdadeltaOptimizer, AdagradDAOptimizer, AdagradOptimizer, AdamOptimizer, FtrlOptimizer, GradientDescentOptimizer,
                         MomentumOptimizer, Optimizer, ProximalAdagradOptimizer, ProximalGradientDescentOptimizer, RMSPropOptimizer)
from .saver import Saver, checkpoint_exists, get_checkpoint_state, latest_checkpoint
from .schedules import cosine_decay, exponential_decay, inverse_time_decay, natural_exp_decay, piecewise_constant
from .server import ClusterSpec, Server, replica_device_setter
from .steps import assert_global_step, create_global_step, get_global_step, get_or_create_global_step, global_step
from ..summary import FileWriter as SummaryWriter
