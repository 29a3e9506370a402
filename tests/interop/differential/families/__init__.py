"""Generators by op family. A module's `GENERATORS` maps an op to a function of `Gen` that returns a `Case`."""

import importlib
import pkgutil


def generators():
    found = {}
    for module in pkgutil.iter_modules(__path__):
        for op, make in importlib.import_module(f"{__name__}.{module.name}").GENERATORS.items():
            assert op not in found, f"{op} has two generators"
            found[op] = make
    return found
