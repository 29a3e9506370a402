//! The optimizers by name.

use super::program::Training;
use super::settings::Replicas;
use thalweg::prelude::*;
use thalweg::train::optimizers::{
    Adagrad, Adam, GradientDescent, GradientOf, Minimize, Momentum, Optimizer, Setting,
};
use thalweg::train::sync_replicas::SyncReplicas;
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

    fn make(self, rate: Setting) -> Box<dyn Optimizer> {
        match self {
            Kind::Sgd => Box::new(GradientDescent::new(rate)),
            Kind::Momentum => Box::new(Momentum::new(rate, 0.9)),
            Kind::Adagrad => Box::new(Adagrad::new(rate)),
            Kind::Adam => Box::new(Adam::new(rate)),
        }
    }

    /// One training step, which increments the global step. `max_norm` clips gradients by global norm. `replicas`: those
    /// that train synchronously.
    pub fn minimize(
        self,
        g: &Scope,
        loss: &Output,
        rate: impl Into<Setting>,
        max_norm: Option<f64>,
        replicas: Option<Replicas>,
    ) -> Result<Training> {
        let rate = rate.into();
        let learning_rate = match &rate {
            Setting::Number(rate) => g.name_scope("watched").constant_named("learning_rate", *rate as f32),
            Setting::Tensor(rate) => g.cast(rate, DataType::Float),
        };
        let optimizer = self.make(rate);
        let step = get_or_create_global_step(g);
        let mut found = optimizer.compute_gradients(g, loss)?;
        let gradients: Vec<_> = found.iter().map(|x| x.gradient.clone()).collect();
        let mut gradient_norm = None;
        if let Some(norm) = max_norm {
            let (clipped, had) = clip::clip_by_global_norm(g, &gradients, norm);
            gradient_norm = Some(had);
            found = found
                .into_iter()
                .zip(clipped)
                .map(|(x, gradient)| GradientOf { gradient, variable: x.variable })
                .collect();
        }
        let gradient_norm = gradient_norm.unwrap_or_else(|| clip::global_norm(g, &gradients));
        let watched = vec![("learning_rate", learning_rate), ("gradient_norm", gradient_norm)];
        match replicas {
            None => {
                let step = optimizer.apply_gradients(g, &found, Some(&step))?;
                Ok(Training { step, watched, sync: None })
            }
            Some(r) => {
                let sync =
                    SyncReplicas::new(optimizer, r.aggregate).total_num_replicas(r.total).number(r.number);
                let sync = sync.apply_gradients(g, &found, &step)?;
                Ok(Training { step: sync.train.clone(), watched, sync: Some(sync) })
            }
        }
    }
}
