//! CSV files as datasets of typed columns.

use super::dataset::{Dataset, declare};
use super::sources::{checked, names};
use crate::{DataType, IntoTensor, Output, PartialShape, Result, Scope, Shape, Tensor};
use std::path::Path;

/// A column's type, and its default for empty fields.
pub struct Column(Result<Tensor>);

impl Column {
    /// Of type float, double, int32, int64 or string; an empty field is an error.
    pub fn required(dtype: DataType) -> Column {
        Column(Tensor::zeros(dtype, Shape::vector(0)))
    }

    /// Of the type of `default`, the value of empty fields: `Column::or(0.0f32)`.
    pub fn or(default: impl IntoTensor) -> Column {
        Column(default.into_tensor())
    }
}

/// The format of a file.
pub struct CsvOptions {
    /// The first line of each file is a header, and is skipped.
    pub header: bool,
    /// The field delimiter.
    pub delimiter: char,
    /// Whether fields may be in double quotes.
    pub quotes: bool,
    /// A field with this text is empty.
    pub missing: String,
    /// The indices of the `columns` in the file, from 0; all, if empty.
    pub select: Vec<i64>,
}

impl Default for CsvOptions {
    fn default() -> Self {
        CsvOptions { header: false, delimiter: ',', quotes: true, missing: String::new(), select: Vec::new() }
    }
}

impl Dataset {
    /// The records of CSV files: elements of one scalar for each column.
    #[track_caller]
    pub fn csv<P: AsRef<Path>>(g: &Scope, files: &[P], columns: Vec<Column>, options: CsvOptions) -> Dataset {
        let columns: Result<Vec<Tensor>> = columns.into_iter().map(|c| c.0).collect();
        let Some(columns) = checked(g, columns) else { return Dataset::broken(g) };
        let elements: Vec<_> = columns.iter().map(|t| (t.dtype(), PartialShape::scalar())).collect();
        let (names, declared) = (names(files), elements.clone());
        Dataset::new(g, elements, move |g| {
            let defaults: Vec<Output> = columns.iter().map(|t| g.constant(t.clone())).collect();
            let op = g
                .op("CSVDatasetV2")
                .input(g.constant(names.clone()))
                .input(g.constant(""))
                .input(g.constant(0i64))
                .input(g.constant(options.header))
                .input(g.constant(options.delimiter.to_string().as_str()))
                .input(g.constant(options.quotes))
                .input(g.constant(options.missing.as_str()))
                .input(g.constant(options.select.clone()))
                .inputs(&defaults)
                .input(g.constant(Vec::<i64>::new()));
            declare(op, &declared).output()
        })
    }
}
