"""The C library: programs in C and Python that run on it, and on TensorFlow's where that is installed, with the same output."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from libraries import HERE, OURS, PREFIX, compile, judge, run


def exported(library):
    """The functions that a library exports, with their versions."""
    lines = subprocess.run(["nm", "-D", "--defined-only", "--with-symbol-versions", library], capture_output=True, text=True, check=True)
    names = [line.split()[-1] for line in lines.stdout.splitlines() if " T " in line or " W " in line]
    return dict((name.split("@")[0], name.partition("@@")[2]) for name in names)


class Headers(unittest.TestCase):
    def test_they_declare_what_the_sources_define(self):
        run([sys.executable, HERE / "header.py", "--check"])

    def test_every_declared_function_is_exported_with_a_version_and_nothing_else_is(self):
        text = "".join(path.read_text() for path in (PREFIX / "include" / "tensorflow" / "c").rglob("*.h"))
        declared = set(re.findall(r"\b(TFE?_\w+)\(", text))
        found = exported(OURS[0])
        self.assertEqual(declared, set(found))
        self.assertEqual({found[name] for name in declared}, {"libthalweg.so.1"})

    def test_they_compile_as_c_and_as_cpp(self):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "all.c")
            names = ["c_api_experimental.h", "eager/c_api_experimental.h", "tf_tstring.h"]
            source.write_text("".join(f'#include "tensorflow/c/{name}"\n' for name in names))
            for language in ["c", "c++"]:
                command = ["gcc", "-x", language, "-Wall", "-Wextra", "-Werror", "-Wpedantic", "-fsyntax-only", f"-I{PREFIX / 'include'}", source]
                try:
                    subprocess.run(["gcc", "-x", language, "-fsyntax-only", "/dev/null"], check=True, capture_output=True)
                except subprocess.CalledProcessError:
                    continue
                run(command)


class Programs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def program(self, name, of=OURS):
        out = self.folder / f"{name}_{len(of)}"
        compile(HERE / f"{name}.c", of, out)
        return out

    def test_a_program_in_c_prints_the_same_with_both_libraries(self):
        ours = run([self.program("program")])
        self.assertTrue(ours.endswith("done\n"), ours[-300:])
        if judge():
            self.assertEqual(ours, run([self.program("program", judge())]))

    def test_a_program_in_python_prints_the_same_with_both_libraries(self):
        ours = run([sys.executable, HERE / "checks.py", *OURS])
        self.assertTrue(ours.endswith("done\n"), ours[-300:])
        if judge():
            self.assertEqual(ours, run([sys.executable, HERE / "checks.py", *judge()]))

    def test_mistakes_that_end_other_libraries_are_statuses(self):
        run([self.program("robust")])

    def test_random_calls_end_in_statuses(self):
        run([self.program("random_calls"), 2000])


if __name__ == "__main__":
    print("judge:", judge()[-1:] or "none", file=sys.stderr)
    unittest.main()
