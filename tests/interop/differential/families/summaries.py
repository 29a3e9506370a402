"""Summaries as messages: sounds. What is in files, and pictures, is compared in test_readers_and_summaries.py."""

import numpy as np
import tensorflow as tf


def sounds(g):
    shape = g.shape(2, 3, zeros=False)
    return g.case(np.array(b"tag", object), g.array(tf.float32, shape, "plain"), np.float32(g.pick([1, 100, 8000, 0.4, 0])), max_outputs=g.int(1, 4))


GENERATORS = {"AudioSummaryV2": sounds}
