"""The package with eager execution: `import thalweg.eager as tf`."""

import sys as _sys

import thalweg as _tf

_tf.enable_eager_execution()
_sys.modules[__name__] = _tf
