"""The command `thalweg`: the engine's own, with this script as its program."""

import os
import signal
import sys


def main():
    from . import _engine

    if not sys.argv[0].endswith(".py"):
        os.environ["THALWEG_PROGRAM"] = sys.argv[0]
    # Ctrl-C ends the command, as it ends a program that is not Python.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_engine.run_program(["thalweg", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
