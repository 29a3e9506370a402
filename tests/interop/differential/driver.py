"""Runs cases on TensorFlow's own session and on a Thalweg server: many in one graph, bisected on failure."""

import dataclasses

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_def_library, op_def_registry

from judge import has_no_kernel, said

from . import compare, deviations, values

tf1 = tf.compat.v1
TIMEOUT_MS = 60_000


@dataclasses.dataclass
class Outcome:
    """The outcome of one case on one side."""

    values: list = None
    error: str = None  # class of the exception
    message: str = ""


@dataclasses.dataclass
class Verdict:
    op: str
    types: str
    mutated: bool
    status: str  # same, different, deviation (an accepted one), flushed, refused (TensorFlow rejects it), fatal (TensorFlow's process crashed)
    detail: str = ""
    worst: float = 0.0
    text: str = ""  # the case in full, where it matters

    @staticmethod
    def of(case, status, detail="", worst=0.0):
        return Verdict(case.op, case.types, case.mutated, status, detail, worst, "" if status == "same" else case.describe())


def placeholder(a, static):
    dtype = tf.string if a.dtype == object else tf.as_dtype(a.dtype)
    return tf1.placeholder(dtype, a.shape if static else None)


def build(case):
    """(feeds: placeholder to array, fetches) of a case in the current graph."""
    feeds, tensors = {}, []
    for value in case.inputs:
        made = []
        for a in value if isinstance(value, list) else [value]:
            made.append(placeholder(a, case.static))
            feeds[made[-1]] = a
        tensors.append(made if isinstance(value, list) else made[0])
    if case.build:
        fetches = case.build(tensors)
    else:
        definition = op_def_registry.get(case.op)
        names = [a.name for a in definition.input_arg]
        defaults = {a.name: None for a in definition.attr if a.HasField("default_value") and a.type != "type"}
        fetches = op_def_library.apply_op(case.op, **dict(zip(names, tensors)), **defaults | case.attrs)
    if isinstance(fetches, tf.Operation) or tf.is_tensor(fetches):
        fetches = [fetches]
    return feeds, flat(fetches)


def flat(items):
    out = []
    for item in items:
        out.extend(flat(item) if isinstance(item, (list, tuple)) else [item])
    return out


def config():
    made = tf1.ConfigProto(isolate_session_state=True, operation_timeout_in_ms=TIMEOUT_MS)
    made.graph_options.rewrite_options.disable_meta_optimizer = True
    return made


class Side:
    """One of the two implementations: the target of its sessions, and the graph."""

    def __init__(self, target, graph):
        self.target, self.graph, self.session = target, graph, None

    def attempt(self, group):
        """Values of a group of built cases, all in one step."""
        if self.session is None:
            self.session = tf1.Session(self.target, graph=self.graph, config=config())
        feeds = {}
        for item in group:
            feeds.update(item.feeds)
        return self.session.run([item.fetches for item in group], feeds)

    def run(self, group, outcomes):
        """Outcomes of a group: all in one step, bisected on failure."""
        pending = [group]
        while pending:
            part = pending.pop()
            try:
                for item, got in zip(part, self.attempt(part)):
                    outcomes[item.index] = Outcome(values=got)
            except Exception as e:  # noqa: BLE001  (any class: comparing them is the point)
                if len(part) == 1:
                    outcomes[part[0].index] = Outcome(error=type(e).__name__, message=said(e))
                else:
                    middle = len(part) // 2
                    pending += [part[:middle], part[middle:]]
                if any(item.case.stateful for item in part):
                    self.close()  # a failed step's effects on queues, variables and random sources must not affect the next

    def close(self):
        if self.session is not None:
            self.session.close()
            self.session = None


@dataclasses.dataclass
class Built:
    index: int
    case: object
    feeds: dict
    fetches: list


def run(cases, target):
    """Verdicts of some cases, in order."""
    graph = tf1.Graph()
    verdicts, built = {}, []
    with graph.as_default():
        for i, case in enumerate(cases):
            try:
                built.append(Built(i, case, *build(case)))
            except Exception as e:  # noqa: BLE001
                verdicts[i] = Verdict.of(case, "refused", f"{type(e).__name__}: {str(e).splitlines()[0][:300]}")
    sides = []
    for where in ("", target):
        outcomes, side = {}, Side(where, graph)
        # Cases that are likely to fail run alone.
        for item in (b for b in built if b.case.mutated):
            side.run([item], outcomes)
        if whole := [b for b in built if not b.case.mutated]:
            side.run(whole, outcomes)
        if where:
            rerun_flushed(side, built, sides[0], outcomes, verdicts)
        side.close()
        sides.append(outcomes)
    for item in built:
        if item.index not in verdicts:
            verdicts[item.index] = judge(item.case, sides[1][item.index], sides[0][item.index])
    return [verdicts[i] for i in range(len(cases))]


def rerun_flushed(side, built, theirs, ours, verdicts):
    """TensorFlow's threads flush denormals to zero. Where results differ, they must agree once our inputs are flushed too."""
    for item in built:
        if item.case.stateful or judge(item.case, ours[item.index], theirs[item.index]).status != "different":
            continue
        flushed = {p: values.flush_denormals(a) for p, a in item.feeds.items()}
        if all(np.array_equal(f, item.feeds[p], equal_nan=f.dtype.kind in "fc") for p, f in flushed.items() if f.dtype != object):
            continue
        again = {}
        side.run([dataclasses.replace(item, feeds=flushed)], again)
        either = merged(item.case, ours[item.index], again[item.index], theirs[item.index])
        verdict = judge(item.case, either, theirs[item.index])
        if verdict.status in ("same", "deviation"):
            verdicts[item.index] = dataclasses.replace(verdict, status="flushed")


def merged(case, ours, again, theirs):
    """Of two results, elementwise the one that agrees: which thread computed an element is nondeterministic."""
    if ours.error or again.error or theirs.error or any(np.shape(a) != np.shape(b) for a, b in zip(ours.values, theirs.values)):
        return again
    values = []
    for a, b, want in zip(ours.values, again.values, theirs.values):
        a, b, want = np.asarray(a), np.asarray(b), np.asarray(want)
        fits = compare.close_enough(case, a.dtype.name, compare.wide(a), compare.wide(want)) if compare.is_float(a) else a == want
        values.append(np.where(fits, a, b).astype(a.dtype))
    return Outcome(values=values)


def judge(case, ours, theirs):
    verdict = compare_outcomes(case, ours, theirs)
    if verdict.status == "different" and (why := deviations.reason(case, ours, theirs)):
        return dataclasses.replace(verdict, status="deviation", detail=why)
    return verdict


def compare_outcomes(case, ours, theirs):
    if not (theirs.error or ours.error):
        what, worst = compare.outputs(case, ours.values, theirs.values)
        return Verdict.of(case, "different" if what else "same", what or "", worst)
    if theirs.error == ours.error:
        return Verdict.of(case, "same", theirs.error)
    if theirs.error and has_no_kernel(theirs.error, theirs.message):
        return Verdict.of(case, "refused", f"TensorFlow: {theirs.error} {theirs.message}")
    sides = [f"{who} {side.error + ': ' + side.message if side.error else 'gives ' + brief(side.values)}" for who, side in (("ours", ours), ("TensorFlow", theirs))]
    return Verdict.of(case, "different", "\n      ".join(sides))


def brief(got):
    return str([getattr(np.asarray(v), "shape", None) for v in got])
