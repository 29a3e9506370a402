"""Kills tasks of a cluster that trains, one after another, and verifies every checkpoint.

    python chaos.py [--thalweg PROGRAM] [--kills N] [--every SECONDS] [--mode sync|backup] [--ps N] [--workers N] [--steps N] [--seed N]

The model is `tally`: each step subtracts the same from each variable, so that a gradient that is applied twice, or lost though its step
is counted, shows in the next checkpoint. Three things must hold: the training ends, all its checkpoints are right, and its output
never pauses for longer than the timeout.
"""

import argparse
import pathlib
import re
import subprocess
import tempfile
import threading
import time

import judge

judge.quiet()

import tensorflow as tf

import clusters

VARIABLES = 4


def taken(mode, workers):
    """What a step subtracts from each variable."""
    return sum(4**i for i in range(workers)) / workers if mode == "sync" else 1


def check(prefix, each):
    """The step of a checkpoint, or None if it was removed already; asserts that all its variables have that step's values."""
    try:
        reader = tf.train.load_checkpoint(prefix)
        step = int(reader.get_tensor("global_step"))
        values = [float(reader.get_tensor(f"tally{i}")) for i in range(VARIABLES)]
    except (tf.errors.OpError, RuntimeError, ValueError):
        return None
    assert values == [-step * each] * VARIABLES, f"step {step}: {values}, not {-step * each}"
    return step


class Watch:
    """Verifies checkpoints as they appear."""

    def __init__(self, folder, each):
        self.folder, self.each = pathlib.Path(folder), each
        self.steps, self.wrong = [], []
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.look)
        self.thread.start()

    def look(self):
        seen = set()
        while not self.over.wait(0.05):
            for index in self.folder.glob("*.index"):
                try:
                    # The same step may come again, after a recovery.
                    key = index.name, index.stat().st_mtime_ns
                    step = check(str(index.with_suffix("")), self.each) if key not in seen else None
                    seen.add(key)
                    self.steps += [step] if step is not None else []
                except FileNotFoundError:
                    pass
                except AssertionError as e:
                    self.wrong.append(str(e))

    def end(self):
        self.over.set()
        self.thread.join()


def run(args):
    """Trains while killing tasks; returns the output and the checkpoints seen. Asserts the three conditions."""
    with tempfile.TemporaryDirectory() as folder:
        command = [clusters.PROGRAM, "local", "--ps", args.ps, "--workers", args.workers]
        command += ["--chaos", args.kills, "--chaos-every", args.every, "--chaos-seed", args.seed, "--"]
        command += ["train", "tally", "--mode", args.mode, "--steps", args.steps, "--save-every", args.save_every]
        command += ["--logdir", folder, "--report-every", "0.2", "--peer-timeout", args.peer_timeout]
        watch = Watch(folder, taken(args.mode, args.workers))
        try:
            began = time.monotonic()
            done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=args.limit)
            seconds = time.monotonic() - began
        finally:
            watch.end()
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        assert not watch.wrong, watch.wrong[:5]
        assert re.search(rf"right +{VARIABLES} of {VARIABLES}", done.stdout), done.stdout[-2000:]
        summary = next(line for line in done.stderr.splitlines() if line.startswith("chaos: ") and "kills" in line)
        silent = float(re.search(r"progress ([\d.]+) s", summary)[1])
        assert silent < args.silence, summary
        return summary, watch.steps, seconds


def parser():
    parser = argparse.ArgumentParser()
    parser.add_argument("--thalweg", default=None)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--every", type=float, default=2.0, help="seconds between two kills")
    parser.add_argument("--mode", default="sync")
    parser.add_argument("--ps", type=int, default=2)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--save-every", type=int, default=20)
    parser.add_argument("--peer-timeout", type=int, default=10)
    parser.add_argument("--silence", type=float, default=20.0, help="seconds without progress that are too many")
    parser.add_argument("--limit", type=float, default=3600.0, help="seconds that all may take")
    parser.add_argument("--seed", type=int, default=1)
    return parser


def main():
    args = parser().parse_args()
    if args.thalweg:
        clusters.PROGRAM = args.thalweg
    summary, steps, seconds = run(args)
    print(f"{args.mode}: {args.steps} steps in {seconds:.0f} s; {len(steps)} checkpoints seen, all right")
    print(summary)


if __name__ == "__main__":
    main()
