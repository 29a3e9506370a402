//! `input_layer`: dense columns side by side, the input of a net.

use super::{FeatureColumn, Features, in_order, invalid, scope_name};
use thalweg_client::{Output, Result, Scope};

/// A matrix with a row for each example: all dense columns concatenated, in the order of their names.
#[track_caller]
pub fn input_layer(g: &Scope, features: &Features, columns: &[FeatureColumn]) -> Result<Output> {
    let g = g.default_variable_scope("input_layer");
    let mut parts = Vec::with_capacity(columns.len());
    for (name, column) in in_order(columns)? {
        let dense = column.as_dense().ok_or_else(|| {
            invalid(format!(
                "column '{name}' gives ids, but a net needs numbers; wrap it in indicator_column(..) or embedding_column(.., dimension)"
            ))
            .at(Some(column.place()))
        })?;
        parts.push(dense.tensor(&g.default_variable_scope(&scope_name(&column.scope())), features)?);
    }
    Ok(match &parts[..] {
        [one] => one.clone(),
        all => g.concat(all, 1),
    })
}
