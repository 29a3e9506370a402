//! A CSV file as a matrix: a row for each line, without the line of headings.

use super::literal::Literal;
use std::path::Path;
use thalweg_core::dtype::DataType;
use thalweg_core::error::{Result, data_loss};
use thalweg_core::invalid;
use thalweg_core::reserve;
use thalweg_core::shape::PartialShape;
use thalweg_core::tensor::Tensor;
use thalweg_io::{bounded_read, durable};

/// The cells of a file as a tensor; for an input of rank 1 as a vector, if it has one column.
pub fn read(path: &Path, dtype: DataType, shape: &PartialShape) -> Result<Tensor> {
    let bytes = bounded_read::read(path)?;
    parse(&bytes, dtype, shape).map_err(|e| durable::with_path(path, e))
}

fn parse(bytes: &[u8], dtype: DataType, shape: &PartialShape) -> Result<Tensor> {
    let text = std::str::from_utf8(bytes).map_err(|e| data_loss(format_args!("not UTF-8 text: {e}")))?;
    let mut rows = rows(text)?;
    let is_number = |cell: &String| dtype == DataType::String || cell.trim().parse::<f64>().is_ok();
    let headings = rows.first().is_some_and(|row| !row.iter().any(is_number));
    if headings {
        rows.remove(0);
    }
    let columns = rows.first().map_or(0, Vec::len);
    if let Some(i) = rows.iter().position(|row| row.len() != columns) {
        let found = rows.get(i).map_or(0, Vec::len);
        return Err(invalid!("row {} has {found} cells, the first has {columns}", i + 1));
    }
    let cell = |text: String| match dtype {
        DataType::String => Literal::Text(text.into_bytes()),
        DataType::Bool => Literal::Bool(matches!(text.trim(), "1" | "true" | "True" | "TRUE")),
        _ => Literal::Number(text.trim().to_string()),
    };
    let flat = shape.rank() == Some(1) && columns == 1;
    let row = |row: Vec<String>| {
        let mut cells: Vec<Literal> = row.into_iter().map(cell).collect();
        if flat { cells.pop().unwrap_or(Literal::List(Vec::new())) } else { Literal::List(cells) }
    };
    Literal::List(rows.into_iter().map(row).collect()).to_tensor(dtype)
}

/// The cells of each line. A quoted cell may hold commas, line ends, and doubled quotes.
fn rows(text: &str) -> Result<Vec<Vec<String>>> {
    let (mut rows, mut row, mut cell, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                cell.push('"');
            }
            '"' if quoted || cell.is_empty() => quoted = !quoted,
            c if quoted => cell.push(c),
            ',' => reserve::push(&mut row, std::mem::take(&mut cell))?,
            '\r' if chars.peek() == Some(&'\n') => {}
            '\n' => {
                end_row(&mut rows, &mut row, &mut cell)?;
            }
            c => cell.push(c),
        }
    }
    if quoted {
        return Err(data_loss("a quote is not closed"));
    }
    end_row(&mut rows, &mut row, &mut cell)?;
    Ok(rows)
}

/// Empty lines are no rows.
fn end_row(rows: &mut Vec<Vec<String>>, row: &mut Vec<String>, cell: &mut String) -> Result<()> {
    if row.is_empty() && cell.is_empty() {
        return Ok(());
    }
    reserve::push(row, std::mem::take(cell))?;
    reserve::push(rows, std::mem::take(row))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_with_or_without_headings() {
        for text in ["a,b\n1,2\n3,4\n", "1,2\r\n3,4", "\"a,\nb\",c\n1,\"2\"\n\n3,4\n"] {
            let t = parse(text.as_bytes(), DataType::Float, &PartialShape::unknown()).unwrap();
            assert_eq!(
                (t.shape().dims(), t.as_slice::<f32>().unwrap()),
                (&[2, 2][..], &[1f32, 2.0, 3.0, 4.0][..])
            );
        }
        let t = parse(b"7\n8\n", DataType::Int64, &PartialShape::vector(-1)).unwrap();
        assert_eq!(t.shape().dims(), &[2]);
        let t = parse(b"a b,\"say \"\"hi\"\"\"\n", DataType::String, &PartialShape::unknown()).unwrap();
        assert_eq!(&t.strings().unwrap()[1][..], b"say \"hi\"");
        assert!(parse(b"1,2\n3\n", DataType::Float, &PartialShape::unknown()).is_err());
        assert!(parse(b"1,x\n", DataType::Float, &PartialShape::unknown()).is_err());
    }
}
