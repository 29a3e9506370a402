"""The package's page: its examples run as they are printed."""

import pathlib
import re
import subprocess
import sys

import pytest

PAGE = pathlib.Path(__file__).resolve().parents[2] / "python" / "README.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_of_the_page_runs(example):
    ran = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr


def test_there_are_examples():
    assert len(EXAMPLES) == 3
