//! Parquet files as tables: a column for each of theirs that is not nested.

use super::csv::{Record, RowReader};
use parquet::basic::Repetition;
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use parquet::record::reader::RowIter;
use parquet::schema::types::Type;
use std::fs::File;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thalweg_core::error::{Error, Result, data_loss};
use thalweg_core::{invalid, memory};
use thalweg_io::durable;

/// Whether a file is one, by its first bytes.
pub fn is_parquet(path: &Path) -> Result<bool> {
    let mut start = Vec::new();
    let file = File::open(path).map_err(|e| durable::with_path(path, e))?;
    file.take(4).read_to_end(&mut start).map_err(|e| durable::with_path(path, e))?;
    Ok(start == b"PAR1")
}

/// The rows of several files with the same columns, one file after another.
pub struct ParquetReader {
    files: Vec<PathBuf>,
    /// Of the file that is read.
    at: usize,
    rows: Option<RowIter<'static>>,
    name: String,
    names: Vec<String>,
    /// Columns of lists, maps and structs.
    pub left_out: Vec<String>,
    /// Rows so far.
    number: u64,
}

impl ParquetReader {
    pub fn open(files: &[PathBuf]) -> Result<ParquetReader> {
        let first = files.first().ok_or_else(|| invalid!("no file is named"))?;
        let more = files.len() - 1;
        let name = match more {
            0 => first.display().to_string(),
            _ => format!("{} and {more} more", first.display()),
        };
        let (names, left_out) = guarded(first, || {
            let reader = reader(first)?;
            let all = reader.metadata().file_metadata().schema().get_fields();
            let (plain, nested): (Vec<_>, Vec<_>) = all.iter().partition(|field| is_plain(field));
            let names = |fields: Vec<&Arc<Type>>| fields.iter().map(|f| f.name().to_string()).collect();
            Ok((names(plain), names(nested)))
        })?;
        let names: Vec<String> = names;
        if names.is_empty() {
            return Err(invalid!("{name} has no column that is not nested"));
        }
        Ok(ParquetReader { files: files.to_vec(), at: 0, rows: None, name, names, left_out, number: 0 })
    }

    /// The rows of a file, without nested columns.
    fn rows(&self, path: &Path) -> Result<RowIter<'static>> {
        guarded(path, || {
            let reader = reader(path)?;
            let schema = reader.metadata().file_metadata().schema();
            let plain: Vec<Arc<Type>> = schema.get_fields().iter().filter(|f| is_plain(f)).cloned().collect();
            if !plain.iter().map(|f| f.name()).eq(&self.names) {
                let names: Vec<&str> = plain.iter().map(|f| f.name()).collect();
                return Err(invalid!(
                    "{} has other columns than the first file: {}",
                    path.display(),
                    names.join(", ")
                ));
            }
            let root = Type::group_type_builder(schema.name()).with_fields(plain).build();
            let root = root.map_err(|e| damaged(path, &e))?;
            RowIter::from_file_into(Box::new(reader)).project(Some(root)).map_err(|e| damaged(path, &e))
        })
    }
}

fn is_plain(field: &Type) -> bool {
    field.is_primitive() && field.get_basic_info().repetition() != Repetition::REPEATED
}

fn reader(path: &Path) -> Result<SerializedFileReader<File>> {
    let file = File::open(path).map_err(|e| durable::with_path(path, e))?;
    let reader = SerializedFileReader::new(file).map_err(|e| damaged(path, &e))?;
    memory::check(largest(reader.metadata())).map_err(|e| e.context(path.display()))?;
    Ok(reader)
}

/// Bytes of the largest group of rows: what is in memory at once, at most.
fn largest(metadata: &ParquetMetaData) -> usize {
    let groups = metadata.row_groups().iter().map(|g| usize::try_from(g.total_byte_size()).unwrap_or(0));
    groups.max().unwrap_or(0)
}

fn damaged(path: &Path, e: &ParquetError) -> Error {
    durable::with_path(path, data_loss(format_args!("{e}")))
}

/// What the library panics at is an error of the file.
fn guarded<T>(path: &Path, f: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(f))
        .unwrap_or_else(|_| Err(durable::with_path(path, data_loss("it is damaged"))))
}

