//! Random numbers, bit for bit TensorFlow's for the same seeds.

mod accidental_hits;
mod candidate_sampler;
mod drawn;
mod multinomial;
mod random_gamma;
mod random_poisson;
mod random_shuffle;
mod reals;
mod stateless_key;
mod uniform_int;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = join![reals::OPS, SINGLE];

static SINGLE: &[&Op] = &[
    &candidate_sampler::UNIFORM_CANDIDATE_SAMPLER,
    &candidate_sampler::LOG_UNIFORM_CANDIDATE_SAMPLER,
    &accidental_hits::COMPUTE_ACCIDENTAL_HITS,
    &uniform_int::RANDOM_UNIFORM_INT,
    &uniform_int::STATELESS_RANDOM_UNIFORM_INT,
    &uniform_int::STATELESS_RANDOM_UNIFORM_INT_V2,
    &uniform_int::STATELESS_RANDOM_UNIFORM_FULL_INT,
    &uniform_int::STATELESS_RANDOM_UNIFORM_FULL_INT_V2,
    &random_shuffle::RANDOM_SHUFFLE,
    &random_shuffle::STATELESS_SHUFFLE,
    &multinomial::MULTINOMIAL,
    &multinomial::STATELESS_MULTINOMIAL,
    &random_gamma::RANDOM_GAMMA,
    &random_gamma::STATELESS_RANDOM_GAMMA_V2,
    &random_poisson::RANDOM_POISSON_V2,
    &random_poisson::STATELESS_RANDOM_POISSON,
    &stateless_key::STATELESS_RANDOM_GET_KEY_COUNTER,
    &stateless_key::STATELESS_RANDOM_GET_ALG,
    &stateless_key::STATELESS_RANDOM_GET_KEY_COUNTER_ALG,
];

#[cfg(test)]
mod tests;
