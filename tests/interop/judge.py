"""TensorFlow as the reference: configured the same on every machine, with missing kernels distinguished from differences.

TensorFlow reads these environment variables when it is imported, so call `prepare` before (conftest does, for all tests), or `quiet`
for benchmarks in the default configuration.
"""

import os

QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3"}

SETTINGS = QUIET | {
    # By default TensorFlow uses oneDNN's kernels on some CPUs (those with AVX-512) and its own on others, which lack the gradients of
    # dilated and grouped convolutions.
    "TF_ENABLE_ONEDNN_OPTS": "1",
    # The default is the number of cores.
    "TF_NUM_INTRAOP_THREADS": "2",
    "TF_NUM_INTEROP_THREADS": "2",
}


def prepare():
    """Sets the variables that are unset: preset ones emulate another kind of machine."""
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)


def prepare_without_onednn():
    """For inputs of every type and value: some crash the process in oneDNN's kernels, on CPUs without some instructions."""
    os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
    prepare()


def quiet():
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)


def has_onednn():
    return os.environ["TF_ENABLE_ONEDNN_OPTS"] == "1"


# TensorFlow's errors for a missing kernel, by class. Such a case is not compared.
NO_KERNEL = {
    "UnimplementedError": [""],
    "NotFoundError": ["No registered '"],
    "InvalidArgumentError": [
        "No OpKernel was registered",
        "on the CPU",
        "on CPU",
        "CPU implementation",
        "Generic conv implementation only supports",
        # The filters' gradient of a grouped convolution.
        "filter_size does not have enough elements",
    ],
    # An op that only oneDNN has a kernel for: without it, it computes nothing.
    "InternalError": ["Missing 0-th output from {{node"],
}


def said(e):
    """The kernel's message in an exception: the line before the one with the node's definition, or after the one with its name, or the last."""
    lines = [line.strip() for line in str(e).splitlines() if line.strip()]
    shown = next((i - 1 for i, line in enumerate(lines) if "[[{{node" in line), None)
    named = next((i + 1 for i, line in enumerate(lines[:-1]) if line.startswith("Node: '")), -1)
    at = named if shown is None else max(shown, 0)
    return lines[at][:300] if lines else ""


def has_no_kernel(error, message):
    """Whether an error of this class and message means that TensorFlow has no kernel."""
    return any(text in message for text in NO_KERNEL.get(error, []))
