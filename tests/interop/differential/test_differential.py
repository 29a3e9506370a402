"""The fast part of the differential bench: some cases of every op, of a fixed seed."""

import pathlib
import subprocess
import sys

SEED, CASES = 2021, 5  # the fifth is the first that is mutated


def test_every_op_agrees_with_tensorflow():
    # In a separate process: the bench forks, which is only safe before TensorFlow has started threads.
    command = [sys.executable, "-m", "differential", "--cases", str(CASES), "--seed", str(SEED)]
    done = subprocess.run(command, cwd=pathlib.Path(__file__).parents[1], capture_output=True, text=True, timeout=600)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
