"""Recurrent cells in one op, and CTC."""

import numpy as np
import tensorflow as tf

def cell(g):
    """Inputs by name. Gates that a gradient takes are in (-1, 1), as activations are."""
    dtype, batch, inputs, units = g.t(), g.int(1, 3), g.int(1, 4), g.int(1, 4)
    time = (g.int(1, 4),) if g.op.startswith("Block") else ()
    shapes = {"x": (*time, batch, inputs), "w": (inputs + units, 4 * units), "b": (4 * units,)}
    shapes |= {"w_ru": (inputs + units, 2 * units), "w_c": (inputs + units, units), "b_ru": (2 * units,), "b_c": (units,)}
    arrays = []
    for a in g.definition.input_arg:
        if a.name == "seq_len_max":
            arrays.append(g.of(g.int(1, time[0]), tf.int64))
        elif a.name in shapes:
            arrays.append(g.array(dtype, shapes[a.name], "unit"))
        elif a.name.startswith("wc"):
            arrays.append(g.array(dtype, (units,), "unit"))
        else:
            previous = a.name.endswith("_prev")
            arrays.append(g.array(dtype, (batch, units) if previous else (*time, batch, units), "unit"))
    attrs = {}
    names = {a.name for a in g.definition.attr}
    if "use_peephole" in names:
        attrs["use_peephole"] = g.coin()
    if "cell_clip" in names:
        attrs["cell_clip"] = g.pick([0.0, -1.0, 0.5, 3.0])
    if "forget_bias" in names:
        attrs["forget_bias"] = g.pick([0.0, 1.0])
    return g.case(*arrays, judge="norm", **attrs)


GENERATORS = {op: cell for op in "BlockLSTM BlockLSTMV2 BlockLSTMGrad BlockLSTMGradV2 LSTMBlockCell LSTMBlockCellGrad GRUBlockCell GRUBlockCellGrad".split()}
