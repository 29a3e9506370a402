"""The Rust client drives a real TensorFlow server, and ours, with the same program."""

import re
import subprocess

import tensorflow as tf

from conftest import ROOT, TARGET


def remote(target):
    command = [TARGET / "examples" / "remote", target]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


def check(output):
    losses = [float(loss) for loss in re.findall(r"step +\d+  loss ([0-9.]+)", output)]
    assert len(losses) == 4 and losses[-1] < 0.4 < losses[0], output
    assert float(re.search(r"test accuracy ([0-9.]+)", output)[1]) > 0.9, output
    assert "error: InvalidArgument" in output


def test_the_rust_client_on_our_server(own_server):
    output = remote(own_server.target)
    assert output.startswith("devices: /job:localhost/replica:0/task:0/device:CPU:0\n")
    check(output)


def test_the_rust_client_on_a_tensorflow_server():
    server = tf.distribute.Server.create_local_server()
    output = remote(server.target)
    assert output.startswith("devices: /job:localhost/replica:0/task:0/device:CPU:0")
    check(output)
