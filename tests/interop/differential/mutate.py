"""Mutates a valid case into an invalid one: another rank, another size, an index out of range. Both sides must raise the same error."""

import numpy as np

# Inputs that determine the size of an output: their values are not increased.
SIZES = {"shape", "dims", "size", "multiples", "num", "num_segments", "paddings", "depth", "nbins", "output_dim0", "num_rows", "num_cols"}


def mutate(case, rng):
    """Mutates one input in place; the graph has no static shapes then, so that kernels validate and not Python."""
    case.mutated, case.static = True, False
    places = [(v, j) for v in [case.inputs] for j in range(len(v)) if not isinstance(v[j], list)]
    places += [(v, j) for v in case.inputs if isinstance(v, list) for j in range(len(v))]
    if not places:
        return
    holder, j = places[int(rng.integers(len(places)))]
    a = holder[j]
    kinds = ["rank", "size", "drop"]
    if a.dtype.kind in "iu" and a.size and a.dtype.itemsize >= 4:
        kinds += ["value", "value"]
    kind = kinds[int(rng.integers(len(kinds)))]
    if kind == "rank":
        holder[j] = a[None]
    elif kind == "drop" and a.ndim and a.shape[0]:
        holder[j] = a[0] if isinstance(a[0], np.ndarray) or a.dtype != object else np.array(a[0], object)
        holder[j] = np.asarray(holder[j])
    elif kind == "size" and a.ndim:
        axis = int(rng.integers(a.ndim))
        holder[j] = np.concatenate([a, a], axis) if a.shape[axis] else np.concatenate([a, np.zeros(a.shape[:axis] + (1,) + a.shape[axis + 1 :], a.dtype)], axis)
        if a.dtype == object and not a.shape[axis]:
            holder[j] = a
    elif kind == "value":
        b = a.copy().reshape(-1)
        b[int(rng.integers(b.size))] = [17, -17 if a.dtype.kind == "i" else 16, 5][int(rng.integers(3))]
        holder[j] = b.reshape(a.shape)
    case.label += f" spoilt:{kind}"
