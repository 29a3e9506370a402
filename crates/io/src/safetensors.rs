//! Safetensors files: a JSON header with the type, shape and place of each tensor, then their bytes.
//!
//! ```text
//! 8 bytes              length of the header, little-endian
//! {"w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, "__metadata__": {"made": "by"}}
//! bytes of the tensors, offsets counted from here
//! ```

use crate::{bounded_read, durable};
use serde_json::{Map, Value, json};
use std::path::Path;
use thalweg_core::dtype::DataType;
use thalweg_core::error::{Result, data_loss, unimplemented};
use thalweg_core::invalid;
use thalweg_core::memory;
use thalweg_core::reserve;
use thalweg_core::shape::Shape;
use thalweg_core::tensor::Tensor;

/// The longest header that the reference implementation reads.
const MAX_HEADER: u64 = 100_000_000;

/// Bytes that a parsed header may take for each of its own.
const PARSED_PER_BYTE: usize = 40;

const METADATA: &str = "__metadata__";

const TYPES: &[(&str, DataType)] = &[
    ("F64", DataType::Double),
    ("F32", DataType::Float),
    ("F16", DataType::Half),
    ("BF16", DataType::Bfloat16),
    ("I64", DataType::Int64),
    ("I32", DataType::Int32),
    ("I16", DataType::Int16),
    ("I8", DataType::Int8),
    ("U64", DataType::Uint64),
    ("U32", DataType::Uint32),
    ("U16", DataType::Uint16),
    ("U8", DataType::Uint8),
    ("BOOL", DataType::Bool),
    ("C64", DataType::Complex64),
    ("F8_E5M2", DataType::Float8E5m2),
    ("F8_E4M3", DataType::Float8E4m3fn),
];

/// The tensors of a file by name, in the order of the names.
pub fn read_file(path: &Path) -> Result<Vec<(String, Tensor)>> {
    let bytes = bounded_read::read(path)?;
    read(&bytes).map_err(|e| durable::with_path(path, e))
}

/// Writes tensors.
pub fn write_file(path: &Path, tensors: &[(String, Tensor)]) -> Result<()> {
    let header = header(tensors).map_err(|e| durable::with_path(path, e))?;
    let mut file = durable::AtomicFile::create(path)?;
    file.write(&header)?;
    for (_, tensor) in tensors {
        file.write(tensor.bytes()?)?;
    }
    file.commit()?;
    durable::sync_directory(path)
}

/// Parses a file's bytes.
pub fn read(bytes: &[u8]) -> Result<Vec<(String, Tensor)>> {
    let (header, data) = split(bytes)?;
    let mut tensors = Vec::new();
    for (name, info) in header.iter().filter(|(name, _)| name.as_str() != METADATA) {
        let tensor = tensor(info, data).map_err(|e| e.context(format_args!("tensor '{name}'")))?;
        reserve::push(&mut tensors, (name.clone(), tensor))?;
    }
    Ok(tensors)
}

fn split(bytes: &[u8]) -> Result<(Map<String, Value>, &[u8])> {
    let (length, rest) =
        bytes.split_first_chunk().ok_or_else(|| data_loss("too short for a safetensors file"))?;
    let length = u64::from_le_bytes(*length);
    if length > MAX_HEADER {
        return Err(data_loss(format_args!("not a safetensors file: a header of {length} bytes")));
    }
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let (header, data) = rest
        .split_at_checked(length)
        .ok_or_else(|| data_loss(format_args!("the header has {length} bytes, but {} follow", rest.len())))?;
    let _promise = memory::promise(length.saturating_mul(PARSED_PER_BYTE))?;
    let header = serde_json::from_slice(header).map_err(|e| data_loss(format_args!("the header: {e}")))?;
    Ok((header, data))
}

