//! Shared by the gradients of matrix products.

use crate::prelude::*;

/// The gradients of `op(a) op(b)`, where `op` transposes (or takes the adjoint) by flags. `multiply` adds a product of two
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
