"""TensorFlow 1's interface over Thalweg: describe a computation as a graph, run it in a session.

    import thalweg as tf

    a = tf.add(3, 5)
    with tf.Session() as sess:
        print(sess.run(a))
"""

import os as _os
import sys as _sys

from . import _engine
from ._engine import DType, Operation, Tensor, Variable, as_dtype
from . import errors
from ._shapes import Dimension, TensorShape
from ._graphs import (Graph, GraphKeys, add_to_collection, colocate_with, control_dependencies, convert_to_tensor,
                      device, get_collection, get_collection_ref, get_default_graph, init_scope, name_scope,
                      reset_default_graph, set_random_seed)
from ._slices import IndexedSlices, IndexedSlicesValue, SparseTensor, SparseTensorValue
from . import _operators
from ._variables import (VariableScope, AUTO_REUSE, all_variables, assign, assign_add, assign_sub, get_local_variable,
                         get_variable, get_variable_scope, global_variables, global_variables_initializer,
                         initialize_all_variables, initialize_local_variables, initialize_variables, is_variable_initialized,
                         local_variables, local_variables_initializer, report_uninitialized_variables, tables_initializer,
                         trainable_variables, variable_scope, variables_initializer)
from ._session import (ConfigProto, GPUOptions, GraphDef, GraphOptions, InteractiveSession, OptimizerOptions, RunMetadata,
                       RunOptions, Session, get_default_session)
from ._arrays import *
from ._mathematics import *
from ._control_flow import (Assert, Print, case, cond, foldl, foldr, group, map_fn, no_op, scan, tuple, while_loop)
from ._random import *
from ._imports import import_graph_def
from ._parsing import (FixedLenFeature, FixedLenSequenceFeature, VarLenFeature, decode_csv, decode_raw, parse_example, parse_single_example,
                       string_split)
from ._tensor_array import TensorArray
from .queue import FIFOQueue, PaddingFIFOQueue, PriorityQueue, QueueBase, RandomShuffleQueue
from .summary import Event, Summary
from ._gradients import (AggregationMethod, clip_by_average_norm, clip_by_global_norm, clip_by_norm, clip_by_value,
                         global_norm, gradients)
from .initializers import (constant_initializer, glorot_normal_initializer, glorot_uniform_initializer, he_normal_initializer, he_uniform_initializer,
                           ones_initializer, orthogonal_initializer, random_normal_initializer,
                           random_uniform_initializer, truncated_normal_initializer,
                           variance_scaling_initializer, zeros_initializer)

__version__ = _engine.__version__
VERSION = __version__
version = type(_sys)("thalweg.version")
version.VERSION = __version__

# The element types: tf.float32, tf.int32, ..
for _name in ("float16", "float32", "float64", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
              "bool", "string", "complex64", "complex128", "qint8", "qint16", "qint32", "quint8", "quint16", "resource", "variant"):
    globals()[_name] = as_dtype(_name)
half, double = as_dtype("float16"), as_dtype("float64")
newaxis = None

_os.register_at_fork(after_in_child=_engine._forked)

# Modules that are imported when they are first used.
_MODULES = frozenset(("nn", "math", "linalg", "strings", "image", "random", "signal", "sparse", "sets", "bitwise", "io", "audio",
                      "raw_ops", "train", "layers", "losses", "metrics", "summary", "initializers", "compat", "dtypes", "gfile",
                      "logging", "saved_model", "debugging", "data", "estimator", "feature_column", "lookup", "graph_util", "python_io", "queue"))


# Names of ops that are not those of the op table.
_OPS = {
    "cholesky_solve": "CholeskySolve", "matrix_triangular_solve": "MatrixTriangularSolve", "lgamma": "Lgamma", "lbeta": "Lbeta",
    "self_adjoint_eigvals": "SelfAdjointEigV2", "log_determinant": "LogMatrixDeterminant", "ceil": "Ceil", "ceiling": "Ceil", "igamma": "Igamma",
    "batch_matmul": "BatchMatMulV2", "string_to_hash_bucket": "StringToHashBucket", "write_file": "WriteFile", "read_file": "ReadFile",
    "matching_files": "MatchingFiles", "decode_base64": "DecodeBase64", "encode_base64": "EncodeBase64",
}

# Names of modules that are names of the package too.
_FUNCTIONS_OF = {name: "debugging" for name in (
    "assert_equal", "assert_none_equal", "assert_less", "assert_less_equal", "assert_greater", "assert_greater_equal", "assert_positive",
    "assert_non_negative", "assert_negative", "assert_non_positive", "assert_near", "assert_rank", "assert_rank_at_least", "assert_rank_in",
    "assert_scalar", "assert_type", "assert_integer", "is_numeric_tensor", "is_non_decreasing", "is_strictly_increasing")}


from ._eager import disable_eager_execution, enable_eager_execution, executing_eagerly
from ._tape import GradientTape, UnconnectedGradients
from ._function import Function, TensorSpec, function
from ._py_function import numpy_function, py_func, py_function


def disable_v2_behavior():
    """Graphs are deferred, as they are unless eager execution is enabled."""
    disable_eager_execution()


disable_resource_variables = enable_resource_variables = disable_v2_tensorshape = enable_v2_tensorshape = lambda: None


def __getattr__(name):
    import importlib

    if name in _FUNCTIONS_OF:
        return getattr(importlib.import_module("." + _FUNCTIONS_OF[name], __name__), name)
    if name in _MODULES:
        return importlib.import_module("." + name, __name__)
    if name == "app":
        raise AttributeError("tf.app and tf.flags are not part of thalweg; use argparse")
    from ._op_functions import function as op_function, public

    function = op_function(_OPS[name], name) if name in _OPS else public(name)
    if function is None:
        raise AttributeError(f"module 'thalweg' has no attribute '{name}'")
    globals()[name] = function
    return function


def __dir__():
    from ._op_functions import public_names

    return sorted(set(globals()) | _MODULES | set(public_names()))
