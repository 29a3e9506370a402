"""Runs cases in child processes: some inputs crash TensorFlow's process, which must cost one case, not the run."""

import os
import pickle
import signal

from . import driver


def run(cases, target):
    """Verdicts of some cases. If the child crashes, the cases are bisected; a single case that crashes is `fatal`."""
    done, pending = {}, [list(enumerate(cases))]
    while pending:
        part = pending.pop()
        verdicts, status = in_child([c for _, c in part], target)
        if verdicts is not None:
            done |= {i: v for (i, _), v in zip(part, verdicts)}
        elif len(part) == 1:
            case = part[0][1]
            done[part[0][0]] = driver.Verdict(case.op, case.types, case.mutated, "fatal", f"TensorFlow stops: {status}", text=case.describe())
        else:
            middle = len(part) // 2
            pending += [part[:middle], part[middle:]]
    return [done[i] for i in range(len(cases))]


def in_child(cases, target):
    """(verdicts or None, exit status). This process must not have opened a session: fork does not copy its threads."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        with os.fdopen(writer, "wb") as out:
            pickle.dump(driver.run(cases, target), out)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as got:
        data = got.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return None, signal.Signals(os.WTERMSIG(status)).name
    code = os.WEXITSTATUS(status)
    return (pickle.loads(data), "") if code == 0 else (None, f"exit {code}")
