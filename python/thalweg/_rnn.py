"""Recurrent nets: cells, and loops over sequences. The engine makes the nodes of its own cells and of the loop; here are TensorFlow's classes,
and the structures of states."""

import collections

from . import _engine
from ._arrays import concat, reverse, shape as shape_, stack, unstack, zeros
from ._control_flow import _flat, _packed
from ._graphs import convert_to_tensor, current_scope, get_default_graph, name_scope
from ._op_functions import call
from ._shapes import TensorShape
from ._variables import AUTO_REUSE, get_variable_scope, variable_scope

LSTMStateTuple = collections.namedtuple("LSTMStateTuple", ("c", "h"))


class RNNCell:
    """One step of a recurrent net: called with an input and a state, it returns an output and the next state. A cell of your own has
    `state_size`, `output_size` and `call(inputs, state)`; it gets a variable scope, which is the same in each call."""

    def __init__(self, trainable=True, name=None, dtype=None, **kwargs):
        self._name, self._scope = name, None

    state_size = property(lambda self: NotImplemented)
    output_size = property(lambda self: NotImplemented)

    def _default_name(self):
        from ._op_functions import snake

        return getattr(self, "_name", None) or snake(type(self).__name__)

    def __call__(self, inputs, state, scope=None):
        known = getattr(self, "_scope", None)
        if scope is not None or known is None:
            opened = variable_scope(scope if scope is not None else self._default_name())
        else:
            opened = variable_scope(known, reuse=True)
        with opened as at:
            self._scope = at
            return self.call(inputs, state)

    def call(self, inputs, state):
        raise NotImplementedError("a cell needs a method call(inputs, state)")

    def zero_state(self, batch_size, dtype="float32"):
        """Zeros in the structure of the state."""
        with name_scope(type(self).__name__ + "ZeroState"):
            return _zeros(self.state_size, batch_size, dtype)

    def get_initial_state(self, inputs=None, batch_size=None, dtype=None):
        if inputs is not None:
            inputs = convert_to_tensor(inputs)
            batch_size, dtype = shape_(inputs)[0], inputs.dtype
        return self.zero_state(batch_size, dtype)


def _zeros(size, batch_size, dtype):
    if isinstance(size, (list, tuple)):
        parts = [_zeros(s, batch_size, dtype) for s in size]
        return type(size)(*parts) if hasattr(size, "_fields") else tuple(parts)
    return zeros([batch_size] + TensorShape(size).as_list(), dtype)


class _EngineCell(RNNCell):
    """A cell of the engine. It makes its own variable scope, by its name in TensorFlow."""

    def __init__(self, kind, units, settings, name=None, initializers=()):
        super().__init__(name=name)
        self._kind, self._units, self._settings, self._initializers = kind, int(units), settings, initializers

    def __call__(self, inputs, state, scope=None):
        graph = get_default_graph()
        at = graph._scope
        if self._scope is None:
            self._scope = at.variable_scope_name()[0]
            again = at
        else:
            again = at.variable_scope_again(self._scope, AUTO_REUSE, False)
        if scope is not None:
            again = again.variable_scope(scope, None, None)
        for initializer in self._initializers:
            again = again.with_initializer(initializer)
        y, following = _engine.rnn.step(again, self._kind, self._units, self._settings, inputs, _flat(state))
        return y, _packed(self.state_size, iter(following))


def _activation(function):
    """The engine's name of an activation."""
    from .layers import _activation as known

    if function is None:
        return "Tanh"
    if isinstance(function, str):
        return function.capitalize()
    name, other = known(function)
    if other is not None:
        raise NotImplementedError("a cell's activation must be one of tanh, relu, relu6, elu, selu, sigmoid, softplus and softsign")
    return name


def _chosen(initializer):
    if initializer is None:
        return ()
    initializer = initializer() if isinstance(initializer, type) else initializer
    if getattr(initializer, "_engine", None) is None:
        raise NotImplementedError("the initializer of a cell must be one of tf.initializers")
    return (initializer._engine,)


class BasicRNNCell(_EngineCell):
    """`activation([x, h] w + b)`."""

    def __init__(self, num_units, activation=None, reuse=None, name=None, dtype=None, **kwargs):
        super().__init__("BasicRNN", num_units, {"activation": _activation(activation)}, name)

    state_size = output_size = property(lambda self: self._units)


class GRUCell(_EngineCell):
    def __init__(self, num_units, activation=None, reuse=None, kernel_initializer=None, bias_initializer=None, name=None, dtype=None, **kwargs):
        if activation is not None or bias_initializer is not None:
            raise NotImplementedError("GRUCell with an activation or a bias_initializer of its own")
        super().__init__("GRU", num_units, {}, name, _chosen(kernel_initializer))

    state_size = output_size = property(lambda self: self._units)


