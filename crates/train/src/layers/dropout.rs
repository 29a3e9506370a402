//! Dropout: in training, a random part of the units is zero in each step, and the others are scaled up.

use thalweg_client::{Output, Scope};

/// Sets a share `rate` of the elements to zero and scales the others by `1 / (1 - rate)`. Without `training`, returns `x`.
#[track_caller]
pub fn dropout(g: &Scope, x: &Output, rate: f64, training: bool, seed: Option<i64>) -> Output {
    if !training || rate <= 0.0 {
        return x.clone();
    }
    let g = g.name_scope("dropout");
    let dtype = x.dtype();
    let scaled = x * g.number(1.0 / (1.0 - rate), dtype);
    let drawn = g
        .op("RandomUniform")
        .name("random_uniform/RandomUniform")
        .input(g.shape(&scaled))
        .attr("dtype", dtype)
        .seeds(seed)
        .output();
    let keep = g.greater_equal(drawn, g.number_named("rate", rate, dtype));
    g.select(keep, scaled, g.number(0.0, dtype))
}
