"""The long run, from tests/interop: python -m differential [--cases N] [--seed S] [--op NAME ...] [--table]"""

import argparse
import collections
import json
import os
import random
import subprocess
import sys
import time

import judge

judge.prepare_without_onednn()
BATCH = 150


def arguments():
    p = argparse.ArgumentParser(prog="differential", description=__doc__)
    p.add_argument("--cases", type=int, default=40, help="cases for each op")
    p.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 31))
    p.add_argument("--op", action="append", help="only these ops")
    p.add_argument("--index", type=int, help="only this case of each op")
    p.add_argument("--table", action="store_true", help="print the coverage table")
    p.add_argument("--target", help="a server to use instead of one of our own, such as TensorFlow's: to try generators")
    p.add_argument("--show", type=int, default=3, help="differences to show for each op")
    return p.parse_args()


def main():
    args = arguments()
    import tensorflow as tf

    tf.compat.v1.disable_eager_execution()
    tf.compat.v1.logging.set_verbosity("ERROR")
    from conftest import TARGET, Server

    from . import child_process, coverage, plan

    ours = [op["name"] for op in json.loads(subprocess.check_output([TARGET / "thalweg", "ops", "--json"]))]
    wanted = args.op or ours
    server, counted = None if args.target else Server(), coverage.Coverage()
    print(f"seed {args.seed}, {args.cases} cases for each of {len(wanted)} ops", flush=True)
    began, shown, refused = time.monotonic(), collections.Counter(), {}
    try:
        per_batch = max(1, BATCH // args.cases)
        for i in range(0, len(wanted), per_batch):
            ops = wanted[i : i + per_batch]
            if i * 10 // len(wanted) != (i - per_batch) * 10 // len(wanted):
                print(f"{i} ops, {time.monotonic() - began:.0f} s, next {ops[0]}", file=sys.stderr, flush=True)
            first, count = (args.index, 1) if args.index is not None else (0, args.cases)
            batch = list(plan.cases(ops, args.seed, count, first))
            for k in range(0, len(batch), BATCH):
                verdicts = child_process.run(batch[k : k + BATCH], args.target or server.target)
                counted.add(verdicts)
                for v in verdicts:
                    if v.status == "different":
                        shown[v.op] += 1
                        if shown[v.op] <= args.show:
                            print(f"differs: {v.text}\n      {v.detail}", flush=True)
                    elif v.status == "fatal" or v.status == "refused" and not v.mutated:
                        refused.setdefault(v.op, []).append(v)
    finally:
        if server:
            server.stop()
    for op, found in refused.items():
        print(f"-- {op}: TensorFlow refuses {len(found)}, such as {found[0].text}: {found[0].detail}")
    for op, count in shown.items():
        print(f"== {op}: {count} differ")
    if args.table:
        print(counted.table(ours, plan.NOT_COMPARED))
    totals = {s: sum(r.counts[s] for r in counted.rows.values()) for s in ("same", "flushed", "deviation", "refused", "fatal", "different")}
    print(f"{len(counted.rows)} of {len(ours)} ops, {totals} in {time.monotonic() - began:.0f} s, seed {args.seed}")
    missing = [op for op in wanted if op not in counted.rows and op not in plan.NOT_COMPARED and not plan.is_dataset(op)]
    if missing:
        print(f"no generator for: {' '.join(missing)}")
    sys.stdout.flush()
    # Do not join TensorFlow's own threads.
    os._exit(1 if totals["different"] or missing else 0)


main()
