"""The Rust client drives a real TensorFlow server, and ours, with the same program."""

import subprocess

import tensorflow as tf

from conftest import ROOT


def remote(target):
    command = ["cargo", "run", "--quiet", "-p", "thalweg", "--example", "remote", "--", target]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


def check(output):
    assert "W = 0.100, b = 0.300 after 300 steps" in output
    assert "twice the line at 1: 0.800" in output
    assert "NaN ran" in output
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
