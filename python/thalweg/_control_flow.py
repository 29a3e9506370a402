"""Loops, branches and groups. The engine makes their nodes; here are the structures of their arguments."""

import builtins

from . import _engine
from ._engine import Operation, Tensor, Variable
from ._graphs import control_dependencies, convert_to_tensor, current_scope, name_scope
from ._op_functions import call
from ._shapes import TensorShape


def _flat(structure):
    """The tensors of nested lists, tuples and dicts."""
    if isinstance(structure, dict):
        return [leaf for key in sorted(structure) for leaf in _flat(structure[key])]
    if isinstance(structure, (list, builtins.tuple)):
        return [leaf for part in structure for leaf in _flat(part)]
    composite = getattr(structure, "_thalweg_composite", None)
    return composite()[0] if composite is not None else [structure]


def _packed(structure, leaves):
    """The leaves, an iterator, in the structure."""
    if isinstance(structure, dict):
        return {key: _packed(structure[key], leaves) for key in sorted(structure)}
    if isinstance(structure, (list, builtins.tuple)):
        parts = [_packed(part, leaves) for part in structure]
        if hasattr(structure, "_fields"):
            return type(structure)(*parts)
        return type(structure)(parts)
    composite = getattr(structure, "_thalweg_composite", None)
    if composite is None:
        return next(leaves)
    # An object of several tensors, such as a TensorArray.
    parts, make = composite()
    return make([next(leaves) for _ in parts])


def _listed(function):
    """A function whose result is a list."""
    return lambda *args: [function(*args)]


def while_loop(cond, body, loop_vars, shape_invariants=None, parallel_iterations=10, back_prop=True, swap_memory=False, name=None,
               maximum_iterations=None, return_same_structure=False):
    """Runs `body` on the loop variables while `cond` of them is true; returns their last values."""
    if not callable(cond) or not callable(body):
        raise TypeError("`cond` and `body` must be callable.")
    if not loop_vars:
        raise ValueError("'loop_vars' must be provided.")
    loop_vars = loop_vars if isinstance(loop_vars, (list, builtins.tuple)) else [loop_vars]
    single = len(loop_vars) == 1
    counted = maximum_iterations is not None
    initial = ([convert_to_tensor(0, name="iteration_counter")] if counted else []) + [convert_to_tensor(v) for v in _flat(loop_vars)]

    def unpack(flat):
        return _packed(loop_vars, iter(flat[1:] if counted else flat))

    def test(*flat):
        pred = cond(*unpack(flat))
        if counted:
            pred = call("LogicalAnd", [call("Less", [flat[0], maximum_iterations]), pred])
        return [pred]

    def step(*flat):
        made = body(*unpack(flat))
        made = [made] if single and not isinstance(made, (list, builtins.tuple)) else made
        results = [convert_to_tensor(r, dtype_hint=v.dtype) for r, v in zip(_flat(list(made)), flat[1 if counted else 0:])]
        if len(_flat(list(made))) != len(flat) - counted:
            raise ValueError(f"The number of inputs and outputs of `body` do not match: {len(flat) - counted} and {len(_flat(list(made)))}")
        return ([flat[0] + 1] if counted else []) + results

    found = current_scope().while_loop(test, step, initial, parallel_iterations)
    if shape_invariants is not None:
        for tensor, shape in zip(found[1 if counted else 0:], _flat_shapes(shape_invariants)):
            if tensor.shape.rank is None:
                tensor.set_shape(shape)
    result = unpack(found)
    return result[0] if single and not return_same_structure else result


def _flat_shapes(shapes):
    if isinstance(shapes, TensorShape):
        return [shapes]
    return [leaf for part in shapes for leaf in _flat_shapes(part)]


def cond(pred, true_fn=None, false_fn=None, strict=False, name=None, fn1=None, fn2=None):
    """What `true_fn` returns if `pred` is true, else what `false_fn` returns; only that branch runs."""
    true_fn, false_fn = true_fn or fn1, false_fn or fn2
    if not callable(true_fn) or not callable(false_fn):
        raise TypeError("true_fn and false_fn must be callable.")
    scope = current_scope()
    if not isinstance(scope, _engine.Scope):
        return true_fn() if pred else false_fn()
    if isinstance(pred, bool):
        raise TypeError("pred must not be a Python bool")
    structures = []

    def branch(function):
        def run():
            made = function()
            structures.append(made)
            leaves = _flat(made)
            if not leaves or made is None:
                return [convert_to_tensor(0)]
            return [_value_of(leaf) for leaf in leaves]

        return run

    found = current_scope().cond(convert_to_tensor(pred), branch(true_fn), branch(false_fn))
    one = structures[0]
    if len(_flat(structures[0])) != len(_flat(structures[1])):
        raise ValueError("true_fn and false_fn must return the same number of values")
    if isinstance(one, Operation) or one is None:
        return found[0].op if one is not None else found[0].op
    result = _packed(one, iter(found))
    if not strict and isinstance(result, (list, builtins.tuple)) and len(result) == 1:
        return result[0]
    return result


def _value_of(leaf):
    if isinstance(leaf, Operation):
        with control_dependencies([leaf]):
            return convert_to_tensor(0)
    return convert_to_tensor(leaf)


def case(pred_fn_pairs, default=None, exclusive=False, strict=False, name="case"):
    """What the function of the first true predicate returns."""
    pairs = list(pred_fn_pairs.items()) if isinstance(pred_fn_pairs, dict) else list(pred_fn_pairs)
    if not pairs:
        raise ValueError("pred_fn_pairs must be nonempty")
    if default is None:
        pairs, default = pairs[:-1], pairs[-1][1]
    result = default
    for pred, function in reversed(pairs):
        result = (lambda p, f, rest: lambda: cond(p, f, rest))(pred, function, result)
    with name_scope(name):
        return result()


