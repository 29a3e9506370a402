//! d = b + c, e = c + 2, a = d * e: two paths that meet.

use thalweg::prelude::*;

fn main() -> Result<()> {
    let g = Scope::new();
    let b = g.placeholder_named("b", DataType::Float, Some(&[]));
    let c = g.placeholder_named("c", DataType::Float, Some(&[]));
    let d = &b + &c;
    let e = &c + 2f32;
    let a = &d * &e;
    let session = Session::new(&g)?;
    let (a, d, e) = session.run(&(&a, &d, &e), &[feed(&b, 2f32), feed(&c, 1f32)])?;
    println!("d = {d}, e = {e}, a = {a}");
    Ok(())
}
