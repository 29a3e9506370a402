//! The learning rate over the steps of a run.

use thalweg::prelude::*;
use thalweg::train::get_or_create_global_step;
use thalweg::train::optimizers::Setting;
use thalweg::train::schedules::{
    Polynomial, cosine_decay, exponential_decay, linear_warmup, polynomial_decay,
};

/// The final learning rate, relative to the first.
const LAST_RATE: f64 = 0.01;

#[derive(clap::Args)]
pub struct ScheduleArgs {
    /// How the learning rate falls, to a hundredth
    #[arg(long, value_name = "SHAPE")]
    schedule: Option<Shape>,
    /// Steps over which it falls [default: all of the run]
    #[arg(long, value_name = "N", requires = "schedule")]
    decay_steps: Option<u64>,
    /// Steps over which the learning rate rises first
    #[arg(long, value_name = "N", default_value_t = 0)]
    warmup: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Shape {
    /// It stays
    Constant,
    /// In a straight line
    Linear,
    /// As half a period of the cosine
    Cosine,
    /// By the same factor in each step
    Exponential,
}

/// A learning rate as a function of the step alone: a resumed run continues as one that was not interrupted.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    pub rate: f64,
    shape: Shape,
    decay_steps: u64,
    warmup: u64,
}

impl Schedule {
    /// `falls_over`: a program's own schedule, a straight line over so many steps. `steps`: those of the run.
    pub fn new(rate: f64, args: &ScheduleArgs, falls_over: Option<u64>, steps: u64) -> Schedule {
        let own = if falls_over.is_some() { Shape::Linear } else { Shape::Constant };
        let shape = args.schedule.unwrap_or(own);
        let over = if args.schedule.is_some() { None } else { falls_over };
        let decay_steps = args.decay_steps.or(over).unwrap_or(steps).max(1);
        Schedule { rate, shape, decay_steps, warmup: args.warmup }
    }

    /// The nodes that compute it, or a number.
    pub fn setting(&self, g: &Scope) -> Setting {
        let (rate, over) = (self.rate, self.decay_steps as f64);
        let step = || get_or_create_global_step(g).value;
        let falling = match self.shape {
            Shape::Constant if self.warmup == 0 => return rate.into(),
            Shape::Constant => g.number(rate, DataType::Float),
            Shape::Linear => {
                let to = Polynomial { end_rate: rate * LAST_RATE, ..Default::default() };
                polynomial_decay(g, rate, &step(), over, to)
            }
            Shape::Cosine => cosine_decay(g, rate, &step(), over, LAST_RATE),
            Shape::Exponential => exponential_decay(g, rate, &step(), over, LAST_RATE, false),
        };
        match self.warmup {
            0 => Setting::from(&falling),
            steps => Setting::from(&linear_warmup(g, &falling, &step(), steps as f64)),
        }
    }

    /// As printed.
    pub fn text(&self) -> String {
        let (rate, last, steps) = (self.rate, self.rate * LAST_RATE, self.decay_steps);
        let mut text = match self.shape {
            Shape::Constant => rate.to_string(),
            Shape::Linear => format!("{rate}, falling to {last} over {steps} steps"),
            Shape::Cosine => format!("{rate}, falling to {last} over {steps} steps as a cosine"),
            Shape::Exponential => format!("{rate}, falling to {last} over {steps} steps exponentially"),
        };
        if self.warmup > 0 {
            text.push_str(&format!(", after a warmup of {} steps", self.warmup));
        }
        text
    }
}
