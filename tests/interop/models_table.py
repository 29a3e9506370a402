"""The table of models: largest relative difference from TensorFlow, time from load to the first answer, and memory of both.

    python models_table.py --models DIR [--binary target/release/thalweg] [--rounds 3] [--only MobileNetV2 ..]

Models are exported into DIR once. TensorFlow's time is that of tf.saved_model.load and the first call, without the import of tensorflow; ours is that of
the whole process. Memory is the peak of each process. Rounds alternate; medians are shown.
"""

import argparse
import pathlib
import statistics
import subprocess
import sys
import time

import judge
import numpy as np

judge.quiet()

ROOT = pathlib.Path(__file__).resolve().parents[2]
APPLICATIONS = ["MobileNetV2", "ResNet50", "EfficientNetB0", "DenseNet121", "InceptionV3", "NASNetMobile"]

PEER = """
import resource, sys, time
import numpy as np
import tensorflow as tf
directory, name, value, out = sys.argv[1:]
x = np.load(value)
start = time.perf_counter()
call = tf.saved_model.load(directory).signatures["serving_default"]
found = call(**{name: tf.constant(x)})
found = {k: v.numpy() for k, v in found.items()}
seconds = time.perf_counter() - start
np.savez(out, **found)
print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def export(directory, names):
    """The models that are not there yet."""
    missing = [name for name in names if not (directory / name / "saved_model.pb").exists()]
    if not missing:
        return
    import keras
    import saved_models as models

    keras.utils.set_random_seed(1)
    others = {
        "LSTM": lambda: models.text(keras.layers.LSTM),
        "GRU": lambda: models.text(keras.layers.GRU),
        "Transformer": models.transformer,
        "UNet": models.unet,
    }
    for name in missing:
        model = models.application(name, small=False) if name in APPLICATIONS else others[name]()
        shape = (1, *model.input_shape[1:])
        rng = np.random.default_rng(0)
        value = np.array([["the cat ran in the dark park"]]) if model.input.dtype == "string" else rng.random(shape).astype(np.float32)
        model.export(str(directory / name), verbose=False)
        np.save(directory / f"{name}.npy", value)
        (directory / f"{name}.input").write_text(model.input.name)


def peer(directory, name, out):
    args = [str(directory / name), (directory / f"{name}.input").read_text(), str(directory / f"{name}.npy"), str(out)]
    done = subprocess.run([sys.executable, "-c", PEER, *args], capture_output=True, text=True, check=True)
    seconds, kilobytes = done.stdout.split()
    return float(seconds), int(kilobytes) / 1024


def ours(binary, directory, name, out):
    feed = f"{(directory / f'{name}.input').read_text()}={directory / f'{name}.npy'}"
    command = [binary, "run", directory / name, "--feed", feed, "--out", out, "--report-memory"]
    start = time.perf_counter()
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    seconds = time.perf_counter() - start
    assert done.returncode == 0, done.stderr
    return seconds, int(done.stdout.split()[-1]) / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=pathlib.Path, required=True)
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "target/release/thalweg")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=[*APPLICATIONS, "LSTM", "GRU", "Transformer", "UNet"])
    args = parser.parse_args()
    args.models.mkdir(parents=True, exist_ok=True)
    export(args.models, args.only)
    print("| model | largest relative difference | first answer: Thalweg | TensorFlow | | memory: Thalweg | TensorFlow |\n|---|---|---|---|---|---|---|")
    for name in args.only:
        out = args.models / f"{name}.out"
        rounds = [(ours(args.binary, args.models, name, out), peer(args.models, name, out / "want.npz")) for _ in range(args.rounds)]
        mine, theirs = ([statistics.median(column) for column in zip(*side)] for side in zip(*rounds))
        want = np.load(out / "want.npz")
        worst = max(np.abs(np.load(out / f"{k}.npy") - want[k]).max() / np.abs(want[k]).max() for k in want)
        print(
            f"| {name} | {worst:.1e} | {mine[0] * 1e3:.0f} ms | {theirs[0] * 1e3:.0f} ms | {theirs[0] / mine[0]:.1f}x "
            f"| {mine[1]:.0f} MiB | {theirs[1]:.0f} MiB |",
            flush=True,
        )


if __name__ == "__main__":
    main()
