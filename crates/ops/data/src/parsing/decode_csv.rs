//! `DecodeCSV`: records of comma-separated values as one tensor for each column.

use super::batch;
use super::samples::{float_vector, strings};
use crate::prelude::*;
use crate::tasks;
use bytes::Bytes;
use std::borrow::Cow;

pub static DECODE_CSV: Op = Op {
    name: "DecodeCSV",
    doc: "The fields of each record, as a tensor for each column; a missing field has the default of its column.",
    inputs: &["records: string", "record_defaults: OUT_TYPE"],
    outputs: &["output: OUT_TYPE"],
    attrs: &[
        "OUT_TYPE: list({float, double, int32, int64, string}) >= 1",
        "field_delim: string = ','",
        "use_quote_delim: bool = true",
        "na_value: string = ''",
        "select_cols: list(int) = []",
    ],
    shape: |c| {
        for default in c.arg(1) {
            check_default(default.rank().unwrap_or(0))?;
        }
        same_as_input(c)
    },
    grad: Stops,
    kernels: cpu!(make prepare),
    cases: |_| {
        let defaults = || [float_vector(&[0.5]), int_vector(&[]), strings(&["none"])];
        let types = Attr::types(&[DataType::Float, DataType::Int32, DataType::String]);
        let records = [strings(&["1.5,2,a", ",3,\"b, \"\"c\"\"\""])];
        let chosen = [strings(&["x;1;-;7;y", "x;;-;8;NA"])];
        vec![
            Case::new(records.into_iter().chain(defaults()).collect()).attr("OUT_TYPE", types.clone()),
            Case::new(chosen.into_iter().chain(defaults()).collect())
                .attr("OUT_TYPE", types)
                .attr("field_delim", ";")
                .attr("use_quote_delim", false)
                .attr("na_value", "NA")
                .attr("select_cols", Attr::ints(&[1, 3, 4])),
        ]
    },
    expensive: true,
    ..Op::PURE
};

fn check_default(rank: usize) -> Result<()> {
    match rank {
        0 | 1 => Ok(()),
        _ => Err(invalid!("Each record default should be at most rank 1")),
    }
}

