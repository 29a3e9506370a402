//! `InitializeTableV2`, `InitializeTableFromTextFileV2`: filling a fixed table.

use super::table::Table;
use crate::named::resource_input;
use crate::prelude::*;
use bytes::Bytes;
use thalweg_core::reserve::push;

pub static INITIALIZE_TABLE_V2: Op = Op {
    name: "InitializeTableV2",
    doc: "Fills a table from vectors of keys and values; no effect if it is initialized.",
    inputs: &["table_handle: resource", "keys: Tkey", "values: Tval"],
    attrs: &["Tkey: type", "Tval: type"],
    shape: |c| {
        let (keys, values) = (c.rank(1, 1)?, c.rank(2, 1)?);
        keys.merge(&values)?;
        Ok(vec![])
    },
    kernels: cpu!(from_tensors),
    ..Op::STATEFUL
};

fn from_tensors(c: &mut OpCall<'_>) -> Result<()> {
    let (table, keys) = (resource_input::<Table>(c)?, c.input(1)?);
    if keys.rank() != 1 {
        return Err(invalid!("Keys must be a vector, but received shape {}", keys.shape()));
    }
    if keys.elements() == 0 {
        return Err(invalid!("keys and values cannot be empty tensors."));
    }
    table.initialize(keys, c.input(2)?)
}

pub static INITIALIZE_TABLE_FROM_TEXT_FILE_V2: Op = Op {
    name: "InitializeTableFromTextFileV2",
    doc: "Fills a table from the lines of a text file: whole lines (-2), line numbers (-1) or columns as keys and values.",
    inputs: &["table_handle: resource", "filename: string"],
    attrs: &[
        "key_index: int >= -2",
        "value_index: int >= -2",
        "vocab_size: int >= -1 = -1",
        "delimiter: string = '\t'",
        "offset: int = 0",
    ],
    shape: |c| {
        c.scalar(1)?;
        Ok(vec![])
    },
    kernels: cpu!(make from_file),
    ..Op::STATEFUL
};

/// How lines of a file are parsed to entries.
struct Lines {
    key_index: i64,
    value_index: i64,
    /// How many lines there must be; negative for any number.
    vocab_size: i64,
    delimiter: u8,
    offset: usize,
}

fn from_file(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let attrs = &node.attrs;
    let delimiter = match attrs.bytes("delimiter")?[..] {
        [one] => one,
        _ => return Err(invalid!("delimiter should be only 1 char")),
    };
    let offset = attrs.int("offset")?;
    let lines = Lines {
        key_index: attrs.int("key_index")?,
        value_index: attrs.int("value_index")?,
        vocab_size: attrs.int("vocab_size")?,
        delimiter,
        offset: usize::try_from(offset).map_err(|_| invalid!("offset must be >= 0, got {offset}"))?,
    };
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let table = resource_input::<Table>(c)?;
        let path = match c.input(1)?.strings()? {
            [one] => String::from_utf8_lossy(one).into_owned(),
            _ => return Err(invalid!("filename should be a single string, but got {}", c.shape(1)?)),
        };
        if table.is_initialized() {
            return Ok(());
        }
        let text = crate::files::read(&c.step.device.access, path.as_ref())?;
        let (keys, values) = lines.entries(&path, &text, table.key, table.value)?;
        table.initialize(&keys, &values)
    }))
}

impl Lines {
    fn entries(&self, path: &str, text: &[u8], key: DataType, value: DataType) -> Result<(Tensor, Tensor)> {
        self.check("Key", self.key_index, key)?;
        self.check("Value", self.value_index, value)?;
        let (mut keys, mut values) = (Column::new(key), Column::new(value));
        let text = text.strip_suffix(b"\n").unwrap_or(text);
        let limit = usize::try_from(self.vocab_size).unwrap_or(usize::MAX);
        let mut n = 0;
        for line in text.split(|b| *b == b'\n').skip(self.offset).take(limit) {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.is_empty() {
                return Err(invalid!("Invalid content in {path}: empty line found at line {n}."));
            }
            keys.add(self.field(line, self.key_index, n)?, n)?;
            values.add(self.field(line, self.value_index, n)?, n)?;
            n += 1;
        }
        if self.vocab_size >= 0 && n < limit {
            return Err(invalid!("Invalid vocab_size in {path}: expected {} but got {n}", self.vocab_size));
        }
        Ok((keys.finish()?, values.finish()?))
    }

