//! pow(x + y, x * y) does not depend on `useless`, which is pruned from the run.

use thalweg::prelude::*;

fn main() -> Result<()> {
    let g = Scope::new();
    let (x, y) = (g.constant(2), g.constant(3));
    let sum = g.add(&x, &y);
    let product = g.mul(&x, &y);
    let useless = g.mul(&x, &sum);
    let power = g.pow(&sum, &product);
    let session = Session::with_options(&g, SessionOptions { optimise: false, ..Default::default() })?;
    let trace = RunOptions { trace: true, ..Default::default() };
    let (value, metadata) = session.run_with(&power, &[], &trace)?;
    let ran: Vec<String> = metadata.timings.nodes.iter().map(|n| n.node.to_string()).collect();
    println!("{value}, having run {}", ran.join(", "));
    println!("{} ran: {}", useless.op().name(), ran.contains(&useless.op().name()));
    Ok(())
}
