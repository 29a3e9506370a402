"""TensorFlow as the judge: set up the same on every machine, and what it has no kernel for told apart from a difference.

TensorFlow reads these variables when it is loaded, so whoever loads it calls `prepare` first (conftest does, for all tests), or `quiet`
where it is measured as its users have it.
"""

import os

QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3"}

SETTINGS = QUIET | {
    # By itself TensorFlow takes oneDNN's kernels on some CPUs (those with AVX-512) and its own on others, and its own do not dilate or
    # group convolutions backwards.
    "TF_ENABLE_ONEDNN_OPTS": "1",
    # Else as many as there are cores.
    "TF_NUM_INTRAOP_THREADS": "2",
    "TF_NUM_INTEROP_THREADS": "2",
}


def prepare():
    """Sets what is not set: who sets it before sees what TensorFlow would say on another kind of machine."""
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)


def prepare_without_onednn():
    """For inputs of every type and value: some stop the process in oneDNN's kernels, on CPUs without some instructions."""
    os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
    prepare()


def quiet():
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)


def has_onednn():
    return os.environ["TF_ENABLE_ONEDNN_OPTS"] == "1"


# What TensorFlow says where it has no kernel for what is asked, by class of error. Such a case is not judged.
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
    """The kernel's own words in an exception: the line before the one that shows the node, or after the one that names it, or the last."""
    lines = [line.strip() for line in str(e).splitlines() if line.strip()]
    shown = next((i - 1 for i, line in enumerate(lines) if "[[{{node" in line), None)
    named = next((i + 1 for i, line in enumerate(lines[:-1]) if line.startswith("Node: '")), -1)
    at = named if shown is None else max(shown, 0)
    return lines[at][:300] if lines else ""


def has_no_kernel(error, message):
    """Whether an error of this class, in these words, says that TensorFlow cannot compute this here."""
    return any(text in message for text in NO_KERNEL.get(error, []))
