"""TensorFlow as the judge: the same on every machine, and what it cannot judge told apart from a difference.

TensorFlow reads its variables when it is loaded, so whatever loads it calls `prepare` first (conftest does for all tests), or `quiet` where
it is measured as its users have it.
"""

import os

QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3"}

SETTINGS = QUIET | {
    # TensorFlow takes oneDNN's kernels or its own by the kind of CPU, and oneDNN others again by its instructions: some refuse, or stop
    # the process, where others compute. Its own are the same on every x86-64.
    "TF_ENABLE_ONEDNN_OPTS": "0",
    # Of a session that does not say; else as many as there are cores.
    "TF_NUM_INTRAOP_THREADS": "2",
    "TF_NUM_INTEROP_THREADS": "2",
}


def prepare():
    """Sets what is not set: to see what another kind of machine would say, set it before."""
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)


def quiet():
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
