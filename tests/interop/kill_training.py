"""`thalweg train mnist`, killed (SIGKILL) at random moments and resumed, until it ends: equal to a run that was never killed.

After each kill TensorFlow reads every tensor of the latest checkpoint, and the next run must resume from that step or a later one. With one thread and one seed the last checkpoint is equal to the other run's, byte by byte, and so is the printed accuracy.

    python tests/interop/kill_training.py [--kills 100] [--model mlp] [--steps 4700] [--data FOLDER] [--binary target/release/thalweg]
"""

import argparse
import os
import pathlib
import random
import re
import subprocess
import tempfile
import time

import judge

judge.quiet()

import tensorflow as tf

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
WEIGHTS = ".data-00000-of-00001"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default=TARGET / "release" / "thalweg")
    parser.add_argument("--data", help="folder with MNIST's files")
    parser.add_argument("--model", default="mlp")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--steps", type=int, default=4700)
    parser.add_argument("--save-every", type=int, default=5)
    parser.add_argument("--longest", type=float, default=2.5, help="seconds that a run lives at most, counted from its start")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30), help="of the moments")
    return parser.parse_args()


def command(args, folder, save_every, *more):
    data = ["--data", args.data] if args.data else []
    known = ["--model", args.model, "--steps", args.steps, "--threads", 1, "--save-every", save_every, "--logdir", folder]
    return [str(a) for a in [args.binary, "train", "mnist", *data, *known, *more]]


def complete(args, folder, save_every, *more):
    """A run to its end; returns the output."""
    done = subprocess.run(command(args, folder, save_every, *more), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def killed(args, folder, moments, *more):
    """A run that is killed at a random moment; returns the output, and whether it was still running."""
    with subprocess.Popen(command(args, folder, args.save_every, *more), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as run:
        time.sleep(moments.uniform(0, args.longest))
        alive = run.poll() is None
        run.kill()
        return run.stdout.read(), alive


def read_checkpoint(folder):
    """The step of the newest checkpoint, after reading all of it; None if there is none yet."""
    newest = tf.train.latest_checkpoint(str(folder))
    if newest is None:
        assert not (folder / "checkpoint").exists(), "the state file names no checkpoint that is there"
        return None
    reader = tf.train.load_checkpoint(newest)
    for name in reader.get_variable_to_shape_map():
        reader.get_tensor(name)
    step = int(newest.rsplit("-", 1)[1])
    assert reader.get_tensor("global_step") == step, newest
    return step


def resumed_from(text):
    found = re.search(r"^continuing after step (\d+)$", text, re.M)
    return int(found.group(1)) if found else None


def accuracy(text):
    return re.search(r"^test accuracy +(.*)$", text, re.M).group(1)


def resume(folder):
    """The arguments to resume in this folder: it may have a first checkpoint that is not in the state file yet."""
    return ["--resume"] if list(folder.glob("*.index")) else []


def kill_often(args, folder):
    """Kills `kills` runs, and verifies the checkpoint after each; returns how many were killed while saving."""
    moments = random.Random(args.seed)
    saved, kills, torn = None, 0, 0
    while kills < args.kills:
        text, alive = killed(args, folder, moments, *resume(folder))
        assert alive, f"it ended by itself before it was killed often enough; give it more --steps: {text}"
        assert "error" not in text, text
        began = resumed_from(text)
        assert began is None or saved is None or began >= saved, f"after step {saved} was saved, it went on after {began}"
        found = read_checkpoint(folder)
        assert saved is None or found >= saved, f"step {saved} was saved, now {found} is the newest"
        saved, kills = found, kills + 1
        torn += folder.exists() and any(".tempstate" in f.name for f in folder.iterdir())
    print(f"{kills} kills ({torn} while a file was being written), step {saved} is saved")
    return saved


def main():
    args = arguments()
    print(f"kills at random moments, --seed {args.seed}")
    with tempfile.TemporaryDirectory() as scratch:
        parts, whole = pathlib.Path(scratch, "parts"), pathlib.Path(scratch, "whole")
        saved = kill_often(args, parts)
        found = complete(args, parts, args.steps, *resume(parts))
        assert resumed_from(found) == saved, found
        expected = complete(args, whole, args.steps)
        weights = [(f / f"model.ckpt-{args.steps}{WEIGHTS}").read_bytes() for f in (parts, whole)]
        print(f"never killed: {accuracy(expected)}; killed: {accuracy(found)}")
        assert accuracy(found) == accuracy(expected)
        assert weights[0] == weights[1], "the weights differ"
        print(f"all {len(weights[0]):,} bytes of the last checkpoints are equal")


if __name__ == "__main__":
    main()
