//! CSV files, one record at a time: quoted fields, line numbers, bounded memory.

use crate::looks;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use thalweg_core::error::{Error, Result};
use thalweg_core::{invalid, reserve};
use thalweg_io::durable;

/// The format of a file.
#[derive(Clone, Copy, Debug)]
pub struct CsvFormat {
    /// Found in the first line if it is not given.
    pub delimiter: Option<u8>,
    /// Whether the first line has the names of the columns.
    pub header: bool,
}

/// A longer record is a mistake: a quote that is never closed takes the rest of the file.
const LONGEST_RECORD: usize = 16 << 20;

/// The fields of a record.
#[derive(Default)]
pub struct Record {
    bytes: Vec<u8>,
    /// Where each field ends.
    ends: Vec<usize>,
    /// The line it begins in, from 1.
    pub line: u64,
}

impl Record {
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// A field; empty if there is none.
    pub fn field(&self, i: usize) -> &[u8] {
        let start = i.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied());
        let range = start.zip(self.ends.get(i).copied());
        range.and_then(|(start, end)| self.bytes.get(start..end)).unwrap_or_default()
    }

    pub fn fields(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|i| self.field(i))
    }

    /// Begins a record that is read elsewhere.
    pub fn start(&mut self, line: u64) {
        self.clear();
        self.line = line;
    }

    /// Adds a field.
    pub fn push(&mut self, field: &[u8]) -> Result<()> {
        reserve::extend(&mut self.bytes, field)?;
        end_field(self)
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// An empty line.
    fn is_blank(&self) -> bool {
        self.bytes.is_empty() && self.ends.len() == 1
    }
}

/// The rows of a table, one after another.
pub trait RowReader {
    /// The names of the columns.
    fn names(&self) -> &[String];

    /// The name of the file.
    fn name(&self) -> &str;

    /// The next row; false at the end. A row that cannot be used is an error, after which reading goes on.
    fn next(&mut self, record: &mut Record) -> Result<bool>;

    /// Between the fields of what is written in the same form.
    fn delimiter(&self) -> u8 {
        b','
    }
}

/// Reads records, each with as many fields as the first.
pub struct CsvReader<R = BufReader<File>> {
    input: R,
    name: String,
    delimiter: u8,
    /// The line of the next byte.
    line: u64,
    names: Vec<String>,
    /// The first record, if it is no header.
    pending: Option<Record>,
}

impl CsvReader {
    pub fn open(path: &Path, format: CsvFormat) -> Result<CsvReader> {
        if path.is_dir() {
            return Err(invalid!("{}: it is a folder; name a file", path.display()));
        }
        let file = File::open(path).map_err(|e| durable::with_path(path, e))?;
        CsvReader::new(BufReader::with_capacity(1 << 16, file), path.display().to_string(), format)
    }
}

/// What a byte means depends on what came before it.
#[derive(PartialEq)]
enum State {
    FieldStart,
    Plain,
    Quoted,
    /// After a quote in a quoted field: the end of the field, or half of an escaped quote.
    QuoteInQuoted,
}

/// An error if a file begins with bytes that no text has.
fn check_text(start: &[u8], name: &str) -> Result<()> {
    if start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff") {
        return Err(invalid!("{name}: it is UTF-16 text; save it as UTF-8"));
    }
    let few = start.get(..looks::START as usize).unwrap_or(start);
    if !few.iter().any(|b| b.is_ascii_control() && !b"\t\n\r\x0b\x0c".contains(b)) {
        return Ok(());
    }
    let e = invalid!("{name}: it is no CSV file: it has bytes that no text has");
    Err(match looks::like(few, Path::new(name).extension().and_then(|e| e.to_str())) {
        Some(like) => e.hint(format_args!("it looks like {like}")),
        None => e,
    })
}

impl<R: BufRead> CsvReader<R> {
    pub fn new(mut input: R, name: String, format: CsvFormat) -> Result<CsvReader<R>> {
        let start = input.fill_buf().map_err(|e| durable::with_path(&PathBuf::from(&name), e))?;
        check_text(start, &name)?;
        let skipped = if start.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
        input.consume(skipped);
        let mut reader =
            CsvReader { input, name, delimiter: b',', line: 1, names: Vec::new(), pending: None };
        reader.delimiter = match format.delimiter {
            Some(delimiter) => delimiter,
            None => reader.detect()?,
        };
        let mut first = Record::default();
        if !reader.next_record(&mut first)? {
            return Err(invalid!("{} is empty: it has no rows", reader.name));
        }
        if format.header {
            reader.names = first.fields().map(text).collect();
            reader.check_names()?;
        } else {
            reader.names = (1..=first.len()).map(|i| format!("column{i}")).collect();
            reader.pending = Some(first);
        }
        Ok(reader)
    }

