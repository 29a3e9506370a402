"""A real TensorBoard on a directory, and questions to it over HTTP."""

import contextlib
import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request


class TensorBoard:
    """A running TensorBoard."""

    def __init__(self, port, process):
        self.port, self.process = port, process

    def bytes(self, path, post=None, **query):
        """The answer of `/data/path`, as it is."""
        url = f"http://127.0.0.1:{self.port}/data/{path}" + ("?" + urllib.parse.urlencode(query) if query else "")
        data = None if post is None else json.dumps(post).encode()
        request = urllib.request.Request(url, data=data, headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read()

    def get(self, path, post=None, **query):
        """The answer of a plugin, from JSON."""
        return json.loads(self.bytes(f"plugin/{path}", post, **query))

    def wait_for(self, is_there):
        """Waits until it has read the files."""
        deadline = time.monotonic() + 180
        while time.monotonic() < deadline:
            assert self.process.poll() is None, self.process.stdout.read()
            try:
                if is_there(self):
                    return
            except OSError:
                pass
            time.sleep(0.2)
        raise AssertionError("TensorBoard did not find the runs")


@contextlib.contextmanager
def tensorboard(logdir, is_there, load_fast=False):
    """Starts it, and waits until what is looked for is there. `load_fast`: with the loader in a process of its own."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    options = ["--port", str(port), "--host", "127.0.0.1", f"--load_fast={'true' if load_fast else 'false'}"]
    # All steps of all values, not a sample of them.
    options += ["--samples_per_plugin", "scalars=10000,images=10000,audio=10000,histograms=10000,text=10000,pr_curves=10000"]
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(logdir), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            board = TensorBoard(port, process)
            board.wait_for(is_there)
            yield board
        finally:
            # SIGTERM right after its start has been seen to have no effect.
            process.kill()
