//! Kernels of volumes, which compute with channels last.

use super::batch_norm::Channels;
use crate::prelude::*;

/// Runs `run` on volumes with channels last: those of other layouts are transposed, and its result back. Input `filter` is a
/// filter, or its sizes; neither filters nor their gradients have a layout.
pub fn in_channels_last(
    c: &mut OpCall<'_>,
    channels: Channels,
    filter: Option<usize>,
    run: &dyn Fn(&OpCall<'_>) -> Result<Tensor>,
) -> Result<()> {
    if !channels.first {
        let out = run(c)?;
        c.set(0, out);
        return Ok(());
    }
    for i in 0..c.inputs.len() {
        let x = c.input(i)?;
        let last = match x.rank() {
            _ if filter == Some(i) => continue,
            1 => permuted_sizes(x)?,
            _ => channels.to_last(c, x)?,
        };
        c.inputs[i] = Input::Owned(last);
    }
    let mut out = run(c)?;
    if !c.node.op.contains("Filter") {
        out = channels.restored(c, out)?;
    }
    c.set(0, out);
    Ok(())
}

/// Sizes of NCDHW as those of NDHWC.
fn permuted_sizes(sizes: &Tensor) -> Result<Tensor> {
    match sizes.to_i64s()?.as_slice() {
        [n, c, d, h, w] => Tensor::vector(&[*n, *d, *h, *w, *c]),
        _ => Err(invalid!("the sizes must have 5 elements, got shape {}", sizes.shape())),
    }
}
