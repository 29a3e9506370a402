"""Counts verdicts by op and prints the table of `make coverage-ops`."""

import collections


class Row:
    def __init__(self):
        self.types, self.counts, self.errors, self.worst = set(), collections.Counter(), set(), 0.0

    def add(self, verdict):
        self.counts[verdict.status] += 1
        if verdict.status == "same" and verdict.detail:
            self.errors.add(verdict.detail)
        elif verdict.status != "refused":
            self.types.update(t for t in verdict.types.split(",") if t)
            self.worst = max(self.worst, verdict.worst) if verdict.status == "same" else self.worst


class Coverage:
    def __init__(self):
        self.rows = collections.defaultdict(Row)

    def add(self, verdicts):
        for v in verdicts:
            self.rows[v.op].add(v)

    def table(self, ops, reasons):
        """One line for each op of our table."""
        lines = [f"{'op':36} {'cases':>6} {'differ':>6} {'known':>6} {'flushed':>7} {'max rel.':>9}  types; error classes"]
        for op in ops:
            row = self.rows.get(op)
            if row is None:
                lines.append(f"{op:36} {'-':>6}  not compared: {reasons.get(op, 'NO GENERATOR')}")
                continue
            cases = sum(row.counts[s] for s in ("same", "different", "deviation", "flushed"))
            types = " ".join(sorted(row.types)) or "-"
            errors = "; " + " ".join(sorted(row.errors)) if row.errors else ""
            lines.append(f"{op:36} {cases:6} {row.counts['different']:6} {row.counts['deviation']:6} {row.counts['flushed']:7} {row.worst:9.2g}  {types}{errors}")
        return "\n".join(lines)