    /// The delimiter that the first line has most of.
    fn detect(&mut self) -> Result<u8> {
        let start = self.input.fill_buf().map_err(|e| durable::with_path(&PathBuf::from(&self.name), e))?;
        let line = start.split(|b| *b == b'\n').next().unwrap_or_default();
        let count = |d: u8| line.iter().filter(|b| **b == d).count();
        let most = b",;\t|".iter().copied().rev().max_by_key(|d| count(*d));
        Ok(most.filter(|d| count(*d) > 0).unwrap_or(b','))
    }

    fn check_names(&self) -> Result<()> {
        let mut sorted: Vec<&str> = self.names.iter().map(String::as_str).collect();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair.first() == pair.last()) {
            let name = pair.first().copied().unwrap_or_default();
            return Err(invalid!("{}: two columns have the name '{name}'; rename one", self.name));
        }
        if self.names.iter().all(|n| n.parse::<f64>().is_ok()) {
            return Err(invalid!(
                "{}: the first line has numbers instead of names; say --no-header if it is a row of data",
                self.name
            ));
        }
        Ok(())
    }

    fn wrong(&self, line: u64, what: &str) -> Error {
        invalid!("{}, line {line}: {what}", self.name)
    }

    fn next_record(&mut self, record: &mut Record) -> Result<bool> {
        record.clear();
        record.line = self.line;
        let mut state = State::FieldStart;
        let mut any = false;
        loop {
            let chunk = match self.input.fill_buf() {
                Ok(chunk) => chunk,
                Err(e) => return Err(durable::with_path(&PathBuf::from(&self.name), e)),
            };
            if chunk.is_empty() {
                return self.at_end(record, state, any);
            }
            any = true;
            let mut used = 0;
            let mut ended = false;
            for byte in chunk.iter().copied() {
                used += 1;
                self.line += u64::from(byte == b'\n');
                if take(record, &mut state, byte, self.delimiter)? {
                    ended = true;
                    break;
                }
            }
            self.input.consume(used);
            if ended {
                return Ok(true);
            }
            if record.bytes.len() > LONGEST_RECORD {
                let what = "a row of more than 16 MiB; is a quote not closed?";
                return Err(self.wrong(record.line, what));
            }
        }
    }

    /// The last record may lack its line break.
    fn at_end(&self, record: &mut Record, state: State, any: bool) -> Result<bool> {
        if state == State::Quoted {
            return Err(self.wrong(record.line, "a quoted field is not closed before the end of the file"));
        }
        if any {
            end_field(record)?;
            without_return(record);
        }
        Ok(any)
    }
}

impl<R: BufRead> RowReader for CsvReader<R> {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn delimiter(&self) -> u8 {
        self.delimiter
    }

    /// A row with another number of fields is an error.
    fn next(&mut self, record: &mut Record) -> Result<bool> {
        if let Some(first) = self.pending.take() {
            *record = first;
        } else {
            loop {
                if !self.next_record(record)? {
                    return Ok(false);
                }
                if !(record.is_blank() && self.names.len() > 1) {
                    break;
                }
            }
        }
        if record.len() != self.names.len() {
            let (got, needed) = (record.len(), self.names.len());
            return Err(self.wrong(record.line, &format!("{got} fields, but the first line has {needed}")));
        }
        Ok(true)
    }
}

/// Takes a byte of a record; true at its end.
fn take(record: &mut Record, state: &mut State, byte: u8, delimiter: u8) -> Result<bool> {
    match state {
        State::Quoted if byte == b'"' => *state = State::QuoteInQuoted,
        State::Quoted => reserve::push(&mut record.bytes, byte)?,
        State::FieldStart if byte == b'"' => *state = State::Quoted,
        State::QuoteInQuoted if byte == b'"' => {
            reserve::push(&mut record.bytes, byte)?;
            *state = State::Quoted;
        }
        _ if byte == delimiter => {
            end_field(record)?;
            *state = State::FieldStart;
        }
        _ if byte == b'\n' => {
            end_field(record)?;
            without_return(record);
            return Ok(true);
        }
        _ => {
            reserve::push(&mut record.bytes, byte)?;
            *state = State::Plain;
        }
    }
    Ok(false)
}

