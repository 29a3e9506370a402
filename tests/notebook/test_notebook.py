"""A notebook, executed without a browser: plots, tables of tensors, graphs and eager execution in one kernel, an interrupted step.

`make notebook` makes the environment. With `PLOTS=folder` the plots are written there, to be looked at.
"""

import base64
import os
import pathlib

import nbformat
import pytest
from nbclient import NotebookClient

CELLS = [
    """
import numpy as np
import matplotlib.pyplot as plt
import thalweg as tf
%matplotlib inline
x_data = np.random.RandomState(0).rand(100).astype(np.float32)
y_data = 0.1 * x_data + 0.3
""",
    """
W = tf.Variable(tf.random_uniform([1], -1.0, 1.0, seed=1))
b = tf.Variable(tf.zeros([1]))
loss = tf.reduce_mean(tf.square(W * x_data + b - y_data))
train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
losses = []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(60):
        losses.append(sess.run([train, loss])[1])
    fitted = sess.run([W, b])
plt.semilogy(losses); plt.xlabel("step"); plt.title("deferred"); plt.show()
fitted
""",
    """
queue = tf.raw_ops.FIFOQueueV2(component_types=[tf.float32])
waits = tf.raw_ops.QueueDequeueV2(handle=queue, component_types=[tf.float32])
import _thread, threading
threading.Timer(0.3, _thread.interrupt_main).start()
try:
    tf.Session().run(waits)
except KeyboardInterrupt:
    print("interrupted")
""",
    """
tf.enable_eager_execution()
tf.constant([[1.0, 2.0], [3.0, 4.0]]) * 2
""",
    """
layers = [tf.layers.Dense(16, activation=tf.tanh), tf.layers.Dense(1)]
optimizer = tf.train.AdamOptimizer(0.05)
x = np.linspace(-3, 3, 64, dtype=np.float32)[:, None]
y = np.sin(x)

@tf.function
def model(x):
    for layer in layers:
        x = layer(x)
    return x

history = []
for step in range(300):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    variables = [v for layer in layers for v in layer.variables]
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    history.append(float(loss))
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3))
left.semilogy(history); left.set_title("eager")
right.plot(x, y, "k--", label="sin"); right.plot(x, model(x), label="model"); right.legend()
plt.show()
print(history[-1] < 0.01)
""",
]


@pytest.fixture(scope="module")
def outputs():
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c.strip()) for c in CELLS])
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    return [cell.outputs for cell in notebook.cells]


def data(outputs, kind):
    return [o.data[kind] for o in outputs if "data" in o and kind in o.data]


def text(outputs):
    return "".join(o.text for o in outputs if o.output_type == "stream" and o.name == "stdout")


def test_plots_are_drawn(outputs):
    plots = [p for cell in outputs for p in data(cell, "image/png")]
    assert len(plots) == 2
    for i, plot in enumerate(plots):
        image = base64.b64decode(plot)
        assert image.startswith(b"\x89PNG") and len(image) > 5000
        if os.environ.get("PLOTS"):
            (pathlib.Path(os.environ["PLOTS"]) / f"plot{i}.png").write_bytes(image)


def test_results_are_shown(outputs):
    assert "0.1" in data(outputs[1], "text/plain")[-1] or "0.09" in data(outputs[1], "text/plain")[-1]
    table = data(outputs[3], "text/html")[0]
    assert "<table>" in table and "<td>8</td>" in table and "shape=(2, 2)" in table
    assert text(outputs[4]).strip() == "True"


def test_the_interrupt_button_ends_a_step(outputs):
    assert text(outputs[2]).strip() == "interrupted"
