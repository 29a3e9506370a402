//! Type descriptors: `<f4`, `|b1`, `>c16`, `|S5`.

use thalweg_core::dtype::DataType::{
    self, Bfloat16, Bool, Complex64, Complex128, Double, Float, Half, Int8, Int16, Int32, Int64, Qint8,
    Qint16, Qint32, Quint8, Quint16, Uint8, Uint16, Uint32, Uint64,
};
use thalweg_core::error::Result;
use thalweg_core::invalid;

pub struct Descr {
    pub kind: Kind,
    /// Bytes of one element.
    pub size: usize,
    /// The byte order is not the machine's.
    pub swapped: bool,
}

pub enum Kind {
    Plain(DataType),
    /// Byte strings, padded with zeros.
    Bytes,
    /// Characters of four bytes, padded with zeros.
    Text,
}

/// DataTypes and numpy's type codes, without byte order. The first row of a type is the one written.
const TABLE: [(DataType, &str); 21] = [
    (Float, "f4"),
    (Double, "f8"),
    (Half, "f2"),
    (Bfloat16, "V2"),
    (Int8, "i1"),
    (Int16, "i2"),
    (Int32, "i4"),
    (Int64, "i8"),
    (Uint8, "u1"),
    (Uint16, "u2"),
    (Uint32, "u4"),
    (Uint64, "u8"),
    (Bool, "b1"),
    (Complex64, "c8"),
    (Complex128, "c16"),
    (Bool, "?"),
    (Qint8, "i1"),
    (Quint8, "u1"),
    (Qint16, "i2"),
    (Quint16, "u2"),
    (Qint32, "i4"),
];

const NATIVE: char = if cfg!(target_endian = "little") { '<' } else { '>' };

/// The descriptor of a DataType; those of strings depend on the width.
pub fn of(dtype: DataType) -> Result<String> {
    let row = TABLE.iter().find(|row| row.0 == dtype);
    let (_, code) = row.ok_or_else(|| invalid!("a {dtype} tensor cannot be kept in an .npy file"))?;
    let order = if dtype.size() == 1 { '|' } else { NATIVE };
    Ok(format!("{order}{code}"))
}

impl Descr {
    pub fn parse(text: &str) -> Result<Descr> {
        let unknown = || invalid!("elements of numpy type '{}' have no tensor type", text.escape_debug());
        let (order, code) = match text.chars().next() {
            Some(c @ ('<' | '>' | '|' | '=')) => (c, &text[1..]),
            _ => ('=', text),
        };
        let swapped = matches!(order, '<' | '>') && order != NATIVE;
        if code == "O" {
            return Err(invalid!("the file holds pickled Python objects, which are not read"));
        }
        if let Some(width) = code.strip_prefix(['S', 'a', 'U']) {
            let width: usize = width.parse().map_err(|_| unknown())?;
            let (kind, unit) = if code.starts_with('U') { (Kind::Text, 4) } else { (Kind::Bytes, 1) };
            let size = width.checked_mul(unit).filter(|size| *size > 0);
            let size = size.ok_or_else(|| invalid!("strings of width {width} cannot be read"))?;
            return Ok(Descr { kind, size, swapped });
        }
        let row = TABLE.iter().find(|row| row.1 == code).ok_or_else(unknown)?;
        Ok(Descr { kind: Kind::Plain(row.0), size: row.0.size(), swapped })
    }
}
