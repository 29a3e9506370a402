"""The libraries that the tests load: ours, and TensorFlow's as judge where its Python package is installed."""

import importlib.util
import os
import pathlib
import subprocess

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
PREFIX = pathlib.Path(os.environ.get("CAPI_PREFIX", ROOT / "target" / "capi"))
OURS = [PREFIX / "lib" / "libthalweg.so.1"]


def judge():
    """TensorFlow's libraries, in the order in which they must be loaded; empty if they are not installed."""
    folder = os.environ.get("CAPI_JUDGE")
    if not folder:
        spec = importlib.util.find_spec("tensorflow")
        folder = spec and spec.submodule_search_locations and spec.submodule_search_locations[0]
    names = ["libtensorflow_framework.so.2", "libtensorflow_cc.so.2"]
    found = [pathlib.Path(folder) / name for name in names] if folder else []
    return found if all(path.exists() for path in found) else []


def compile(source, libraries, out, *flags):
    """Compiles a program against libraries, which it finds again when it runs."""
    folder = str(libraries[0].parent)
    command = ["gcc", "-std=c11", "-O1", "-g", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", *flags, f"-I{PREFIX / 'include'}", str(source)]
    command += ["-o", str(out), *map(str, reversed(libraries)), f"-Wl,-rpath,{folder}", "-lpthread"]
    subprocess.run(command, check=True)


def run(command, **environment):
    """What a program prints. Its errors are shown if it fails."""
    env = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", **environment}
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=env)
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done.stdout
