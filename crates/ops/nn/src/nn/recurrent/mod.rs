//! Recurrent cells, each in one op: LSTM and GRU, and LSTM over a whole sequence.

mod block_lstm;
mod gru;
mod lstm_cell;
mod product;
mod shapes;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = &[
    &block_lstm::BLOCK_LSTM,
    &block_lstm::BLOCK_LSTM_GRAD,
    &block_lstm::BLOCK_LSTM_GRAD_V2,
    &block_lstm::BLOCK_LSTM_V2,
    &gru::GRU_BLOCK_CELL,
    &gru::GRU_BLOCK_CELL_GRAD,
    &lstm_cell::LSTM_BLOCK_CELL,
    &lstm_cell::LSTM_BLOCK_CELL_GRAD,
];
