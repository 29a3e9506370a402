//! `Scope::gradients`: the nodes that compute derivatives.

use crate::output::Output;
use crate::scope::Scope;
use std::panic::Location;
use thalweg_core::attr::Attrs;
use thalweg_core::error::Result;
use thalweg_core::grad::Grad;
use thalweg_core::invalid;
use thalweg_core::node;
use thalweg_graph::gradients::{self, Options};

/// The gradient of `y` with respect to one tensor `x`.
#[derive(Clone, Debug)]
pub enum Gradient {
    /// `y` does not depend on `x`.
    None,
    /// A tensor of the shape of `x`.
    Dense(Output),
    /// A sparse gradient, as of lookups in a large table.
    Slices(IndexedSlices),
}

/// Rows `values` at the rows `indices` of a tensor of shape `dense_shape`. Duplicate indices are summed.
#[derive(Clone, Debug)]
pub struct IndexedSlices {
    /// The rows.
    pub values: Output,
    /// The row index of each.
    pub indices: Output,
    /// The shape of the dense tensor.
    pub dense_shape: Output,
}

/// Options of differentiation.
#[derive(Default)]
pub struct GradientOptions<'a> {
    /// Initial gradients of the `ys`; ones by default.
    pub grad_ys: &'a [&'a Output],
    /// Tensors taken as constants.
    pub stop_gradients: &'a [&'a Output],
}

impl Gradient {
    /// The gradient as a dense tensor; rows are scattered into zeros. `None` if there is none.
    #[track_caller]
    pub fn dense(&self, scope: &Scope) -> Option<Output> {
        match self {
            Gradient::None => None,
            Gradient::Dense(o) => Some(o.clone()),
            Gradient::Slices(s) => {
                let ids = (s.values.id, s.indices.id, s.dense_shape.id);
                let (Some(values), Some(indices), Some(dense_shape)) = ids else {
                    return Some(s.values.clone());
                };
                let slices = Grad::Slices { values, indices, dense_shape };
                let made = gradients::to_dense(&mut scope.lock().graph, slices);
                match made {
                    Ok(o) => Some(Output::new(scope, o)),
                    Err(e) => {
                        scope.fail(e, Location::caller());
                        Some(Output::new(scope, None))
                    }
                }
            }
        }
    }
}

impl Scope {
    /// The gradients of the sum of `ys` with respect to each of `xs`, as nodes of the graph. Function calls in between are inlined,
    /// under their names; so take gradients through calls before a session on a server is sent the graph.
    #[track_caller]
    pub fn gradients(&self, ys: &[&Output], xs: &[&Output]) -> Vec<Gradient> {
        self.gradients_with(ys, xs, &GradientOptions::default())
    }

    /// As [`Scope::gradients`], with initial gradients and tensors taken as constants.
    #[track_caller]
    pub fn gradients_with(
        &self,
        ys: &[&Output],
        xs: &[&Output],
        options: &GradientOptions<'_>,
    ) -> Vec<Gradient> {
        match self.try_gradients(ys, xs, options) {
            Ok(found) => found,
            Err(e) => {
                self.fail(e, Location::caller());
                xs.iter().map(|_| Gradient::Dense(Output::new(self, None))).collect()
            }
        }
    }

    fn try_gradients(
        &self,
        ys: &[&Output],
        xs: &[&Output],
        options: &GradientOptions<'_>,
    ) -> Result<Vec<Gradient>> {
        let (ys, xs) = (self.ids(ys)?, self.ids(xs)?);
        let (grad_ys, stop) = (self.ids(options.grad_ys)?, self.ids(options.stop_gradients)?);
        let device = self.defaults.devices.of("", &Attrs::new());
        let options = Options { grad_ys: &grad_ys, stop: &stop, device: &device, ..Options::default() };
        let found = gradients::gradients(&mut self.lock().graph, &ys, &xs, &options)?;
        let output = |o: node::Output| Output::new(self, Some(o));
        Ok(found
            .into_iter()
            .map(|g| match g {
                Grad::None => Gradient::None,
                Grad::Dense(o) => Gradient::Dense(output(o)),
                Grad::Slices { values, indices, dense_shape } => Gradient::Slices(IndexedSlices {
                    values: output(values),
                    indices: output(indices),
                    dense_shape: output(dense_shape),
                }),
            })
            .collect())
    }

    /// The tensors in this graph: those of the graph around a function's body are its arguments; one of any other graph is an error.
    fn ids(&self, outputs: &[&Output]) -> Result<Vec<node::Output>> {
        let known = |o: &&Output| {
            let here = if self.is_same_graph(&o.scope) { o.id } else { self.capture_outer(o)?.id };
            here.ok_or_else(|| invalid!("a tensor to differentiate is the result of an earlier mistake"))
        };
        outputs.iter().map(known).collect()
    }
}
