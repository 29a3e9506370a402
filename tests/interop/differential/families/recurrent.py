"""Recurrent cells in one op, and CTC."""

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
    if g.op in ("BlockLSTM", "BlockLSTMV2") and arrays[0] < time[0]:
        # After the last step TensorFlow sets states and outputs only.
        named = [a.name for a in g.definition.input_arg]
        return g.program(lambda t: [getattr(tf.raw_ops, g.op)(**dict(zip(named, t)), **attrs)[i] for i in (1, 6)], *arrays, judge="norm")
    return g.case(*arrays, judge="norm", **attrs)


def ctc_loss(g):
    dtype, steps, batch, classes = g.t(), g.int(2, 6), g.int(1, 3), g.int(2, 4)
    lengths = [g.int(1, steps) for _ in range(batch)]
    labels = [[g.int(0, classes - 2) for _ in range(g.int(1, n))] for n in lengths]
    indices = [(b, i) for b, row in enumerate(labels) for i in range(len(row))]
    attrs = {"preprocess_collapse_repeated": g.coin(0.3), "ctc_merge_repeated": g.coin(0.7), "ignore_longer_outputs_than_inputs": g.coin(0.3)}
    return g.case(g.array(dtype, (steps, batch, classes), "plain"), g.of(indices, tf.int64), g.of(sum(labels, []), tf.int32), g.of(lengths, tf.int32), judge="norm", **attrs)


def ctc_decoder(g):
    dtype, steps, batch, classes = g.t(), g.int(2, 6), g.int(1, 3), g.int(2, 4)
    lengths = [g.int(2, steps) for _ in range(batch)]
    attrs = {"merge_repeated": g.coin()}
    if g.op == "CTCGreedyDecoder":
        attrs["blank_index"] = g.int(-classes, classes - 1)
    else:
        width = g.pick([2, 3, 8, 40])
        attrs |= {"beam_width": width, "top_paths": g.int(1, 2)}
    return g.case(g.array(dtype, (steps, batch, classes), "plain"), g.of(lengths, tf.int32), judge="norm", **attrs)


GENERATORS = {op: cell for op in "BlockLSTM BlockLSTMV2 BlockLSTMGrad BlockLSTMGradV2 LSTMBlockCell LSTMBlockCellGrad GRUBlockCell GRUBlockCellGrad".split()}
GENERATORS |= {"CTCLoss": ctc_loss, "CTCGreedyDecoder": ctc_decoder, "CTCBeamSearchDecoder": ctc_decoder}
