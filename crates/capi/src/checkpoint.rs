//! `TF_CheckpointReader`: the variables in a checkpoint.

use crate::pointers::{Out, Text, c_text, need};
use crate::status::{Status, answer, quiet};
use crate::tensor::Tensor;
use std::ffi::{CString, c_char, c_int};
use std::path::Path;
use std::sync::Mutex;
use thalweg_core::error::Result;
use thalweg_core::invalid;
use thalweg_core::sync::lock;
use thalweg_io::bundle::{BundleReader, Entry};

pub struct Reader {
    bundle: Mutex<BundleReader>,
    names: Vec<CString>,
}

fn entry(reader: Option<&Reader>, name: &Text) -> Result<Entry> {
    lock(&need(reader)?.bundle).entry(name.str()?)
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_NewCheckpointReader(prefix: Text, status: Option<&mut Status>) -> Option<Box<Reader>> {
    answer(status, None, || {
        let bundle = BundleReader::open(Path::new(prefix.str()?))?;
        let names = bundle.names().map(|name| c_text(&name)).collect();
        Ok(Some(Box::new(Reader { bundle: Mutex::new(bundle), names })))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_DeleteCheckpointReader(reader: Option<Box<Reader>>) {
    drop(reader);
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_CheckpointReaderHasTensor(reader: Option<&Reader>, name: Text) -> c_int {
    quiet(0, || Ok(c_int::from(lock(&need(reader)?.bundle).contains(name.str()?))))
}

/// The name of a variable, by its number; null if there are fewer.
#[unsafe(no_mangle)]
pub extern "C" fn TF_CheckpointReaderGetVariable(reader: Option<&Reader>, index: c_int) -> *const c_char {
    let name = |r: &'_ Reader| r.names.get(usize::try_from(index).ok()?).map(|name| name.as_ptr());
    reader.and_then(name).unwrap_or(std::ptr::null())
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_CheckpointReaderSize(reader: Option<&Reader>) -> c_int {
    reader.map_or(0, |r| r.names.len() as c_int)
}

/// 0 if there is no such variable.
#[unsafe(no_mangle)]
pub extern "C" fn TF_CheckpointReaderGetVariableDataType(reader: Option<&Reader>, name: Text) -> c_int {
    quiet(0, || Ok(entry(reader, &name)?.dtype.wire()))
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_CheckpointReaderGetVariableShape(
    reader: Option<&Reader>,
    name: Text,
    dims: Out<i64>,
    num_dims: c_int,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        let shape = entry(reader, &name)?.shape.to_i64();
        if usize::try_from(num_dims) != Ok(shape.len()) {
            return Err(invalid!("Expected rank is {num_dims} but actual rank is {}", shape.len()));
        }
        dims.fill(num_dims, shape);
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_CheckpointReaderGetVariableNumDims(reader: Option<&Reader>, name: Text) -> c_int {
    quiet(-1, || Ok(entry(reader, &name)?.shape.rank() as c_int))
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_CheckpointReaderGetTensor(
    reader: Option<&Reader>,
    name: Text,
    status: Option<&mut Status>,
) -> Option<Box<Tensor>> {
    answer(status, None, || {
        let value = lock(&need(reader)?.bundle).read(name.str()?)?;
        Ok(Some(Box::new(Tensor::of(value)?)))
    })
}
