"""Our op table against TensorFlow's own registry: names, order, attrs, defaults, allowed types."""

import json

import tensorflow as tf  # noqa: F401  (registers the ops)
from tensorflow.core.framework import attr_value_pb2, types_pb2
from tensorflow.python.framework import op_def_registry

# Intended differences, with the reason.
OWN = {
    "_Arg": "internal; TensorFlow registers it outside of the public table",
    "_Retval": "internal",
    "_Send": "internal",
    "_Recv": "internal",
    "AccumulatorNumStale": "TensorFlow does not count the gradients that it drops",
}


def type_name(number):
    return types_pb2.DataType.Name(number).removeprefix("DT_").lower()


def arg(a):
    """An argument as we write it: `values: N * T`."""
    ty = a.type_list_attr or a.type_attr or type_name(a.type)
    if a.is_ref:
        ty = f"Ref({ty})"
    return f"{a.name}: {a.number_attr} * {ty}" if a.number_attr else f"{a.name}: {ty}"


def plain(text):
    return text.replace(" ", "")


def test_signatures_equal_tensorflows(thalweg):
    ours = json.loads(thalweg("ops", "--json").stdout)
    ours = ours["ops"] if isinstance(ours, dict) else ours
    wrong = []
    for op in ours:
        name = op["name"]
        theirs = op_def_registry.get(name)
        if theirs is None:
            if name not in OWN:
                wrong.append(f"{name}: TensorFlow has no such op")
            continue
        if name in OWN:
            continue
        for what, args in (("inputs", theirs.input_arg), ("outputs", theirs.output_arg)):
            want, got = [plain(arg(a)) for a in args], [plain(a) for a in op[what]]
            if want != got:
                wrong.append(f"{name} {what}: {got}, TensorFlow {want}")
        want, got = {a.name for a in theirs.attr}, {a.split(":")[0].strip() for a in op["attrs"]}
        if want != got:
            wrong.append(f"{name} attrs: missing {sorted(want - got)}, extra {sorted(got - want)}")
        texts = {a.split(":")[0].strip(): a for a in op["attrs"]}
        for a in theirs.attr:
            text = texts.get(a.name)
            if text is None:
                continue
            has_default = "=" in text.replace(">=", "")
            if has_default != a.HasField("default_value"):
                wrong.append(f"{name}.{a.name}: default {'given' if has_default else 'missing'}: {text}")
    assert len(ours) >= 200
    assert not wrong, "\n".join(wrong)
