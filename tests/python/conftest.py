"""Tests of the installed package: `make python` builds the wheel and installs it into a virtual environment of its own."""

import pytest


@pytest.fixture(autouse=True)
def fresh_graph():
    """Each test builds a graph of its own."""
    import thalweg as tf

    graph = tf.Graph()
    with graph.as_default():
        yield graph