class BasicLSTMCell(_EngineCell):
    def __init__(self, num_units, forget_bias=1.0, state_is_tuple=True, activation=None, reuse=None, name=None, dtype=None, **kwargs):
        if not state_is_tuple:
            raise NotImplementedError("BasicLSTMCell: only state_is_tuple=True")
        if activation is not None:
            raise NotImplementedError("BasicLSTMCell with an activation of its own: use LSTMCell")
        super().__init__("BasicLSTM", num_units, {"forget_bias": forget_bias}, name)

    state_size = property(lambda self: LSTMStateTuple(self._units, self._units))
    output_size = property(lambda self: self._units)


class LSTMCell(_EngineCell):
    """With peepholes, clipping and a projection, if asked for."""

    def __init__(self, num_units, use_peepholes=False, cell_clip=None, initializer=None, num_proj=None, proj_clip=None, num_unit_shards=None,
                 num_proj_shards=None, forget_bias=1.0, state_is_tuple=True, activation=None, reuse=None, name=None, dtype=None, **kwargs):
        if not state_is_tuple:
            raise NotImplementedError("LSTMCell: only state_is_tuple=True")
        settings = {"use_peepholes": use_peepholes, "cell_clip": cell_clip, "num_proj": num_proj, "proj_clip": proj_clip,
                    "forget_bias": forget_bias, "activation": _activation(activation)}
        super().__init__("LSTM", num_units, settings, name, _chosen(initializer))
        self._output = num_proj or int(num_units)

    state_size = property(lambda self: LSTMStateTuple(self._units, self._output))
    output_size = property(lambda self: self._output)


class MultiRNNCell(RNNCell):
    """Cells on top of each other."""

    def __init__(self, cells, state_is_tuple=True):
        super().__init__()
        if not cells:
            raise ValueError("Must specify at least one cell for MultiRNNCell.")
        if not state_is_tuple:
            raise NotImplementedError("MultiRNNCell: only state_is_tuple=True")
        self._cells = list(cells)

    state_size = property(lambda self: tuple(cell.state_size for cell in self._cells))
    output_size = property(lambda self: self._cells[-1].output_size)

    def _default_name(self):
        return "multi_rnn_cell"

    def zero_state(self, batch_size, dtype="float32"):
        with name_scope("MultiRNNCellZeroState"):
            return tuple(cell.zero_state(batch_size, dtype) for cell in self._cells)

    def call(self, inputs, state):
        states = []
        for i, (cell, own) in enumerate(zip(self._cells, state)):
            with variable_scope(f"cell_{i}"):
                inputs, own = cell(inputs, own)
                states.append(own)
        return inputs, tuple(states)


class _Wrapper(RNNCell):
    def __init__(self, cell):
        super().__init__()
        self._cell = cell

    state_size = property(lambda self: self._cell.state_size)
    output_size = property(lambda self: self._cell.output_size)

    def zero_state(self, batch_size, dtype="float32"):
        return self._cell.zero_state(batch_size, dtype)


class DropoutWrapper(_Wrapper):
    """Dropout on the inputs, the outputs and the state of a cell."""

    def __init__(self, cell, input_keep_prob=1.0, output_keep_prob=1.0, state_keep_prob=1.0, variational_recurrent=False, input_size=None,
                 dtype=None, seed=None, dropout_state_filter_visitor=None):
        super().__init__(cell)
        if variational_recurrent:
            raise NotImplementedError("DropoutWrapper with variational_recurrent")
        self._keep, self._seed = (input_keep_prob, output_keep_prob, state_keep_prob), seed

    def _dropped(self, x, keep):
        from .nn import dropout

        return x if isinstance(keep, (int, float)) and keep >= 1 else dropout(x, keep_prob=keep, seed=self._seed)

    def __call__(self, inputs, state, scope=None):
        output, following = self._cell(self._dropped(inputs, self._keep[0]), state, scope)
        keep = self._keep[2]
        if not (isinstance(keep, (int, float)) and keep >= 1):
            # The memory of an LSTM is not dropped.
            following = following._replace(h=self._dropped(following.h, keep)) if isinstance(following, LSTMStateTuple) else _packed(
                following, iter([self._dropped(s, keep) for s in _flat(following)]))
        return self._dropped(output, self._keep[1]), following


class ResidualWrapper(_Wrapper):
    """Adds the input to the output."""

    def __init__(self, cell, residual_fn=None):
        super().__init__(cell)
        self._join = residual_fn or (lambda x, y: x + y)

    def __call__(self, inputs, state, scope=None):
        output, following = self._cell(inputs, state, scope)
        return self._join(inputs, output), following


class DeviceWrapper(_Wrapper):
    def __init__(self, cell, device):
        super().__init__(cell)
        self._device = device

    def __call__(self, inputs, state, scope=None):
        with get_default_graph().device(self._device):
            return self._cell(inputs, state, scope)


def _started(cell, initial_state, batch, dtype):
    if initial_state is not None:
        return initial_state
    if dtype is None:
        raise ValueError("If there is no initial_state, you must give a dtype.")
    return cell.zero_state(batch, dtype)


