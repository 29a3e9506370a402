//! What the gradients of matrix products have in common.

use crate::prelude::*;

/// The gradients of `op(a) op(b)`, where `op` transposes (or takes the adjoint) as the flags say. `multiply` adds the product of two
/// outputs with its own flags to the graph.
pub fn product_gradients(
    g: &mut GradCall<'_>,
    a: Output,
    b: Output,
    ta: bool,
    tb: bool,
    multiply: fn(&mut GradCall<'_>, Output, Output, bool, bool) -> Result<Output>,
) -> Result<(Output, Output)> {
    let dy = g.dy()?;
    let da = if ta { multiply(g, b, dy, tb, true)? } else { multiply(g, dy, b, false, !tb)? };
    let db = if tb { multiply(g, dy, a, true, ta)? } else { multiply(g, a, dy, !ta, false)? };
    Ok((da, db))
}
