"""The programs of `tests/python/programs` print the same with TensorFlow: their outputs are kept beside them, as `make python` has no TensorFlow.
`python with_tensorflow.py [PROGRAM ..]` writes them anew, and pytest of this file checks them where TensorFlow is.

Layers and cells of TensorFlow 1 need `tf_keras` of the same version beside it. Estimators need TensorFlow 2.15, the last that had them: the programs
with `tf.estimator` are run by it only, all others by a later one.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

import pytest

FOLDER = pathlib.Path(__file__).parent
PROGRAMS = sorted((FOLDER / "programs").glob("*.py"))
OURS = "import thalweg as tf\n"
THEIRS = "import tensorflow.compat.v1 as tf; tf.disable_eager_execution()\n"


def can_run(program):
    import tensorflow

    return hasattr(tensorflow, "estimator") == ("tf.estimator" in program.read_text())


def printed(program):
    text = program.read_text()
    assert text.count(OURS) == 1
    environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="", TF_USE_LEGACY_KERAS="1")
    with tempfile.TemporaryDirectory() as folder:
        # A file: a program may start itself again, as the tasks of a cluster.
        theirs = pathlib.Path(folder) / program.name
        theirs.write_text(text.replace(OURS, THEIRS))
        ran = subprocess.run([sys.executable, str(theirs)], capture_output=True, text=True, timeout=300, env=environment)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.stem)
def test_tensorflow_prints_what_is_kept(program):
    if not can_run(program):
        pytest.skip("of another version of TensorFlow")
    sys.path.insert(0, str(FOLDER))
    from test_programs import differences

    assert not differences(printed(program), program.with_suffix(".txt").read_text())


if __name__ == "__main__":
    for program in PROGRAMS:
        if not can_run(program) or (sys.argv[1:] and program.stem not in sys.argv[1:]):
            continue
        program.with_suffix(".txt").write_text(printed(program))