struct Format {
    delimiter: u8,
    quotes: bool,
    /// A field equal to this is missing, as an empty one.
    missing: Bytes,
    /// Selected columns, increasing; empty: all.
    select: Vec<i64>,
}

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let attrs = &node.attrs;
    let [delimiter] = attrs.bytes("field_delim")?[..] else {
        return Err(invalid!("field_delim should be only 1 char"));
    };
    let select = attrs.ints("select_cols")?;
    let columns = node.outputs.len();
    if !select.is_empty() && select.len() != columns {
        return Err(invalid!("select_cols should match output size: {} for {columns}", select.len()));
    }
    if select.iter().any(|i| *i < 0) {
        return Err(invalid!("select_cols should be non-negative indices, got {select:?}"));
    }
    if select.windows(2).any(|w| w[0] >= w[1]) {
        return Err(invalid!("select_cols should be strictly increasing indices, got {select:?}"));
    }
    let format = Format {
        delimiter,
        quotes: attrs.bool("use_quote_delim")?,
        missing: attrs.bytes("na_value")?.clone(),
        select,
    };
    Ok(Box::new(move |c: &mut OpCall<'_>| format.run(c)))
}

impl Format {
    fn run(&self, c: &mut OpCall<'_>) -> Result<()> {
        let (records, shape) = (c.input(0)?.strings()?, c.shape(0)?.clone());
        let defaults = reserve::try_collect(c.arg(1).map(|i| c.input(i)))?;
        for (i, default) in defaults.iter().enumerate() {
            check_default(default.rank())?;
            if default.elements() > 1 {
                let n = default.elements();
                return Err(invalid!("There should only be 1 default per field but field {i} has {n}"));
            }
        }
        let parts = tasks::run(c.par(), batch::parts(records, c.par())?, |rows| {
            let mut columns =
                reserve::try_collect(defaults.iter().map(|d| Column::new(d.dtype(), rows.len())))?;
            for row in rows {
                let Some(record) = records.get(row) else { break };
                self.record(record, row, &defaults, &mut columns)?;
            }
            Ok(columns)
        })?;
        let mut all = reserve::try_collect(defaults.iter().map(|d| Column::new(d.dtype(), 0)))?;
        for part in parts {
            for (all, part) in all.iter_mut().zip(part) {
                all.append(part)?;
            }
        }
        for (i, column) in all.into_iter().enumerate() {
            c.set(i, column.into_tensor(shape.clone())?);
        }
        Ok(())
    }

    fn record(&self, record: &Bytes, row: usize, defaults: &[&Tensor], columns: &mut [Column]) -> Result<()> {
        let mut fields = 0;
        self.fields(record, |field| {
            if let (Some(column), Some(default)) = (columns.get_mut(fields), defaults.get(fields)) {
                if field.is_empty() || *field == *self.missing {
                    if default.elements() == 0 {
                        return Err(invalid!("Field {fields} is required but missing in record {row}!"));
                    }
                    column.push_default(default)?;
                } else if !column.push(record, &field, matches!(field, Cow::Borrowed(_)))? {
                    return Err(invalid!(
                        "Field {fields} in record {row} is not a valid {}: {}",
                        default.dtype(),
                        Lossy(&field)
                    ));
                }
            }
            fields += 1;
            Ok(())
        })?;
        match defaults.len() {
            n if n == fields => Ok(()),
            n => Err(invalid!("Expect {n} fields but have {fields} in record {row}")),
        }
    }

    /// Calls `each` with the selected fields. An empty record has none.
    fn fields<'r>(&self, record: &'r [u8], mut each: impl FnMut(Cow<'r, [u8]>) -> Result<()>) -> Result<()> {
        let (mut rest, mut number, mut taken) = (record, 0i64, 0usize);
        let wanted = |number: i64, taken: usize| {
            self.select.is_empty() || self.select.get(taken).is_some_and(|i| *i == number)
        };
        while let Some(first) = rest.first() {
            if matches!(first, b'\n' | b'\r') {
                rest = &rest[1..];
                continue;
            }
            let (field, after) = match rest {
                [b'"', inside @ ..] if self.quotes => self.quoted(inside)?,
                _ => self.unquoted(rest)?,
            };
            if wanted(number, taken) {
                each(field)?;
                taken += 1;
                if taken == self.select.len() {
                    return Ok(());
                }
            }
            (rest, number) = (after, number + 1);
        }
        // The last field is empty where the record ends with a delimiter.
        if record.last() == Some(&self.delimiter) && wanted(number, taken) {
            each(Cow::Borrowed(&[]))?;
        }
        Ok(())
    }

    /// A field without quotes, and what follows its delimiter.
    fn unquoted<'r>(&self, rest: &'r [u8]) -> Result<(Cow<'r, [u8]>, &'r [u8])> {
        let end = rest.iter().position(|b| *b == self.delimiter).unwrap_or(rest.len());
        let field = &rest[..end];
        if field.iter().any(|b| matches!(b, b'\n' | b'\r') || self.quotes && *b == b'"') {
            return Err(invalid!("Unquoted fields cannot have quotes/CRLFs inside"));
        }
        Ok((Cow::Borrowed(field), rest.get(end + 1..).unwrap_or_default()))
    }

    /// A field after its opening quote, and what follows the delimiter after the closing one.
    fn quoted<'r>(&self, inside: &'r [u8]) -> Result<(Cow<'r, [u8]>, &'r [u8])> {
        let (mut rest, mut unescaped) = (inside, Vec::new());
        loop {
            let Some(end) = rest.iter().position(|b| *b == b'"') else {
                return Err(invalid!("Quoted field has to end with quote followed by delim or end"));
            };
            let (field, after) = (&rest[..end], &rest[end + 1..]);
            match after {
                [b'"', later @ ..] if self.delimiter != b'"' => {
                    reserve::extend(&mut unescaped, &rest[..=end])?;
                    rest = later;
                }
                _ if after.first().is_none_or(|b| *b == self.delimiter) => {
                    let next = after.get(1..).unwrap_or_default();
                    if unescaped.is_empty() {
                        return Ok((Cow::Borrowed(field), next));
                    }
                    reserve::extend(&mut unescaped, field)?;
                    return Ok((Cow::Owned(unescaped), next));
                }
                _ => return Err(invalid!("Quote inside a string has to be escaped by another quote")),
            }
        }
    }
}

