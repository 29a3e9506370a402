//! `linear_model`: a weight for each number or id of each column, and a bias.

use super::lookup::{Combiner, safe_embedding_lookup_sparse};
use super::{FeatureColumn, Features, in_order, invalid, scope_name};
use crate::initializers::Zeros;
use thalweg_client::{Output, Result, Scope};

/// `units` weighted sums for each example: numbers times weights, plus weights of ids, plus a bias.
#[track_caller]
pub fn linear_model(
    g: &Scope,
    features: &Features,
    columns: &[FeatureColumn],
    units: usize,
) -> Result<Output> {
    let g = g.default_variable_scope("linear_model");
    let mut sums = Vec::with_capacity(columns.len());
    for (_, column) in in_order(columns)? {
        let g = g.default_variable_scope(&scope_name(&column.scope()));
        sums.push(weighted_sum(&g, features, column, units)?);
    }
    let sum = match &sums[..] {
        [one] => one.clone(),
        all => g.op("AddN").name("weighted_sum_no_bias").inputs(all).output(),
    };
    let bias = g.get_variable("bias_weights", &[units], &Zeros);
    Ok(g.op("BiasAdd").name("weighted_sum").input(&sum).input(&bias.value).output())
}

fn weighted_sum(g: &Scope, features: &Features, column: &FeatureColumn, units: usize) -> Result<Output> {
    if let Some(column) = column.as_categorical() {
        let ids = column.ids(g, features)?;
        let counts = column.weights(g, features, &ids)?;
        let weights = g.get_variable("weights", &[column.buckets()?, units], &Zeros);
        let g = g.name_scope("weighted_sum");
        return Ok(safe_embedding_lookup_sparse(&g, &weights, &ids, counts.as_ref(), Combiner::Sum, units));
    }
    let Some(column) = column.as_dense() else {
        return Err(invalid(format!("column '{}' gives neither numbers nor ids", column.name())));
    };
    let x = column.tensor(g, features)?;
    let weights = g.get_variable("weights", &[column.width()?, units], &Zeros);
    Ok(g.op("MatMul").name("weighted_sum").input(&x).input(&weights.value).output())
}
