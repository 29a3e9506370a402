//! The optimizers by name.

use thalweg::prelude::*;
use thalweg::train::optimizers::{Adagrad, Adam, GradientDescent, GradientOf, Minimize, Momentum, Optimizer};
use thalweg::train::{clip, get_or_create_global_step};

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Kind {
    Sgd,
    Momentum,
    Adagrad,
    Adam,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Sgd => "gradient descent",
            Kind::Momentum => "momentum 0.9",
            Kind::Adagrad => "Adagrad",
            Kind::Adam => "Adam",
        }
    }

    fn make(self, rate: f64) -> Box<dyn Optimizer> {
        match self {
            Kind::Sgd => Box::new(GradientDescent::new(rate)),
            Kind::Momentum => Box::new(Momentum::new(rate, 0.9)),
            Kind::Adagrad => Box::new(Adagrad::new(rate)),
            Kind::Adam => Box::new(Adam::new(rate)),
        }
    }

    /// One training step, which counts the global step. `max_norm`: gradients are scaled down to this common norm.
    pub fn minimize(self, g: &Scope, loss: &Output, rate: f64, max_norm: Option<f64>) -> Result<Operation> {
        let optimizer = self.make(rate);
        let step = get_or_create_global_step(g);
        let mut found = optimizer.compute_gradients(g, loss)?;
        if let Some(norm) = max_norm {
            let gradients: Vec<_> = found.iter().map(|x| x.gradient.clone()).collect();
            let (clipped, _) = clip::clip_by_global_norm(g, &gradients, norm);
            found = found
                .into_iter()
                .zip(clipped)
                .map(|(x, gradient)| GradientOf { gradient, variable: x.variable })
                .collect();
        }
        optimizer.apply_gradients(g, &found, Some(&step))
    }
}
