"""Functions of Python that the engine calls while a step runs."""

from . import _engine
from .data.structure import leaves


def generated(generator, output_types, components, args):
    """A source of elements: each iteration calls `generator` anew."""
    def begin():
        elements = iter(generator(*args))

        def following():
            try:
                element = next(elements)
            except StopIteration:
                return None
            flat = [element] if not isinstance(output_types, (tuple, dict)) else _flat(output_types, element)
            if len(flat) != len(components):
                raise TypeError(f"`generator` yielded an element that did not match the expected structure {output_types}: {element!r}")
            return flat

        return following

    return _engine.Generated(begin, list(components))


def _flat(types, element):
    """The parts of an element by the structure of its types: an element may use lists for tuples."""
    if isinstance(types, dict):
        return [leaf for key in sorted(types) for leaf in _flat(types[key], element[key])]
    if isinstance(types, tuple):
        return [leaf for t, part in zip(types, element) for leaf in _flat(t, part)] if len(types) == len(element) else leaves(tuple(element))
    return [element]