def group(*inputs, **kwargs):
    """One operation that depends on all of these."""
    name = kwargs.pop("name", None)
    if kwargs:
        raise ValueError(f"Unknown keyword arguments: {sorted(kwargs)}")
    if not isinstance(current_scope(), _engine.Scope):
        return None
    listed = [getattr(i, "op", i) for i in _flat(list(inputs)) if i is not None]
    return current_scope().group(listed, name)


def no_op(name=None):
    return call("NoOp", [], None, name)


def tuple(tensors, name=None, control_inputs=None):
    """The tensors, each available only when all are."""
    with name_scope(name, "tuple"):
        gate = group(*[t for t in tensors if t is not None], *(control_inputs or []))
        with control_dependencies([gate]):
            return [None if t is None else call("Identity", [t]) for t in tensors]


def _elements(elems):
    return [convert_to_tensor(e) for e in _flat(elems)]


def map_fn(fn, elems, dtype=None, parallel_iterations=10, back_prop=True, swap_memory=False, infer_shape=True, name=None,
           fn_output_signature=None):
    """`fn` of each element along the first axis, stacked."""
    flat = _elements(elems)
    dtype = fn_output_signature if dtype is None else dtype
    types = _flat(dtype) if dtype is not None else [e.dtype for e in flat]
    structure = dtype if dtype is not None else elems
    with name_scope(name, "map"):
        count, read = _reader(flat)
        state = [_list(t, count) for t in types]
        shapes = []

        def step(i, *lists):
            made = _flat(fn(_packed(elems, iter(read(i)))))
            made = [convert_to_tensor(m, t) for m, t in zip(made, types)]
            shapes[:] = [m.shape for m in made]
            return [i + 1] + [call("TensorListSetItem", [l, i, m]) for l, m in zip(lists, made)]

        found = while_loop(lambda i, *_: call("Less", [i, count]), step, [convert_to_tensor(0)] + state,
                           parallel_iterations=parallel_iterations)
        stacked = [_stack(l, t, s, flat[0]) for l, t, s in zip(found[1:], types, shapes)]
        return _packed(structure, iter(stacked))


def _reader(flat):
    """The number of elements, and a function that reads those at an index."""
    from ._arrays import shape

    known = flat[0].shape[0] if flat[0].shape.rank else None
    count = convert_to_tensor(int(known)) if known is not None else shape(flat[0])[0]
    return count, lambda i: [call("GatherV2", [e, i, 0]) for e in flat]


def _list(dtype, count):
    return call("TensorListReserve", [convert_to_tensor(-1), count], {"element_dtype": dtype})


def _stack(handle, dtype, shape, like):
    sizes = convert_to_tensor([-1 if d is None else int(d) for d in shape] if shape.rank else [] if shape.rank == 0 else -1, "int32")
    stacked = call("TensorListStack", [handle, sizes], {"element_dtype": dtype})
    first = like.shape[0] if like.shape.rank else None
    if shape.rank is not None:
        stacked.set_shape([first] + list(shape))
    return stacked


def scan(fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False, infer_shape=True, reverse=False, name=None):
    """All accumulated values of `fn(accumulated, element)`."""
    return _accumulate(fn, elems, initializer, reverse, True, parallel_iterations, name or "scan")


def foldl(fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False, name=None):
    """The last accumulated value of `fn(accumulated, element)`."""
    return _accumulate(fn, elems, initializer, False, False, parallel_iterations, name or "foldl")


def foldr(fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False, name=None):
    return _accumulate(fn, elems, initializer, True, False, parallel_iterations, name or "foldr")


def _accumulate(fn, elems, initializer, reverse, keeps_all, parallel_iterations, name):
    flat = _elements(elems)
    with name_scope(name):
        count, read = _reader(flat)
        last = count - 1
        structure = elems if initializer is None else initializer
        first = read(last if reverse else 0) if initializer is None else _elements(initializer)
        start = 1 if initializer is None else 0
        lists = [_list(a.dtype, count) for a in first] if keeps_all else []
        if keeps_all and initializer is None:
            lists = [call("TensorListSetItem", [l, last if reverse else 0, a]) for l, a in zip(lists, first)]
        n = len(first)

        def step(i, *state):
            at = last - i if reverse else i
            made = _flat(fn(_packed(structure, iter(state[:n])), _packed(elems, iter(read(at)))))
            made = [convert_to_tensor(m, a.dtype) if not isinstance(m, (Tensor, Variable)) else m for m, a in zip(made, first)]
            return [i + 1] + made + [call("TensorListSetItem", [l, at, m]) for l, m in zip(state[n:], made)]

        found = while_loop(lambda i, *_: call("Less", [i, count]), step, [convert_to_tensor(start)] + first + lists,
                           parallel_iterations=parallel_iterations)
        if not keeps_all:
            return _packed(structure, iter(found[1:1 + n]))
        return _packed(structure, iter([_stack(l, a.dtype, a.shape, flat[0]) for l, a in zip(found[1 + n:], first)]))


def Assert(condition, data, summarize=None, name=None):
    return call("Assert", [condition, [convert_to_tensor(d) for d in data]], {"summarize": summarize or 3}, name)


def Print(input_, data, message=None, first_n=None, summarize=None, name=None):
    attrs = {"message": message or "", "first_n": -1 if first_n is None else first_n, "summarize": 3 if summarize is None else summarize}
    return call("Print", [input_, [convert_to_tensor(d) for d in data]], attrs, name)