def dynamic_rnn(cell, inputs, sequence_length=None, initial_state=None, dtype=None, parallel_iterations=None, swap_memory=False, time_major=False,
                scope=None):
    """A cell over a sequence whose length is known when it runs. Past the end of a sequence, outputs are zero and the state stays."""
    inputs = convert_to_tensor(inputs)
    batch_at = 1 if time_major else 0
    known = inputs.shape[batch_at] if inputs.shape.rank else None
    with variable_scope(scope if scope is not None else "rnn", reuse=None if _reuses() else AUTO_REUSE):
        state = _started(cell, initial_state, shape_(inputs)[batch_at] if known is None else int(known), dtype)
        structure = cell.state_size
        sizes = [int(TensorShape(s)[-1]) for s in _flat(structure)]

        def step(x, *flat):
            output, following = cell(x, _packed(structure, iter(flat)))
            return [output] + _flat(following)

        if sequence_length is not None:
            sequence_length = convert_to_tensor(sequence_length, name="sequence_length")
        initial = [convert_to_tensor(s, dtype_hint=inputs.dtype) for s in _flat(state)]
        outputs, final = _engine.rnn.over_sequence(current_scope(), step, int(TensorShape(cell.output_size)[-1]), sizes, inputs, time_major,
                                                   sequence_length, initial, parallel_iterations or 32)
        if inputs.shape.rank == 3:
            outputs.set_shape(list(inputs.shape[:2]) + [None])
        return outputs, _packed(structure, iter(final))


def _reuses():
    return get_variable_scope().reuse is True


def static_rnn(cell, inputs, initial_state=None, dtype=None, sequence_length=None, scope=None):
    """A cell over a list of inputs, unrolled."""
    if not inputs:
        raise ValueError("inputs must not be empty")
    with variable_scope(scope if scope is not None else "rnn", reuse=None if _reuses() else AUTO_REUSE):
        first = convert_to_tensor(inputs[0])
        known = first.shape[0] if first.shape.rank else None
        state, outputs = _started(cell, initial_state, shape_(first)[0] if known is None else int(known), dtype), []
        for time, x in enumerate(inputs):
            output, following = cell(x, state)
            if sequence_length is not None:
                output, following = _through(time, sequence_length, output, following, state)
            outputs.append(output)
            state = following
        return outputs, state


def _through(time, lengths, output, following, state):
    """Past the end of a sequence, outputs are zero and the state stays."""
    from ._arrays import expand_dims, where_v2, zeros_like

    lengths = convert_to_tensor(lengths)
    active = expand_dims(call("Less", [convert_to_tensor(time, lengths.dtype), lengths]), 1)
    kept = [where_v2(active, new, old) for new, old in zip(_flat(following), _flat(state))]
    return where_v2(active, output, zeros_like(output)), _packed(following, iter(kept))


def _reversed(x, lengths, time, batch):
    if lengths is None:
        return reverse(x, [time])
    return call("ReverseSequence", [x, lengths], {"seq_dim": time, "batch_dim": batch})


def bidirectional_dynamic_rnn(cell_fw, cell_bw, inputs, sequence_length=None, initial_state_fw=None, initial_state_bw=None, dtype=None,
                              parallel_iterations=None, swap_memory=False, time_major=False, scope=None):
    """Outputs and states of a cell that goes forward and of one that goes backward, in the order of the inputs."""
    inputs = convert_to_tensor(inputs)
    time, batch = (0, 1) if time_major else (1, 0)
    if sequence_length is not None:
        sequence_length = convert_to_tensor(sequence_length)
    with variable_scope(scope or "bidirectional_rnn"):
        forward, state_fw = dynamic_rnn(cell_fw, inputs, sequence_length, initial_state_fw, dtype, parallel_iterations, swap_memory, time_major,
                                        scope="fw")
        backward, state_bw = dynamic_rnn(cell_bw, _reversed(inputs, sequence_length, time, batch), sequence_length, initial_state_bw, dtype,
                                         parallel_iterations, swap_memory, time_major, scope="bw")
        return (forward, _reversed(backward, sequence_length, time, batch)), (state_fw, state_bw)


def static_bidirectional_rnn(cell_fw, cell_bw, inputs, initial_state_fw=None, initial_state_bw=None, dtype=None, sequence_length=None, scope=None):
    with variable_scope(scope or "bidirectional_rnn"):
        forward, state_fw = static_rnn(cell_fw, inputs, initial_state_fw, dtype, sequence_length, scope="fw")
        given = list(inputs)[::-1] if sequence_length is None else unstack(_reversed(stack(inputs), sequence_length, 0, 1))
        backward, state_bw = static_rnn(cell_bw, given, initial_state_bw, dtype, sequence_length, scope="bw")
        backward = backward[::-1] if sequence_length is None else unstack(_reversed(stack(backward), sequence_length, 0, 1))
        return [concat([f, b], 1) for f, b in zip(forward, backward)], state_fw, state_bw


def raw_rnn(*args, **kwargs):
    raise NotImplementedError("tf.nn.raw_rnn: use tf.while_loop with a TensorArray")
