//! Gradient descent: `v -= rate * gradient`.

use super::{Optimizer, Setting, Update};
use thalweg_client::{IndexedSlices, Operation, Output};

/// Plain gradient descent: `w -= rate * gradient`.
///
/// ```
/// use thalweg_client::{Scope, Session};
/// use thalweg_train::optimizers::{GradientDescent, Minimize};
///
/// let g = Scope::new();
/// let w = g.variable("w", &g.constant(0f32));
/// let loss = g.square(&w.value - 3.0);
/// let train = GradientDescent::new(0.1).minimize(&g, &loss, None)?;
/// let session = Session::new(&g)?;
/// session.run(&g.init(), &[])?;
/// for _ in 0..100 {
///     session.run(&train, &[])?;
/// }
/// assert!((session.run(&w.value, &[])?.to_scalar::<f32>()? - 3.0).abs() < 1e-3);
/// # Ok::<(), thalweg_client::Error>(())
/// ```
pub struct GradientDescent {
    rate: Setting,
}

impl GradientDescent {
    /// With a learning rate: a number, or a schedule's output.
    pub fn new(rate: impl Into<Setting>) -> Self {
        GradientDescent { rate: rate.into() }
    }
}

impl Optimizer for GradientDescent {
    fn name(&self) -> &'static str {
        "GradientDescent"
    }

    fn settings(&self) -> Vec<(&'static str, Setting)> {
        vec![("learning_rate", self.rate.clone())]
    }

    fn dense(&self, u: &Update<'_>, gradient: &Output) -> Operation {
        u.rule("ResourceApplyGradientDescent").input(u.setting(0)).input(gradient).build()
    }

    fn sparse(&self, u: &Update<'_>, rows: &IndexedSlices) -> Operation {
        let step = -&rows.values * u.setting(0);
        u.op("ResourceScatterAdd").input(&rows.indices).input(step).build()
    }

    /// The update itself sums duplicate rows.
    fn sums_rows(&self) -> bool {
        false
    }
}
