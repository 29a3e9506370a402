//! `z = x + y`, fed with numbers and with vectors.

use thalweg::prelude::*;

fn main() -> Result<()> {
    let g = Scope::new();
    let x = g.placeholder_named("x", DataType::Float, None);
    let y = g.placeholder_named("y", DataType::Float, None);
    let z = &x + &y;
    let session = Session::new(&g)?;
    println!("{}", session.run(&z, &[feed(&x, 3f32), feed(&y, 4.5f32)])?);
    println!("{}", session.run(&z, &[feed(&x, [1f32, 3.0]), feed(&y, [2f32, 4.0])])?);
    Ok(())
}