fn tensor(info: &Value, data: &[u8]) -> Result<Tensor> {
    let wrong = |field: &str| data_loss(format_args!("its {field} is missing or malformed: {info}"));
    let dtype = info.get("dtype").and_then(Value::as_str).ok_or_else(|| wrong("dtype"))?;
    let dtype = TYPES.iter().find(|t| t.0 == dtype).map(|t| t.1).ok_or_else(|| {
        let known: Vec<&str> = TYPES.iter().map(|t| t.0).collect();
        unimplemented(format_args!("data type {dtype}; read are {}", known.join(", ")))
    })?;
    let dims = info.get("shape").and_then(Value::as_array).ok_or_else(|| wrong("shape"))?;
    let dims: Option<Vec<i64>> = dims.iter().map(Value::as_i64).collect();
    let shape = Shape::from_i64(&dims.ok_or_else(|| wrong("shape"))?)?;
    let offsets = info.get("data_offsets").and_then(Value::as_array).ok_or_else(|| wrong("data_offsets"))?;
    let offsets: Option<Vec<usize>> =
        offsets.iter().map(|o| o.as_u64().and_then(|o| usize::try_from(o).ok())).collect();
    let Some([start, end]) = offsets.as_deref() else { return Err(wrong("data_offsets")) };
    let bytes = data.get(*start..*end).ok_or_else(|| {
        data_loss(format_args!("stored at {start} to {end}, but there are {} bytes", data.len()))
    })?;
    if shape.elements().checked_mul(dtype.size()) != Some(bytes.len()) {
        return Err(data_loss(format_args!(
            "{} bytes are stored for a {dtype} tensor of shape {shape}",
            bytes.len()
        )));
    }
    Tensor::from_bytes(dtype, shape, bytes)
}

/// Encodes tensors.
pub fn write(tensors: &[(String, Tensor)]) -> Result<Vec<u8>> {
    let mut out = header(tensors)?;
    for (_, tensor) in tensors {
        reserve::extend(&mut out, tensor.bytes()?)?;
    }
    Ok(out)
}

/// Length and header, padded with spaces so that the data is aligned.
fn header(tensors: &[(String, Tensor)]) -> Result<Vec<u8>> {
    let (mut map, mut at) = (Map::new(), 0);
    for (name, tensor) in tensors {
        let dtype = TYPES.iter().find(|t| t.1 == tensor.dtype()).map(|t| t.0).ok_or_else(|| {
            invalid!("'{name}' is a tensor of type {}, which safetensors files cannot hold", tensor.dtype())
        })?;
        let end = at + tensor.byte_len();
        let info = json!({"dtype": dtype, "shape": tensor.shape().dims(), "data_offsets": [at, end]});
        if name == METADATA || map.insert(name.clone(), info).is_some() {
            return Err(invalid!("two tensors have the name '{name}', or it is reserved"));
        }
        at = end;
    }
    let mut text = Value::Object(map).to_string();
    while !text.len().is_multiple_of(8) {
        text.push(' ');
    }
    let mut out = (text.len() as u64).to_le_bytes().to_vec();
    reserve::extend(&mut out, text.as_bytes())?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensors() -> Vec<(String, Tensor)> {
        let a = Tensor::from_slice(Shape::new(&[2, 2]).unwrap(), &[1f32, 2.0, 3.0, 4.0]).unwrap();
        let b = Tensor::vector(&[true, false]).unwrap();
        vec![("a/kernel".into(), a), ("b".into(), b), ("c".into(), Tensor::scalar(-5i64))]
    }

    #[test]
    fn what_is_written_is_read() {
        let found = read(&write(&tensors()).unwrap()).unwrap();
        assert_eq!(found.len(), 3);
        for ((a, x), (b, y)) in found.iter().zip(&tensors()) {
            assert!(a == b && x.same_bits(y));
        }
    }

    #[test]
    fn lies_in_the_header_are_errors() {
        let file =
            |header: &str| [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &[0; 8]].concat();
        let bad = [
            r#"{"a": {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]}}"#,
            r#"{"a": {"dtype": "F32", "shape": [2], "data_offsets": [4, 12]}}"#,
            r#"{"a": {"dtype": "F32", "shape": [2], "data_offsets": [8, 0]}}"#,
            r#"{"a": {"dtype": "F32", "shape": [-2], "data_offsets": [0, 8]}}"#,
            r#"{"a": {"dtype": "F32", "shape": [4611686018427387904, 4611686018427387904], "data_offsets": [0, 8]}}"#,
            r#"{"a": {"dtype": "Q7", "shape": [2], "data_offsets": [0, 8]}}"#,
            r#"{"a": 3}"#,
            r#"[1]"#,
        ];
        for header in bad {
            assert!(read(&file(header)).is_err(), "{header}");
        }
        assert!(read(&u64::MAX.to_le_bytes()).is_err());
    }

    #[test]
    fn damage_is_an_error() {
        let whole = write(&tensors()).unwrap();
        for end in 0..whole.len() {
            assert!(read(&whole[..end]).is_err(), "cut at {end}");
        }
        for bit in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            drop(read(&bytes));
        }
    }
}
