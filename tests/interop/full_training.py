"""The lectures' programs as a user starts them, with all their steps; asserts the accuracy and loss they must reach. Needs MNIST's files.

    python tests/interop/full_training.py [--data FOLDER] [--binary target/release/thalweg] [--only WORDS]
"""

import argparse
import os
import pathlib
import re
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))

# The arguments, and what is checked of the table of results and the seconds it took.
PROGRAMS = {
    "linear": (["linear"], lambda r, s: abs(r["W"] - 0.1) <= 0.001 and abs(r["b"] - 0.3) <= 0.001),
    "xor": (["xor"], lambda r, s: r["last loss"] < 0.01),
    "iris": (["iris"], lambda r, s: r["test accuracy"] >= 0.967 and s < 1),
    "ptb": (["ptb"], lambda r, s: r["test perplexity"] < 0.5 * r["counting words alone"]),
    "mnist mlp": (["mnist", "--model", "mlp"], lambda r, s: r["test accuracy"] >= 98.0),
    "mnist cnn": (["mnist", "--model", "cnn"], lambda r, s: r["test accuracy"] >= 99.1),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default=TARGET / "release" / "thalweg")
    parser.add_argument("--data", help="folder with MNIST's files")
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    for name, (program, reached) in PROGRAMS.items():
        if args.only not in name:
            continue
        data = ["--data", args.data] if args.data and program[0] == "mnist" else []
        began = time.monotonic()
        done = subprocess.run([args.binary, "train", *program, *data], capture_output=True, text=True)
        took = time.monotonic() - began
        assert done.returncode == 0, done.stderr
        table = done.stdout.rsplit("\n\n", 1)[1]
        print(f"{name}, {took:.2f} s\n{table}")
        results = {key.strip(): float(value) for key, value in re.findall(r"^(\S.*?)  +(-?[\d.]+)", table, re.M)}
        assert reached(results, took), f"{name} has not reached what it must"


if __name__ == "__main__":
    main()