/// The values of a column.
enum Column {
    Float(Vec<f32>),
    Double(Vec<f64>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Strings(Vec<Bytes>),
}

impl Column {
    fn new(dtype: DataType, rows: usize) -> Result<Column> {
        Ok(match dtype {
            DataType::Float => Column::Float(reserve::with_capacity(rows)?),
            DataType::Double => Column::Double(reserve::with_capacity(rows)?),
            DataType::Int32 => Column::Int32(reserve::with_capacity(rows)?),
            DataType::Int64 => Column::Int64(reserve::with_capacity(rows)?),
            DataType::String => Column::Strings(reserve::with_capacity(rows)?),
            other => return Err(invalid!("csv: data type {other} not supported")),
        })
    }

    /// Whether the field is a value of the column's type. `is_part`: it lies in the record as it is.
    fn push(&mut self, record: &Bytes, field: &[u8], is_part: bool) -> Result<bool> {
        fn number<T: std::str::FromStr>(list: &mut Vec<T>, field: &[u8]) -> Result<bool> {
            match std::str::from_utf8(field).ok().and_then(|t| t.trim_ascii().parse().ok()) {
                Some(v) => reserve::push(list, v).map(|()| true),
                None => Ok(false),
            }
        }
        fn real<T: std::str::FromStr + From<f32>>(list: &mut Vec<T>, field: &[u8]) -> Result<bool> {
            match field.trim_ascii() {
                [b'0', b'x' | b'X', digits @ ..] => {
                    let digits = std::str::from_utf8(digits).unwrap_or_default();
                    match u64::from_str_radix(digits, 16) {
                        Ok(v) => reserve::push(list, T::from(v as f32)).map(|()| true),
                        Err(_) => Ok(false),
                    }
                }
                plain => number(list, plain),
            }
        }
        match self {
            Column::Float(list) => real(list, field),
            Column::Double(list) => real(list, field),
            Column::Int32(list) => number(list, field),
            Column::Int64(list) => number(list, field),
            Column::Strings(list) => {
                let text =
                    if is_part { record.slice_ref(field) } else { Bytes::from(reserve::copied(field)?) };
                reserve::push(list, text).map(|()| true)
            }
        }
    }

    fn push_default(&mut self, default: &Tensor) -> Result<()> {
        match self {
            Column::Float(list) => reserve::extend(list, default.as_slice()?),
            Column::Double(list) => reserve::extend(list, default.as_slice()?),
            Column::Int32(list) => reserve::extend(list, default.as_slice()?),
            Column::Int64(list) => reserve::extend(list, default.as_slice()?),
            Column::Strings(list) => reserve::extend(list, default.strings()?),
        }
    }

    fn append(&mut self, other: Column) -> Result<()> {
        match (self, other) {
            (Column::Float(a), Column::Float(b)) => reserve::extend(a, &b),
            (Column::Double(a), Column::Double(b)) => reserve::extend(a, &b),
            (Column::Int32(a), Column::Int32(b)) => reserve::extend(a, &b),
            (Column::Int64(a), Column::Int64(b)) => reserve::extend(a, &b),
            (Column::Strings(a), Column::Strings(b)) => reserve::extend(a, &b),
            _ => Err(internal("columns of two types")),
        }
    }

    fn into_tensor(self, shape: Shape) -> Result<Tensor> {
        match self {
            Column::Float(v) => Tensor::from_slice(shape, &v),
            Column::Double(v) => Tensor::from_slice(shape, &v),
            Column::Int32(v) => Tensor::from_slice(shape, &v),
            Column::Int64(v) => Tensor::from_slice(shape, &v),
            Column::Strings(v) => Tensor::from_objects(shape, v),
        }
    }
}
