//! Random numbers, bit for bit those of TensorFlow's CPU kernels.
//!
//! An op owns a [`PhiloxState`]; each execution reserves a range of the counter
//! and a [`Distribution`] turns that part of the stream into numbers:
//!
//! ```
//! use thalweg_math::{parallel::Serial, random};
//!
//! let mut state = random::PhiloxState::new(87654321, 42, || unreachable!("seeded"));
//! let mut x = [0f32; 6];
//! let stream = state.reserve_outputs(x.len() as u64);
//! random::fill(&Serial, &random::Uniform::default(), stream, &mut x);
//! assert!(x.iter().all(|x| (0.0..1.0).contains(x)));
//! ```
//!
//! Stateless ops get their stream from [`stateless`] or, given a key and a
//! counter, from [`Philox::from_key_counter`].

mod between;
mod binomial;
mod categorical;
mod distribution;
mod gamma;
pub mod index_shuffle;
mod normal;
mod outputs;
mod philox;
mod poisson;
mod real;
mod shuffle;
mod sobol;
mod state;

pub use between::{Between, MAX_REJECTED};
pub use binomial::{Binomial, binomial};
pub use categorical::{categorical, categorical_blocks};
pub use distribution::{Distribution, FullInt, Int, Normal, TruncatedNormal, Uniform, UniformInt, fill};
pub use gamma::gamma;
pub use index_shuffle::{MAX_ROUNDS, shuffled_index};
pub use philox::{Philox, Words};
pub use poisson::poisson;
pub use real::Real;
pub use shuffle::shuffle;
pub use sobol::{MAX_SOBOL_DIM, Sobol};
pub use state::{BLOCKS_PER_OUTPUT, PhiloxState, stateless};