    fn check(&self, what: &str, index: i64, dtype: DataType) -> Result<()> {
        match index {
            -1 if dtype != DataType::Int64 => Err(invalid!(
                "{what} index for line number requires table {what} dtype of int64, got {dtype}"
            )),
            -2 if !(dtype == DataType::String || dtype.is_integer()) => {
                Err(invalid!("{what} index for whole line requires a string or integer dtype, got {dtype}"))
            }
            _ => Ok(()),
        }
    }

    fn field<'a>(&self, line: &'a [u8], index: i64, number: usize) -> Result<Field<'a>> {
        match index {
            -1 => Ok(Field::Number(number as i64)),
            -2 => Ok(Field::Text(line)),
            i => {
                let column = line.split(|b| *b == self.delimiter).nth(i as usize);
                column.map(Field::Text).ok_or_else(|| {
                    invalid!(
                        "Invalid number of columns in line {number} ({}): expected at least {}",
                        Lossy(line),
                        i + 1
                    )
                })
            }
        }
    }
}

/// A number as text, with space around it or not.
fn number<N: std::str::FromStr>(text: &[u8]) -> Option<N> {
    std::str::from_utf8(text).ok()?.trim().parse().ok()
}

enum Field<'a> {
    Number(i64),
    Text(&'a [u8]),
}

/// Keys or values as they are read.
enum Column {
    Strings(Vec<Bytes>),
    Ints(Vec<i64>, DataType),
    Floats(Vec<f64>, DataType),
}

impl Column {
    fn new(dtype: DataType) -> Column {
        match dtype {
            DataType::String => Column::Strings(vec![]),
            DataType::Float | DataType::Double => Column::Floats(vec![], dtype),
            other => Column::Ints(vec![], other),
        }
    }

    fn add(&mut self, field: Field<'_>, line: usize) -> Result<()> {
        let wrong = |dtype: DataType, text: &[u8]| {
            invalid!("Field {} in line {line} is not a valid {dtype}.", Lossy(text))
        };
        match (self, field) {
            (Column::Strings(v), Field::Text(t)) => push(v, Bytes::from(reserve::copied(t)?))?,
            (Column::Strings(v), Field::Number(n)) => push(v, Bytes::from(n.to_string()))?,
            (Column::Ints(v, _), Field::Number(n)) => push(v, n)?,
            (Column::Floats(v, _), Field::Number(n)) => push(v, n as f64)?,
            (Column::Ints(v, dtype), Field::Text(t)) => {
                let value = number(t).ok_or_else(|| wrong(*dtype, t))?;
                push(v, value)?;
            }
            (Column::Floats(v, dtype), Field::Text(t)) => {
                let value = number(t).ok_or_else(|| wrong(*dtype, t))?;
                push(v, value)?;
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<Tensor> {
        match self {
            Column::Strings(v) => Tensor::from_objects(Shape::vector(v.len()), v),
            Column::Ints(v, DataType::Int64) => Tensor::vector(&v),
            Column::Ints(v, DataType::Int32) => crate::convert::int_tensor(DataType::Int32, &v),
            Column::Floats(v, DataType::Double) => Tensor::vector(&v),
            Column::Floats(v, _) => Tensor::vector(&reserve::collect(v.iter().map(|x| *x as f32))?),
            Column::Ints(_, other) => Err(unimplemented(format_args!("text files for tables of {other}"))),
        }
    }
}
