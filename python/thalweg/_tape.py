"""`GradientTape`. The engine records and differentiates; here are the structures, and tapes inside of functions that are traced."""

from . import _engine
from ._control_flow import _flat, _packed
from ._engine import EagerTensor, EagerVariable, Tensor
from ._eager import executing_eagerly


class UnconnectedGradients:
    NONE, ZERO = "none", "zero"


class GradientTape:
    """Records what is computed inside of its `with` block, for gradients."""

    def __init__(self, persistent=False, watch_accessed_variables=True):
        self._persistent, self._watches = persistent, watch_accessed_variables
        self._tape = _engine.Tape(watch_accessed_variables)
        self._open, self._used = False, False

    def __enter__(self):
        if self._open:
            raise ValueError("Tape is still recording.")
        self._tape.open()
        self._open = True
        return self

    def __exit__(self, *exc):
        if self._open:
            self._stop()

    def _stop(self):
        self._tape.close()
        self._open = False

    def watch(self, tensor):
        for t in _flat(tensor):
            if isinstance(t, EagerVariable) or isinstance(t, EagerTensor):
                if not (t.dtype.is_floating or t.dtype.is_complex):
                    continue
                self._tape.watch(t)
            elif not isinstance(t, (Tensor, _engine.Variable)):
                raise ValueError(f"Passed in object {t} of type {type(t).__name__!r}, not tf.Tensor or tf.Variable")

    def watched_variables(self):
        return tuple(self._tape.watched_variables())

    def stop_recording(self):
        return _Stopped(self)

    def reset(self):
        self._tape.reset()

    def gradient(self, target, sources, output_gradients=None, unconnected_gradients=UnconnectedGradients.NONE):
        """The gradients of the sum of `target` with respect to `sources`, in their structure."""
        if self._used and not self._persistent:
            raise RuntimeError("A non-persistent GradientTape can only be used to compute one set of gradients (or jacobians)")
        if unconnected_gradients not in (UnconnectedGradients.NONE, UnconnectedGradients.ZERO):
            raise ValueError(f"Unknown value for unconnected_gradients: {unconnected_gradients!r}")
        was_open = self._open
        if was_open and not self._persistent:
            self._stop()
        elif was_open:
            # Computing gradients is not recorded, unless by outer tapes.
            self._tape.close()
        try:
            found = self._gradients(_flat(target), _flat(sources), None if output_gradients is None else _flat(output_gradients))
        finally:
            if was_open and self._persistent:
                self._tape.open()
        if not self._persistent:
            self._used = True
            self._tape.reset()
        if unconnected_gradients == UnconnectedGradients.ZERO:
            from ._arrays import zeros_like

            found = [zeros_like(s) if g is None else g for g, s in zip(found, _flat(sources))]
        return _packed(sources, iter(found)) if isinstance(sources, (list, tuple, dict)) else found[0]

    def _gradients(self, targets, sources, given):
        if not executing_eagerly():
            from ._gradients import gradients

            return gradients(targets, sources, given)
        from ._graphs import convert_to_tensor

        for s in sources:
            if not isinstance(s, (EagerTensor, EagerVariable)):
                raise ValueError(f"Passed in object {s} of type {type(s).__name__!r}, not tf.Tensor or tf.Variable")
        targets = [t._read() if isinstance(t, EagerVariable) else convert_to_tensor(t) for t in targets]
        if given is not None:
            from ._arrays import ones_like

            given = [ones_like(t) if g is None else convert_to_tensor(g, t.dtype) for g, t in zip(given, targets)]
        return self._tape.gradients(targets, sources, given or [])

    def jacobian(self, target, sources, unconnected_gradients=UnconnectedGradients.NONE, parallel_iterations=None, experimental_use_pfor=True):
        """The derivatives of each element of `target`: of its shape followed by the source's."""
        from ._arrays import eye, reshape, stack

        if not self._persistent and self._used:
            raise RuntimeError("A non-persistent GradientTape can only be used to compute one set of gradients (or jacobians)")
        if self._open:
            self._stop()
        flat, count = _flat(sources), target.shape.num_elements()
        rows = reshape(eye(count, dtype=target.dtype), [count] + target.shape.as_list())
        each = [self._gradients([target], flat, [rows[i]]) for i in range(count)]
        self._used = True
        found = []
        for i, s in enumerate(flat):
            parts = [row[i] for row in each]
            none = any(p is None for p in parts)
            found.append(None if none else reshape(stack(parts), target.shape.as_list() + s.shape.as_list()))
        return _packed(sources, iter(found)) if isinstance(sources, (list, tuple, dict)) else found[0]


class _Stopped:
    """Inside of its `with` block the tape records nothing."""

    def __init__(self, tape):
        self._tape = tape

    def __enter__(self):
        if not self._tape._open:
            raise RuntimeError("Trying to stop recording a tape which is not recording.")
        self._tape._tape.close()

    def __exit__(self, *exc):
        self._tape._tape.open()