fn end_field(record: &mut Record) -> Result<()> {
    reserve::push(&mut record.ends, record.bytes.len())
}

/// Lines may end in CR LF.
fn without_return(record: &mut Record) {
    let starts_last = record.ends.len().checked_sub(2).and_then(|i| record.ends.get(i).copied()).unwrap_or(0);
    if record.bytes.len() > starts_last && record.bytes.last() == Some(&b'\r') {
        record.bytes.pop();
        if let Some(end) = record.ends.last_mut() {
            *end = record.bytes.len();
        }
    }
}

/// A field as text, without white space around it.
pub fn text(field: &[u8]) -> String {
    String::from_utf8_lossy(field).trim().to_string()
}

/// Writes records, with quotes where they are needed.
pub struct CsvWriter {
    delimiter: u8,
    pub bytes: Vec<u8>,
    is_first: bool,
}

impl CsvWriter {
    pub fn new(delimiter: u8) -> CsvWriter {
        CsvWriter { delimiter, bytes: Vec::new(), is_first: true }
    }

    pub fn field(&mut self, field: &[u8]) -> Result<()> {
        if !self.is_first {
            reserve::push(&mut self.bytes, self.delimiter)?;
        }
        self.is_first = false;
        let special = |b: &u8| *b == self.delimiter || b"\"\r\n".contains(b);
        if !field.iter().any(special) {
            return reserve::extend(&mut self.bytes, field);
        }
        reserve::push(&mut self.bytes, b'"')?;
        for byte in field {
            if *byte == b'"' {
                reserve::push(&mut self.bytes, b'"')?;
            }
            reserve::push(&mut self.bytes, *byte)?;
        }
        reserve::push(&mut self.bytes, b'"')
    }

    pub fn end_row(&mut self) -> Result<()> {
        self.is_first = true;
        reserve::push(&mut self.bytes, b'\n')
    }
}

/// A reader of text in memory, for tests.
#[cfg(test)]
pub fn of_text(text: &str) -> Result<CsvReader<BufReader<&[u8]>>> {
    let format = CsvFormat { delimiter: None, header: true };
    CsvReader::new(BufReader::with_capacity(3, text.as_bytes()), "data.csv".into(), format)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(input: &str) -> Result<Vec<(u64, Vec<String>)>> {
        let mut reader = of_text(input)?;
        let (mut record, mut rows) = (Record::default(), Vec::new());
        while reader.next(&mut record)? {
            rows.push((record.line, record.fields().map(text).collect()));
        }
        Ok(rows)
    }

    #[test]
    fn quotes_line_breaks_and_line_numbers() {
        let found = rows("\u{feff}a,b\r\n1,\"x, \"\"y\"\"\nz\"\r\n\r\n\"\",q").unwrap();
        let expected =
            [(2, vec!["1".to_string(), "x, \"y\"\nz".into()]), (5, vec![String::new(), "q".into()])];
        assert_eq!(found, expected);
        assert_eq!(rows("a;b;c\n1;2,5;3\n").unwrap()[0].1, ["1", "2,5", "3"]);
        assert_eq!(rows("a\tb\n1\t2\n").unwrap()[0].1, ["1", "2"]);
    }

    #[test]
    fn bad_rows_are_told_with_their_line() {
        let message = |text: &str| rows(text).unwrap_err().message().to_string();
        assert_eq!(message("a,b\n1,2\n1,2,3\n"), "data.csv, line 3: 3 fields, but the first line has 2");
        let open = message("a,b\n1,2\n\"1,2\n");
        assert_eq!(open, "data.csv, line 3: a quoted field is not closed before the end of the file");
        assert!(message("").contains("is empty"));
        assert!(message("a,a\n1,2\n").contains("two columns have the name 'a'"));
        assert!(message("1,2\n3,4\n").contains("--no-header"));
    }

    #[test]
    fn what_is_written_is_read_back() {
        let fields = ["plain", "a,b", "say \"hi\"", "two\nlines", ""];
        let mut out = CsvWriter::new(b',');
        for row in [["a", "b", "c", "d", "e"], fields] {
            row.iter().try_for_each(|f| out.field(f.as_bytes())).unwrap();
            out.end_row().unwrap();
        }
        assert_eq!(rows(&String::from_utf8(out.bytes).unwrap()).unwrap()[0].1, fields);
    }
}
