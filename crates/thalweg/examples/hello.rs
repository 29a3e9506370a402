//! `a = add(3, 5)`: building a graph computes nothing; a session does.

use thalweg::prelude::*;

fn main() -> Result<()> {
    let g = Scope::new();
    let a = g.add(g.constant(3), g.constant(5));
    println!("{a}");
    let session = Session::new(&g)?;
    println!("{}", session.run(&a, &[])?);
    Ok(())
}
