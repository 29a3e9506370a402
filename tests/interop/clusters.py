"""Clusters of Thalweg's and TensorFlow's own tasks, each a process."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys

from conftest import TARGET

PROGRAM = TARGET / "thalweg"

TF_SERVER = """
import json, sys
import tensorflow as tf
cluster, job, task = json.loads(sys.argv[1]), sys.argv[2], int(sys.argv[3])
server = tf.distribute.Server(tf.train.ClusterSpec(cluster), job_name=job, task_index=task)
print("ready", flush=True)
server.join()
"""


def free_ports(count):
    """Unused ports."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for s in sockets:
            s.bind(("127.0.0.1", 0))
        return [s.getsockname()[1] for s in sockets]


class Cluster:
    """Tasks by job, with the implementation of each: `{"ps": ["thalweg", "tensorflow"], ...}`."""

    def __init__(self, jobs):
        ports = iter(free_ports(sum(map(len, jobs.values()))))
        self.addresses = {job: [f"127.0.0.1:{next(ports)}" for _ in kinds] for job, kinds in jobs.items()}
        self.kinds = jobs
        self.processes = {}
        for job, kinds in jobs.items():
            for task in range(len(kinds)):
                self.start(job, task)
        for process in self.processes.values():
            assert process.stdout.readline(), "a task did not start"

    def start(self, job, task):
        where = json.dumps(self.addresses)
        if self.kinds[job][task] == "thalweg":
            command = [PROGRAM, "server", "--cluster", where, "--job", job, "--task", str(task)]
        else:
            command = [sys.executable, "-c", TF_SERVER, where, job, str(task)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.processes[job, task] = process
        return process

    def target(self, job, task):
        return f"grpc://{self.addresses[job][task]}"

    def freeze(self, job, task):
        """Stops a task's process, and waits until the kernel has stopped all its threads: a busy machine does so later."""
        process = self.processes[job, task]
        process.send_signal(signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)

    def stop(self):
        for process in self.processes.values():
            process.kill()
        for process in self.processes.values():
            process.wait()
            process.stdout.close()
