//! Optimizers: update rules for variables.
//!
//! An optimizer is its hyperparameters and two update rules, for dense and for sparse gradients. What is common to all of them,
//! computing gradients, making slots, grouping the updates, counting the global step, is here.

mod ada_max;
mod adadelta;
mod adagrad;
mod adagrad_da;
mod adam;
mod boxed;
mod ftrl;
mod gradient_descent;
mod locking;
mod moments;
mod momentum;
mod proximal_adagrad;
mod proximal_gradient_descent;
mod rms_prop;
mod update;

pub use ada_max::AdaMax;
pub use adadelta::Adadelta;
pub use adagrad::Adagrad;
pub use adagrad_da::AdagradDA;
pub use adam::Adam;
pub use ftrl::Ftrl;
pub use gradient_descent::GradientDescent;
pub use locking::Locking;
pub use momentum::Momentum;
pub use proximal_adagrad::ProximalAdagrad;
pub use proximal_gradient_descent::ProximalGradientDescent;
pub use rms_prop::RMSProp;
pub use update::{Setting, Update};

use thalweg_client::{Error, Gradient, IndexedSlices, Operation, Output, Result, Scope, Variable};

/// A slot: a variable of the optimizer's own beside each variable it trains, of the same shape.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// The initial value of all elements.
    pub initial: f64,
}

/// A scalar shared by all variables and multiplied in each step, such as Adam's `beta1_power`.
#[derive(Clone, Copy, Debug)]
pub struct Power {
    /// The name of its variable.
    pub name: &'static str,
    /// Its initial value.
    pub initial: f64,
    /// Which setting it is multiplied by after each step.
    pub factor: usize,
}

/// The rules of one optimizer.
pub trait Optimizer {
    /// TensorFlow's name for it: names of nodes and slots come from it.
    fn name(&self) -> &'static str;

    /// Names and values of the hyperparameters; rules use their indices.
    fn settings(&self) -> Vec<(&'static str, Setting)>;

    /// In TensorFlow's order of creation, which numbers their names.
    fn slots(&self) -> Vec<Slot> {
        Vec::new()
    }

    /// Scalars multiplied in each step.
    fn powers(&self) -> Vec<Power> {
        Vec::new()
    }

    /// Applies a dense gradient.
    fn dense(&self, u: &Update<'_>, gradient: &Output) -> Operation;

    /// Applies a sparse gradient, without duplicate rows if `sums_rows`.
    fn sparse(&self, u: &Update<'_>, rows: &IndexedSlices) -> Operation;

    /// Validates the settings.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// The attr `use_locking`, for TensorFlow's kernels; ours always lock. See [`Minimize::with_locking`].
    fn use_locking(&self) -> bool {
        false
    }

    /// Whether duplicate rows are summed before `sparse`.
    fn sums_rows(&self) -> bool {
        true
    }
}

/// A gradient with the variable it is for.
pub struct GradientOf {
    /// `None` if the loss does not depend on the variable.
    pub gradient: Gradient,
    /// The variable.
    pub variable: Variable,
}

/// What all optimizers can do.
pub trait Minimize: Optimizer {
    /// One training step: gradients of `loss`, and the updates of all trainable variables; counts `global_step` if given.
    #[track_caller]
    fn minimize(&self, g: &Scope, loss: &Output, global_step: Option<&Variable>) -> Result<Operation> {
        let gradients = self.compute_gradients(g, loss)?;
        self.apply_gradients(g, &gradients, global_step)
    }

    /// The gradients of `loss` with respect to every trainable variable.
    #[track_caller]
    fn compute_gradients(&self, g: &Scope, loss: &Output) -> Result<Vec<GradientOf>> {
        self.compute_gradients_of(g, loss, g.trainable_variables())
    }

    /// The gradients of `loss` with respect to these variables.
    #[track_caller]
    fn compute_gradients_of(
        &self,
        g: &Scope,
        loss: &Output,
        variables: Vec<Variable>,
    ) -> Result<Vec<GradientOf>> {
        let handles: Vec<&Output> = variables.iter().map(|v| &v.handle).collect();
        let found = g.gradients(&[loss], &handles);
        g.check()?;
        Ok(variables
            .into_iter()
            .zip(found)
            .map(|(variable, gradient)| GradientOf { gradient, variable })
            .collect())
    }

    /// The same optimizer with TensorFlow's `use_locking`.
    fn with_locking(self) -> Locking<Self>
    where
        Self: Sized,
    {
        Locking(self)
    }

    /// The updates, grouped in one operation.
    #[track_caller]
    fn apply_gradients(
        &self,
        g: &Scope,
        gradients: &[GradientOf],
        global_step: Option<&Variable>,
    ) -> Result<Operation> {
        update::apply(self, g, gradients, global_step)
    }
}

impl<O: Optimizer + ?Sized> Minimize for O {}

/// An error unless the value is above zero, or zero if `zero_too`.
fn not_negative(name: &str, value: f64, zero_too: bool) -> Result<()> {
    if value > 0.0 || zero_too && value == 0.0 {
        return Ok(());
    }
    let needed = if zero_too { "positive or zero" } else { "positive" };
    Err(Error::new(
        thalweg_client::Code::InvalidArgument,
        format!("{name} needs to be {needed}, got {value}"),
    ))
}

fn nothing_to_train(name: &str) -> Error {
    Error::new(
        thalweg_client::Code::InvalidArgument,
        format!("{name}: no variable has a gradient; does the loss depend on any trainable variable?"),
    )
}
