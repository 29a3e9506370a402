//! The sizes of recurrent cells, and checks of their inputs.

use crate::prelude::*;

/// Batch, inputs and units of a cell.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    pub batch: usize,
    pub inputs: usize,
    pub units: usize,
}

/// Rejects an input that has not this shape.
pub fn expect(c: &OpCall<'_>, i: usize, name: &str, want: &[usize]) -> Result<()> {
    let got = c.shape(i)?;
    if got.dims() == want {
        return Ok(());
    }
    Err(invalid!("{name} must have the shape {want:?} (batch_size, cell_size or multiples of it), got {got}"))
}

impl Sizes {
    /// From x (with `time` before its batch) and the previous state.
    pub fn of(c: &OpCall<'_>, x: usize, state: usize, time: bool) -> Result<(usize, Sizes)> {
        let rank = 2 + time as usize;
        let (x, state) = (c.shape(x)?, c.shape(state)?);
        if x.rank() != rank || state.rank() != 2 {
            return Err(invalid!(
                "x must be {rank}-dimensional and the previous state a matrix, got {x} and {state}"
            ));
        }
        let sizes = Sizes { batch: x.dim(rank - 2)?, inputs: x.dim(rank - 1)?, units: state.dim(1)? };
        if state.dim(0)? != sizes.batch {
            return Err(invalid!("the previous state must be of batch_size {}, got {state}", sizes.batch));
        }
        let weights = sizes.inputs.checked_add(sizes.units).and_then(|n| n.checked_mul(sizes.units));
        if weights.and_then(|n| n.checked_mul(8)).is_none() {
            return Err(invalid!("a cell of {} inputs and {} units is too large", sizes.inputs, sizes.units));
        }
        Ok((if time { x.dim(0)? } else { 1 }, sizes))
    }

    /// Checks the inputs of an LSTM from `first` on: cs_prev, h_prev, w, wci, wcf, wco, b.
    pub fn check_lstm(&self, c: &OpCall<'_>, first: usize) -> Result<()> {
        let Sizes { batch, inputs, units } = *self;
        let state = [batch, units];
        expect(c, first, "cs_prev", &state)?;
        expect(c, first + 1, "h_prev", &state)?;
        expect(c, first + 2, "w", &[inputs + units, 4 * units])?;
        for (i, name) in ["wci", "wcf", "wco"].into_iter().enumerate() {
            expect(c, first + 3 + i, name, &[units])?;
        }
        expect(c, first + 6, "b", &[4 * units])
    }

    /// Elements of a state.
    pub fn state(&self) -> usize {
        self.batch * self.units
    }
}
