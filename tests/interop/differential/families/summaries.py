"""Summaries as messages: sounds, and tensors by the names of their nodes. What is in files, and pictures, is compared in test_readers_and_summaries.py."""

import numpy as np
import tensorflow as tf


def sounds(g):
    shape = g.shape(2, 3, zeros=False)
    return g.case(np.array(b"tag", object), g.array(tf.float32, shape, "plain"), np.float32(g.pick([1, 100, 8000, 0.4, 0])), max_outputs=g.int(1, 4))


def tensor(g):
    return g.case(g.array(g.t(), g.shape(0, 3)), description="d", labels=["l"], display_name="n")


GENERATORS = {"AudioSummaryV2": sounds, "TensorSummary": tensor}
