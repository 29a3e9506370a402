//! `DataType`: the element types of tensors, with TensorFlow's numbers and names, and `Element`,
//! the corresponding Rust types.

use std::fmt;

pub use half::{bf16, f16};
pub use num_complex::{Complex32, Complex64 as ComplexDouble};

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum DataType {
    Float = 1,
    Double = 2,
    Int32 = 3,
    Uint8 = 4,
    Int16 = 5,
    Int8 = 6,
    String = 7,
    Complex64 = 8,
    Int64 = 9,
    Bool = 10,
    Qint8 = 11,
    Quint8 = 12,
    Qint32 = 13,
    Bfloat16 = 14,
    Qint16 = 15,
    Quint16 = 16,
    Uint16 = 17,
    Complex128 = 18,
    Half = 19,
    Resource = 20,
    Variant = 21,
    Uint32 = 22,
    Uint64 = 23,
    Float8E5m2 = 24,
    Float8E4m3fn = 25,
    Float8E4m3fnuz = 26,
    Float8E4m3b11fnuz = 27,
    Float8E5m2fnuz = 28,
    Int4 = 29,
    Uint4 = 30,
    Int2 = 31,
    Uint2 = 32,
    Float4E2m1fn = 33,
}

use DataType::*;

/// Every type with its TensorFlow name and the size of an element in bytes (0: not plain bytes).
const TABLE: [(DataType, &str, usize); 33] = [
    (Float, "float", 4),
    (Double, "double", 8),
    (Int32, "int32", 4),
    (Uint8, "uint8", 1),
    (Int16, "int16", 2),
    (Int8, "int8", 1),
    (String, "string", 0),
    (Complex64, "complex64", 8),
    (Int64, "int64", 8),
    (Bool, "bool", 1),
    (Qint8, "qint8", 1),
    (Quint8, "quint8", 1),
    (Qint32, "qint32", 4),
    (Bfloat16, "bfloat16", 2),
    (Qint16, "qint16", 2),
    (Quint16, "quint16", 2),
    (Uint16, "uint16", 2),
    (Complex128, "complex128", 16),
    (Half, "half", 2),
    (Resource, "resource", 0),
    (Variant, "variant", 0),
    (Uint32, "uint32", 4),
    (Uint64, "uint64", 8),
    (Float8E5m2, "float8_e5m2", 1),
    (Float8E4m3fn, "float8_e4m3fn", 1),
    (Float8E4m3fnuz, "float8_e4m3fnuz", 1),
    (Float8E4m3b11fnuz, "float8_e4m3b11fnuz", 1),
    (Float8E5m2fnuz, "float8_e5m2fnuz", 1),
    // Types of less than a byte have one byte for each element, as in TensorFlow's memory, messages and checkpoints.
    (Int4, "int4", 1),
    (Uint4, "uint4", 1),
    (Int2, "int2", 1),
    (Uint2, "uint2", 1),
    (Float4E2m1fn, "float4_e2m1fn", 1),
];

impl DataType {
    /// All types, in wire order.
    pub fn all() -> impl Iterator<Item = DataType> {
        TABLE.iter().map(|row| row.0)
    }

    fn row(self) -> &'static (DataType, &'static str, usize) {
        &TABLE[self as usize - 1]
    }

    /// The type with this wire number; reference types (number + 100) and unknown ones are `None`.
    pub fn from_wire(n: i32) -> Option<DataType> {
        usize::try_from(n).ok().and_then(|n| n.checked_sub(1)).and_then(|i| TABLE.get(i)).map(|row| row.0)
    }

    pub fn wire(self) -> i32 {
        self as i32
    }

    /// The name in signatures and error texts: `float`, `int32`, `half`.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// The name that Python prints: `float32`, `float64`, `float16`.
    pub fn python_name(self) -> &'static str {
        match self {
            Float => "float32",
            Double => "float64",
            Half => "float16",
            other => other.name(),
        }
    }

    /// Accepts signature names, Python names and enum names (`DT_FLOAT`).
    pub fn from_name(name: &str) -> Option<DataType> {
        let lower = name.strip_prefix("DT_").map(str::to_ascii_lowercase);
        let name = lower.as_deref().unwrap_or(name);
        TABLE.iter().map(|row| row.0).find(|t| t.name() == name || t.python_name() == name)
    }

    /// Bytes of one element, 0 for strings, resources and variants.
    pub fn size(self) -> usize {
        self.row().2
    }

    /// Whether elements are plain bytes that can be copied and sent as they are.
    pub fn is_plain(self) -> bool {
        self.size() > 0
    }

    pub fn is_float(self) -> bool {
        matches!(self, Float | Double | Half | Bfloat16)
    }

    pub fn is_complex(self) -> bool {
        matches!(self, Complex64 | Complex128)
    }

    pub fn is_integer(self) -> bool {
        matches!(self, Int8 | Int16 | Int32 | Int64 | Uint8 | Uint16 | Uint32 | Uint64)
    }

    /// The bits of an integer type of less than a byte. They are the low bits of its byte.
    pub fn narrow_bits(self) -> Option<u32> {
        match self {
            Int4 | Uint4 => Some(4),
            Int2 | Uint2 => Some(2),
            _ => None,
        }
    }

    pub fn is_quantized(self) -> bool {
        matches!(self, Qint8 | Quint8 | Qint16 | Quint16 | Qint32)
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A Rust type whose values are a tensor's plain elements.
///
/// # Safety
/// The type must be valid for every byte pattern a tensor of `DTYPE` may hold, have no padding and no
/// drop glue, need at most 64-byte alignment, and be `DTYPE.size()` bytes. Tensors keep the bytes of `bool`
/// at 0 or 1: constructors from foreign bytes normalise them.
pub unsafe trait Element: Copy + Send + Sync + Default + PartialEq + fmt::Debug + 'static {
    const DTYPE: DataType;
}

macro_rules! elements {
    ($($t:ty => $d:ident),*) => { $(
        // SAFETY: a plain number (or bool, normalised on entry) of the stated size.
        unsafe impl Element for $t { const DTYPE: DataType = DataType::$d; }
    )* };
}
elements!(f32 => Float, f64 => Double, i32 => Int32, u8 => Uint8, i16 => Int16, i8 => Int8, i64 => Int64, bool => Bool,
    u16 => Uint16, u32 => Uint32, u64 => Uint64, f16 => Half, bf16 => Bfloat16, Complex32 => Complex64, num_complex::Complex64 => Complex128);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_wire_order_and_sizes_are_right() {
        for t in DataType::all() {
            assert_eq!(DataType::from_wire(t.wire()), Some(t));
            assert_eq!(DataType::from_name(t.name()), Some(t));
            assert_eq!(DataType::from_name(t.python_name()), Some(t));
        }
        assert_eq!(DataType::from_wire(101), None);
        assert_eq!(DataType::from_wire(0), None);
        assert_eq!(DataType::from_wire(-1), None);
        assert_eq!(DataType::from_name("DT_HALF"), Some(Half));
        assert_eq!(Complex128.size(), std::mem::size_of::<num_complex::Complex64>());
    }
}
