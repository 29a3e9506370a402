//! Checks the gradients of a graph against finite differences.
//!
//! ```
//! use thalweg_client::{DataType, Scope, Session, Tensor};
//! use thalweg_train::gradient_checker::{self, Options};
//!
//! let g = Scope::new();
//! let x = g.placeholder(DataType::Double, &[3]);
//! let y = g.square(&x);
//! let session = Session::new(&g)?;
//! let at = Tensor::vector(&[1.0f64, -2.0, 0.5])?;
//! let error = gradient_checker::compute_gradient_error(&g, &session, &x, &at, &y, &Options::default())?;
//! assert!(error < 1e-6);
//! # Ok::<(), thalweg_client::Error>(())
//! ```

use thalweg_client::{
    Code, DataType, Error, GradientOptions, Operation, Output, PartialShape, Result, Scope, Session, Shape,
    Tensor,
};

/// How to check.
pub struct Options<'a> {
    /// The step of the differences, up and down.
    pub delta: f64,
    /// Other feeds.
    pub feeds: &'a [(&'a Output, Tensor)],
    /// Run first, to initialise variables.
    pub init: Option<&'a Operation>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options { delta: 1e-3, feeds: &[], init: None }
    }
}

/// The Jacobian of y with respect to x, computed in two ways. A row for each element of x, a column for
/// each of y.
#[derive(Debug)]
pub struct Jacobians {
    /// Elements of x.
    pub rows: usize,
    /// Elements of y.
    pub columns: usize,
    /// As the graph computes it.
    pub theoretical: Vec<f64>,
    /// By finite differences.
    pub numeric: Vec<f64>,
}

impl Jacobians {
    /// The largest difference between the two; NaN if one of them has one.
    pub fn error(&self) -> f64 {
        let differences = self.theoretical.iter().zip(&self.numeric).map(|(t, n)| (t - n).abs());
        differences.fold(0.0, |worst, d| if d > worst || d.is_nan() { d } else { worst })
    }
}

/// The largest difference between the theoretical and the numeric Jacobian of `y`, where `x` has the value `at`.
#[track_caller]
pub fn compute_gradient_error(
    g: &Scope,
    session: &Session,
    x: &Output,
    at: &Tensor,
    y: &Output,
    options: &Options<'_>,
) -> Result<f64> {
    Ok(compute_gradient(g, session, x, at, y, options)?.error())
}

/// Both Jacobians of `y` with respect to `x` at the value `at`. Their nodes are added to the graph; both tensors are float
/// or double.
#[track_caller]
pub fn compute_gradient(
    g: &Scope,
    session: &Session,
    x: &Output,
    at: &Tensor,
    y: &Output,
    options: &Options<'_>,
) -> Result<Jacobians> {
    for (name, dtype) in [(x.name(), x.dtype()), (y.name(), y.dtype())] {
        if !matches!(dtype, DataType::Float | DataType::Double) {
            let text = format!("gradients are checked of float and double tensors; '{name}' is {dtype}");
            return Err(Error::new(Code::InvalidArgument, text));
        }
    }
    if let Some(init) = options.init {
        session.run(init, &[])?;
    }
    let mut fed: Vec<&Output> = vec![x];
    fed.extend(options.feeds.iter().map(|(o, _)| *o));
    let others: Vec<Tensor> = options.feeds.iter().map(|(_, t)| t.clone()).collect();
    let value = session.callable(&fed, y)?;
    let run_y = |x: Tensor| one(value.run(with(vec![x], &others))?);
    let first = run_y(at.clone())?;
    let (rows, columns) = (at.elements(), first.elements());
    let size = rows.checked_mul(columns).filter(|n| *n <= 1 << 28);
    let size = size.ok_or_else(|| {
        let text = format!("a derivative of {rows} by {columns} numbers is too large to check");
        Error::new(Code::ResourceExhausted, text)
    })?;
    let mut found = Jacobians { rows, columns, theoretical: vec![0.0; size], numeric: vec![0.0; size] };

    let dy = g.op("Placeholder").name("gradient_checker/dy").attr("dtype", y.dtype());
    let dy = dy.attr("shape", PartialShape::from(first.shape())).output();
    let seeds = GradientOptions { grad_ys: &[&dy], ..Default::default() };
    let gradient = g.gradients_with(&[y], &[x], &seeds).remove(0).dense(g);
    g.check()?;
    if let Some(dx) = gradient {
        let mut all = vec![&dy];
        all.extend(&fed);
        let gradient = session.callable(&all, &dx)?;
        let none = vec![0.0; columns];
        for column in 0..columns {
            let seed = tensor(y.dtype(), first.shape(), &changed(&none, column, 1.0))?;
            let dx = numbers(&one(gradient.run(with(vec![seed, at.clone()], &others))?)?)?;
            for (row, d) in dx.iter().take(rows).enumerate() {
                found.theoretical[row * columns + column] = *d;
            }
        }
    }
    let point = numbers(at)?;
    for row in 0..rows {
        let moved = |by: f64| numbers(&run_y(tensor(x.dtype(), at.shape(), &changed(&point, row, by))?)?);
        let (up, down) = (moved(options.delta)?, moved(-options.delta)?);
        for (column, (up, down)) in up.iter().zip(&down).take(columns).enumerate() {
            found.numeric[row * columns + column] = (up - down) / (2.0 * options.delta);
        }
    }
    Ok(found)
}

fn one(mut results: Vec<Tensor>) -> Result<Tensor> {
    results.pop().ok_or_else(|| Error::new(Code::Internal, "a run gave nothing"))
}

fn with(mut first: Vec<Tensor>, others: &[Tensor]) -> Vec<Tensor> {
    first.extend_from_slice(others);
    first
}

fn changed(values: &[f64], at: usize, by: f64) -> Vec<f64> {
    let mut values = values.to_vec();
    if let Some(v) = values.get_mut(at) {
        *v += by;
    }
    values
}

fn numbers(t: &Tensor) -> Result<Vec<f64>> {
    match t.dtype() {
        DataType::Float => Ok(t.as_slice::<f32>()?.iter().map(|v| f64::from(*v)).collect()),
        _ => Ok(t.as_slice::<f64>()?.to_vec()),
    }
}

fn tensor(dtype: DataType, shape: &Shape, values: &[f64]) -> Result<Tensor> {
    match dtype {
        DataType::Float => {
            Tensor::from_slice(shape.clone(), &values.iter().map(|v| *v as f32).collect::<Vec<_>>())
        }
        _ => Tensor::from_slice(shape.clone(), values),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_gradient_shows() {
        let g = Scope::new();
        let x = g.placeholder(DataType::Float, &[2]);
        let half = g.stop_gradient(&x);
        let y = &half * &x;
        let session = Session::new(&g).unwrap();
        let at = Tensor::vector(&[1.5f32, -2.0]).unwrap();
        let found = compute_gradient(&g, &session, &x, &at, &y, &Options::default()).unwrap();
        assert_eq!(found.theoretical, [1.5, 0.0, 0.0, -2.0]);
        assert!((found.error() - 2.0).abs() < 1e-2, "{found:?}");
        let z = g.cast(&x, DataType::Int32);
        let e = compute_gradient(&g, &session, &x, &at, &z, &Options::default()).unwrap_err();
        assert_eq!(e.code(), Code::InvalidArgument, "{e}");
    }
}
