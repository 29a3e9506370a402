"""The programs of `tests/python/programs` print the same with TensorFlow: their outputs are kept beside them, as `make python` has no TensorFlow.
`python with_tensorflow.py` writes them anew, and pytest of this file checks them where TensorFlow is."""

import os
import pathlib
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).parent
PROGRAMS = sorted((FOLDER / "programs").glob("*.py"))
OURS = "import thalweg as tf\n"
THEIRS = "import tensorflow.compat.v1 as tf; tf.disable_eager_execution()\n"


def printed(program):
    text = program.read_text()
    assert text.count(OURS) == 1
    environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
    ran = subprocess.run([sys.executable, "-c", text.replace(OURS, THEIRS)], capture_output=True, text=True, timeout=300, env=environment)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.stem)
def test_tensorflow_prints_what_is_kept(program):
    sys.path.insert(0, str(FOLDER))
    from test_programs import differences

    assert not differences(printed(program), program.with_suffix(".txt").read_text())


if __name__ == "__main__":
    for program in PROGRAMS:
        program.with_suffix(".txt").write_text(printed(program))
