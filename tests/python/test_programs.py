"""The lectures' programs, and others in the manner of well-known tutorials: each is a file of `programs`, byte-identical to what TensorFlow runs apart from the import line, and prints what
TensorFlow printed (`programs/*.txt`, which `with_tensorflow.py` checks against the real one)."""

import pathlib
import re
import subprocess
import sys

import pytest

PROGRAMS = sorted((pathlib.Path(__file__).parent / "programs").glob("*.py"))
NUMBER = re.compile(r"-?\d+\.\d*(?:e[+-]?\d+)?")


def differences(got, want, tolerance=2e-4):
    """The lines that differ, but for the last digits of numbers with a point."""
    got, want = got.strip().splitlines(), want.strip().splitlines()
    found = [f"{len(got)} lines instead of {len(want)}"] if len(got) != len(want) else []
    for g, w in zip(got, want):
        numbers = list(zip(NUMBER.findall(g), NUMBER.findall(w)))
        # Printed arrays are padded to the longest number.
        text = [" ".join(NUMBER.sub("#", line).replace("[ ", "[").split()) for line in (g, w)]
        close = all(abs(float(a) - float(b)) <= tolerance * max(1.0, abs(float(b))) for a, b in numbers)
        if text[0] != text[1] or len(NUMBER.findall(g)) != len(NUMBER.findall(w)) or not close:
            found.append(f"got  {g}\nwant {w}")
    return found


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.stem)
def test_program_prints_what_tensorflow_prints(program):
    ran = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert not differences(ran.stdout, program.with_suffix(".txt").read_text())


def test_there_are_programs():
    assert len(PROGRAMS) >= 45
