//! A custom op: `Cube`, with a kernel, a shape function and a gradient. Graphs use it as any other op.

use std::ops::Mul;
use thalweg::op::{Element, Grad, GradCall, Gradient, Op, OpCall, cpu, same_as_input};
use thalweg::prelude::*;
use thalweg::train::gradient_checker::{self, Options};

static CUBE: Op = Op {
    name: "Cube",
    doc: "The third power, elementwise.",
    inputs: &["x: T"],
    outputs: &["y: T"],
    attrs: &["T: {float, double}"],
    shape: same_as_input,
    grad: Gradient::Rule(grad),
    kernels: cpu!(run: T in f32, f64),
    ..Op::PURE
};

/// dy * 3 x^2
fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (x, dy) = (g.x[0], g.dy()?);
    let three = g.number(3.0, x)?;
    let square = g.unary("Square", x)?;
    let slope = g.binary("Mul", three, square)?;
    Ok(vec![g.binary("Mul", dy, slope)?.into()])
}

fn run<T: Element + Mul<Output = T> + Copy>(c: &mut OpCall<'_>) -> Result<()> {
    let y: Vec<T> = c.slice::<T>(0)?.iter().map(|x| *x * *x * *x).collect();
    let shape = c.shape(0)?.clone();
    c.set(0, Tensor::from_slice(shape, &y)?);
    Ok(())
}

fn main() -> Result<()> {
    let g = Scope::with_ops(&[&CUBE]);
    let x = g.placeholder(DataType::Double, &[3]);
    let y = g.op("Cube").input(&x).output();
    println!("{y}");
    let dx = g.gradients(&[&y], &[&x])[0].dense(&g).unwrap_or_else(|| x.clone());
    let session = Session::new(&g)?;
    let at = Tensor::vector(&[1.0f64, 2.0, -3.0])?;
    let (y_at, dx_at) = session.run(&(&y, &dx), &[feed(&x, &at)])?;
    println!("cubes {y_at}, slopes {dx_at}");
    let error = gradient_checker::compute_gradient_error(&g, &session, &x, &at, &y, &Options::default())?;
    println!("slopes by differences: {}", if error < 1e-3 { "the same" } else { "others" });
    Ok(())
}
