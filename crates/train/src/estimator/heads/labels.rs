//! Validation and reshaping of labels.

use crate::estimator::invalid;
use crate::feature_column::numbers_in_row;
use crate::tables::IndexTable;
use thalweg_client::{DataType, IntoTensor, Operation, Output, Result, Scope};

/// An error without labels: training and evaluation need them.
pub fn given(labels: Option<&Output>) -> Result<&Output> {
    labels.ok_or_else(|| {
        invalid("the input has no labels, which training and evaluation need; name them with Input::label(\"..\")")
    })
}

/// Labels reshaped to `[batch, width]`, validated.
pub fn matrix(g: &Scope, labels: &Output, width: usize) -> Result<Output> {
    let shape = labels.shape();
    if shape.rank() == Some(0) {
        return Err(invalid(
            "the labels are a scalar, but one for each example is needed; does the dataset lack .batch(..)?",
        ));
    }
    if let Some(n) = numbers_in_row(&shape).filter(|n| *n != width as i64) {
        return Err(invalid(format!(
            "the labels have shape {shape}: {n} numbers for each example, but the model has {width}"
        )));
    }
    let width = i32::try_from(width).map_err(|_| invalid(format!("{width} labels for each example")))?;
    Ok(g.reshape(labels, &[-1, width]))
}

/// Class ids as int64, one for each example, checked to be below `classes`.
pub fn class_ids(g: &Scope, labels: &Output, classes: usize, vocabulary: &[String]) -> Result<Output> {
    let column = matrix(g, labels, 1)?;
    let ids = match (column.dtype(), vocabulary) {
        (DataType::String, []) => {
            return Err(invalid(
                "the labels are string, but the classifier knows classes by number; name them with \
                 .label_vocabulary([..])",
            ));
        }
        (DataType::String, words) => {
            let table = IndexTable::from_tensor(g, words.to_vec().into_tensor()?, -1, 0);
            table.lookup(g, &column)
        }
        (t, []) if t.is_integer() => g.cast(&column, DataType::Int64),
        (t, []) => {
            return Err(invalid(format!(
                "the labels are {t}, but a classifier needs integers from 0 to {}; cast them, or use a regressor",
                classes.saturating_sub(1)
            )));
        }
        (t, _) => return Err(invalid(format!("the labels are {t}, but the label vocabulary has strings"))),
    };
    let checked = in_range(g, &ids, classes, if vocabulary.is_empty() { None } else { Some(&column) });
    Ok(g.control_dependencies(&[&checked]).identity(&ids))
}

/// Fails the step if an id is out of range; the error names it.
fn in_range(g: &Scope, ids: &Output, classes: usize, words: Option<&Output>) -> Operation {
    let inside =
        g.logical_and(g.greater_equal(ids, g.constant(0i64)), g.less(ids, g.constant(classes as i64)));
    let outside = g.op("Where").input(g.logical_not(&inside)).output();
    let wrong = g.op("GatherNd").input(words.unwrap_or(ids)).input(&outside).output();
    let needed = match words {
        Some(_) => "labels must be in the label vocabulary, but got".to_string(),
        None => {
            let last = classes.saturating_sub(1);
            format!("labels must be in 0 ..= {last}, as the classifier has {classes} classes, but got")
        }
    };
    let all = g.op("All").input(&inside).input(g.constant([0, 1])).output();
    g.op("Assert").name("assert_labels").input(&all).inputs(&[&g.constant(needed), &wrong]).build()
}
