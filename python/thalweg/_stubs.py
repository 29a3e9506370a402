"""Writes the type stubs of ops: `python -m thalweg._stubs FOLDER` makes `raw_ops.pyi` from the op table, for completion in editors."""

import pathlib
import sys

from . import _op_functions

HEADER = '''"""A function for each op of the table."""

from typing import Any, Optional, Sequence, Union

from ._engine import DType, Operation, Tensor, Variable

_Value = Union[Tensor, Variable, Any]
'''

_KINDS = {"int": "int", "float": "float", "bool": "bool", "string": "Union[str, bytes]", "type": "Union[DType, str, type]", "shape": "Any",
          "tensor": "Any", "func": "Any"}


def _kind(described):
    described = described.split(" >=")[0]
    if described.startswith("list("):
        return f"Sequence[{_kind(described[5:-1])}]"
    if described.startswith("{'"):
        return "str"
    return _KINDS.get(described, _KINDS["type"] if described.startswith("{") else "Any")


def _default(value):
    return repr(value) if isinstance(value, (bool, int, float, bytes, list)) and "tf." not in repr(value) else "..."


def stub(op):
    """The stub of one op."""
    function = _op_functions.function(op, op)
    parameters = [f"{i[0]}: " + ("Sequence[_Value]" if i[2] else "_Value") for i in function._definition["inputs"]]
    parameters += [f"{a[0]}: {_kind(a[1])}" + (f" = {_default(a[3])}" if a[2] else "") for a in function._attrs.values()]
    outputs = ["list[Tensor]" if o[2] else "Tensor" for o in function._definition["outputs"]]
    result = "Operation" if not outputs else outputs[0] if len(outputs) == 1 else f"tuple[{', '.join(outputs)}]"
    doc = function.__doc__.splitlines()[0].replace("\\", "\\\\").replace('"""', "'''")
    return f'def {op}({", ".join(parameters + ["name: Optional[str] = None"])}) -> {result}:\n    """{doc}"""\n'


def write(folder):
    text = HEADER + "".join("\n\n" + stub(op) for op in sorted(_op_functions.names()) if op.isidentifier())
    path = pathlib.Path(folder) / "raw_ops.pyi"
    path.write_text(text)
    return path


if __name__ == "__main__":
    print(write(sys.argv[1]))
