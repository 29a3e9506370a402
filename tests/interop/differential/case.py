"""A case: one call of an op (or a small program around it) with its inputs."""

import dataclasses
import itertools
from typing import Callable, Optional

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from . import kernels, values

serial = itertools.count()


@dataclasses.dataclass
class Case:
    op: str
    inputs: list  # arrays; a list of arrays where the op takes a list
    attrs: dict
    types: str  # for the table
    judge: str = "exact"  # how `compare` compares: exact, close, sum, shape, sorted, or a function's name
    build: Optional[Callable] = None  # a program: build(list of tensors) -> what to fetch
    label: str = ""
    mutated: bool = False
    static: bool = False  # the graph knows the input shapes

    @property
    def stateful(self):
        """Whether two runs in one session may differ."""
        return self.build is not None or op_def_registry.get(self.op).is_stateful

    def describe(self):
        shown = [repr(a) if np.size(a) < 40 else f"{a.dtype}{a.shape}" for a in self.arrays()]
        return f"{self.op} {self.label} {self.types} {self.attrs} static={self.static}\n      " + "\n      ".join(s.replace("\n", " ") for s in shown)

    def arrays(self):
        for value in self.inputs:
            yield from value if isinstance(value, list) else [value]


class Gen:
    """The argument of a generator: the op, the types of this case, and random sources."""

    def __init__(self, op, rng, index):
        self.op, self.rng, self.index = op, rng, index
        self.definition = op_def_registry.get(op)
        combinations = kernels.combinations(op)
        # Round robin over the combinations of types, from a random start, so that short runs differ by seed.
        self.types = combinations[index % len(combinations)] if combinations else {}

    def t(self, name="T"):
        return self.types[name]

    def restrict(self, **wanted):
        """Chooses again among the combinations that satisfy conditions on types."""
        fits = [c for c in kernels.combinations(self.op) if all(test(c[k]) for k, test in wanted.items())]
        self.types = fits[self.index % len(fits)]

    def pick(self, items):
        return items[int(self.rng.integers(len(items)))]

    def coin(self, p=0.5):
        return bool(self.rng.random() < p)

    def int(self, low, high):
        """A whole number from low to high, both included."""
        return int(self.rng.integers(low, high + 1))

    def shape(self, *args, **kwargs):
        return values.shape(self.rng, *args, **kwargs)

    def profile(self, *choices):
        return self.pick(choices or ("plain", "wide", "special"))

    def array(self, dtype, shape, profile=None):
        return values.array(self.rng, dtype, shape, profile or self.profile())

    def ints(self, low, high, shape=(), dtype=tf.int32):
        """Whole numbers from low to high, both included."""
        return self.rng.integers(low, high + 1, shape).astype(tf.as_dtype(dtype).as_numpy_dtype) if high >= low else np.zeros(shape, tf.as_dtype(dtype).as_numpy_dtype)

    def of(self, value, dtype):
        return np.asarray(value, tf.as_dtype(dtype).as_numpy_dtype)

    def broadcast_pair(self, max_rank=4):
        """Two shapes that broadcast."""
        full = list(self.shape(0, max_rank))
        a = [1 if d != 1 and self.coin(0.2) else d for d in full]
        b = [1 if d != 1 and self.coin(0.2) else d for d in full]
        cut = self.int(0, len(full)) if self.coin(0.4) else 0
        pair = (tuple(a[cut:]), tuple(b))
        return pair if self.coin() else pair[::-1]

    def name(self):
        """A unique name, for shared state."""
        return f"case_{next(serial)}"

    def label(self):
        return ",".join(f"{t.name}" for t in self.types.values())

    def case(self, *inputs, judge="exact", **attrs):
        """The op with its inputs in order. Type attrs that the inputs do not determine are set."""
        fixed = {a.type_attr for a in self.definition.input_arg} | {a.type_list_attr for a in self.definition.input_arg}
        for name, t in self.types.items():
            if name in fixed:
                attrs.pop(name, None)
            else:
                attrs.setdefault(name, t)
        return Case(self.op, list(inputs), attrs, self.label(), judge)

    def program(self, build, *inputs, judge="exact", label=""):
        return Case(self.op, list(inputs), {}, self.label(), judge, build, label)
