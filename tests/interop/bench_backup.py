"""Steps of synchronous training while workers stop for a second now and then, with no backup worker, with one, and with two.

    python bench_backup.py [--thalweg PROGRAM] [--data DIR] [--steps N] [--batch N] [--seed N]

Four workers train MNIST's net on one parameter server, all of them `thalweg train`. At random moments one of the workers, never the
chief, which applies the updates, is stopped (SIGSTOP) for a second. A step's time is the interval between two values of the global
step in the chief's output. The first row is without stops.
"""

import argparse
import json
import os
import random
import re
import signal
import statistics
import subprocess
import threading
import time

import clusters

WORKERS = 4
STOPPED = 1.0


class Training:
    """A cluster that trains, and the times at which its global step was seen to advance."""

    def __init__(self, backups, args):
        ports = clusters.free_ports(WORKERS + 1)
        addresses = [f"127.0.0.1:{p}" for p in ports]
        cluster = {"ps": addresses[:1], "worker": addresses[1:]}
        mode = ["--mode", "backup", "--backup-workers", str(backups)] if backups else ["--mode", "sync"]
        command = [clusters.PROGRAM, "train", "mnist", "--steps", str(args.steps), "--batch", str(args.batch)]
        command += [*mode, "--threads", "1", "--report-every", "0", "--peer-timeout", "30"]
        command += ["--data", args.data] if args.data else []
        self.seen = []
        self.processes = {}
        for job, index in [("ps", 0), *(("worker", i) for i in range(WORKERS))]:
            config = json.dumps({"cluster": cluster, "task": {"type": job, "index": index}})
            out = subprocess.PIPE if (job, index) == ("worker", 0) else subprocess.DEVNULL
            env = {**os.environ, "TF_CONFIG": config}
            self.processes[job, index] = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL, text=True, env=env)
        self.begun, self.ended = threading.Event(), threading.Event()
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.processes["worker", 0].stdout:
            if found := re.match(r"step (\d+)/", line):
                self.seen.append((int(found[1]), time.monotonic()))
                self.begun.set()
        self.begun.set()
        self.ended.set()

    def disturb(self, rng):
        """Stops one worker after another until the training has ended."""
        stops = 0
        while not self.ended.wait(rng.uniform(0, 2)):
            victim = self.processes["worker", rng.randrange(1, WORKERS)]
            victim.send_signal(signal.SIGSTOP)
            self.ended.wait(STOPPED)
            victim.send_signal(signal.SIGCONT)
            stops += 1
        return stops

    def step_times(self):
        """Seconds of each step; the interval is divided evenly where several steps were seen at once."""
        times = []
        for (a, before), (b, after) in zip(self.seen, self.seen[1:]):
            # A chief may print the same step twice.
            if b > a:
                times += [(after - before) / (b - a)] * (b - a)
        return times

    def end(self):
        for process in self.processes.values():
            process.kill()
            process.wait()
        self.reader.join()


def measure(backups, disturbed, args):
    training = Training(backups, args)
    try:
        assert training.begun.wait(120), "the training did not begin"
        stops = 0
        if disturbed:
            stops = training.disturb(random.Random(args.seed))
        else:
            training.ended.wait()
        code = training.processes["worker", 0].wait()
        assert code == 0, f"the chief ended with {code}"
        return training.step_times(), stops
    finally:
        training.end()


def at(times, share):
    return sorted(times)[min(len(times) - 1, int(share * len(times)))]


def curve(rows):
    """The cumulative distribution of step times: one line per row, one column per time."""
    limits = [0.05 * 1.35**i for i in range(14)]
    print(f"\n{'share of steps within':26}" + "".join(f"{limit:6.2f}" for limit in limits) + "  seconds")
    for name, times, _ in rows:
        within = [sum(t <= limit for t in times) / len(times) for limit in limits]
        print(f"{name:26}" + "".join(f"{100 * share:5.0f}%" for share in within))
    print()
    width = 50
    for name, times, _ in rows:
        for label, share in [("median", 0.5), ("p90", 0.9), ("p99", 0.99)]:
            bar = "#" * max(1, round(width * at(times, share) / 1.5))
            print(f"{name if label == 'median' else '':26}{label:>7} {bar} {at(times, share):.3f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--thalweg", default=None)
    parser.add_argument("--data", default=None)
    parser.add_argument("--steps", type=int, default=250)
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if args.thalweg:
        clusters.PROGRAM = args.thalweg
    rows = []
    print(f"{'':26}{'median':>9}{'p90':>9}{'p99':>9}{'mean':>9}{'steps':>7}{'stops':>7}")
    plans = [("b = 0, nobody stops", 0, False), *((f"b = {b}", b, True) for b in range(3))]
    for name, backups, disturbed in plans:
        times, stops = measure(backups, disturbed, args)
        rows.append((name, times, stops))
        numbers = [at(times, 0.5), at(times, 0.9), at(times, 0.99), statistics.mean(times)]
        print(f"{name:26}" + "".join(f"{1e3 * n:6.0f} ms" for n in numbers) + f"{len(times):7}{stops:7}", flush=True)
    curve(rows)


if __name__ == "__main__":
    main()