impl RowReader for ParquetReader {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn next(&mut self, record: &mut Record) -> Result<bool> {
        loop {
            let Some(path) = self.files.get(self.at).cloned() else { return Ok(false) };
            let opened = match self.rows.take() {
                Some(rows) => Ok(rows),
                None => self.rows(&path),
            };
            let found = opened.and_then(|mut rows| {
                let row = guarded(&path, || rows.next().transpose().map_err(|e| damaged(&path, &e)))?;
                Ok(row.map(|row| (row, rows)))
            });
            // Nothing can be read after what is damaged: the next file follows.
            let Some((row, rows)) = found.inspect_err(|_| self.at += 1)? else {
                self.at += 1;
                continue;
            };
            self.rows = Some(rows);
            self.number += 1;
            record.start(self.number);
            row.get_column_iter().try_for_each(|(_, value)| match value {
                Field::Null => record.push(b""),
                Field::Str(text) => record.push(text.as_bytes()),
                Field::Bytes(bytes) => record.push(bytes.data()),
                Field::Float(x) => record.push(x.to_string().as_bytes()),
                Field::Double(x) => record.push(x.to_string().as_bytes()),
                other => record.push(other.to_string().as_bytes()),
            })?;
            return Ok(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
    use parquet::schema::parser::parse_message_type;
    use thalweg_io::scratch::Scratch;

    const SCHEMA: &str = "message rows {
        optional double weight;
        required int64 number;
        optional binary kind (UTF8);
        repeated int64 list;
    }";

    fn column<T: parquet::data_type::DataType>(
        group: &mut SerializedRowGroupWriter<'_, File>,
        values: &[T::T],
        present: Option<&[i16]>,
        repeated: Option<&[i16]>,
    ) {
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<T>().write_batch(values, present, repeated).unwrap();
        column.close().unwrap();
    }

    /// Three rows: 1.5, 1, apple; nothing, 2, lemon; 2.25, 3, nothing.
    fn write(path: &Path) {
        let schema = Arc::new(parse_message_type(SCHEMA).unwrap());
        let file = File::create(path).unwrap();
        let mut writer =
            SerializedFileWriter::new(file, schema, Arc::new(WriterProperties::builder().build())).unwrap();
        let mut group = writer.next_row_group().unwrap();
        column::<DoubleType>(&mut group, &[1.5, 2.25], Some(&[1, 0, 1]), None);
        column::<Int64Type>(&mut group, &[1, 2, 3], None, None);
        let words = [ByteArray::from("apple"), ByteArray::from("lemon")];
        column::<ByteArrayType>(&mut group, &words, Some(&[1, 1, 0]), None);
        column::<Int64Type>(&mut group, &[7, 8, 9], Some(&[1, 1, 1]), Some(&[0, 0, 0]));
        group.close().unwrap();
        writer.close().unwrap();
    }

    fn all(files: &[PathBuf]) -> Result<Vec<String>> {
        let mut reader = ParquetReader::open(files)?;
        let (mut record, mut found) = (Record::default(), Vec::new());
        while reader.next(&mut record)? {
            let fields: Vec<_> = record.fields().map(String::from_utf8_lossy).collect();
            found.push(fields.join("|"));
        }
        Ok(found)
    }

    #[test]
    fn rows_are_read_without_nested_columns() {
        let dir = Scratch::new();
        let path = dir.path("rows.parquet");
        write(&path);
        assert!(is_parquet(&path).unwrap());
        let reader = ParquetReader::open(std::slice::from_ref(&path)).unwrap();
        assert_eq!(
            (reader.names(), &reader.left_out[..]),
            (&["weight", "number", "kind"].map(String::from)[..], &["list".to_string()][..])
        );
        let rows = ["1.5|1|apple", "|2|lemon", "2.25|3|"];
        assert_eq!(all(&[path.clone(), path]).unwrap(), [rows, rows].concat());
    }

    #[test]
    fn a_damaged_file_is_an_error() {
        let dir = Scratch::new();
        let path = dir.path("rows.parquet");
        write(&path);
        let whole = std::fs::read(&path).unwrap();
        for cut in 0..whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            assert!(all(&[path.clone()]).is_err(), "{cut}");
        }
        // Reading goes on after it, and ends.
        let whole_file = dir.path("whole.parquet");
        std::fs::write(&whole_file, &whole).unwrap();
        let mut reader = ParquetReader::open(&[whole_file.clone(), path.clone(), whole_file]).unwrap();
        let read: Vec<bool> =
            (0..8).map(|_| reader.next(&mut Record::default()).is_ok_and(|more| more)).collect();
        assert_eq!(read, [true, true, true, false, true, true, true, false]);
        // No byte may end the process; some change nothing that is checked.
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0xff;
            std::fs::write(&path, bytes).unwrap();
            let _ = all(&[path.clone()]);
        }
    }
}
