"""Summaries as messages: sounds, tensors. What is in files, and pictures, is compared in test_readers_and_summaries.py."""

import numpy as np
import tensorflow as tf


def sounds(g):
    shape = g.shape(2, 3, zeros=False)
    return g.case(np.array(b"tag", object), g.array(tf.float32, shape, "plain"), np.float32(g.pick([1, 100, 8000, 0.4, 0])), max_outputs=g.int(1, 4))


def tensors(g):
    return g.case(g.array(g.t(), g.shape(0, 3)), description="text", labels=["a"], display_name="name")


GENERATORS = {"AudioSummaryV2": sounds, "TensorSummary": tensors}
