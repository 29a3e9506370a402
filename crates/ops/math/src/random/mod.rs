//! Random numbers, bit for bit TensorFlow's for the same seeds.

mod accidental_hits;
mod candidate_sampler;
mod drawn;
mod generator_state;
mod multinomial;
mod parameterized_truncated_normal;
mod random_binomial;
mod random_crop;
mod random_gamma;
mod random_index_shuffle;
mod random_poisson;
mod random_shuffle;
mod reals;
mod sobol_sample;
mod stateless_key;
mod stochastic_cast_to_int;
mod uniform_int;
mod unigram_sampler;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = join![
    reals::OPS,
    generator_state::OPS,
    random_binomial::OPS,
    parameterized_truncated_normal::OPS,
    unigram_sampler::OPS,
    SINGLE,
];

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
    &random_gamma::STATELESS_RANDOM_GAMMA_V3,
    &random_crop::RANDOM_CROP,
    &random_index_shuffle::RANDOM_INDEX_SHUFFLE,
    &sobol_sample::SOBOL_SAMPLE,
    &stochastic_cast_to_int::STOCHASTIC_CAST_TO_INT,
    &random_poisson::RANDOM_POISSON,
    &random_poisson::RANDOM_POISSON_V2,
    &random_poisson::STATELESS_RANDOM_POISSON,
    &stateless_key::STATELESS_RANDOM_GET_KEY_COUNTER,
    &stateless_key::STATELESS_RANDOM_GET_ALG,
    &stateless_key::STATELESS_RANDOM_GET_KEY_COUNTER_ALG,
];

#[cfg(test)]
mod tests;
