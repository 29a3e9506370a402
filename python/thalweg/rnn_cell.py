"""Cells of recurrent nets."""

from ._rnn import (BasicLSTMCell, BasicRNNCell, DeviceWrapper, DropoutWrapper, GRUCell, LSTMCell, LSTMStateTuple, MultiRNNCell, ResidualWrapper,
                   RNNCell)
