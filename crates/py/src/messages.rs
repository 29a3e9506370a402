//! Messages of TensorFlow as values of Python: nodes of graphs, examples, events.

use crate::errors::{OrRaise, wrong_type};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use thalweg_client::{Code, Error, Result};
use thalweg_io::event::EventReader;
use thalweg_io::message::decode;
use thalweg_io::record::{Compression, RecordReader, RecordWriter};
use thalweg_proto::event::What;
use thalweg_proto::feature::Kind;
use thalweg_proto::summary::value::Value;
use thalweg_proto::{
    BytesList, Example, Feature, Features, FloatList, GraphDef, Int64List, Message, Name, encode,
};

/// Decodes a message that Python gave.
pub fn decoded<M: Message + Name + Default>(bytes: &[u8]) -> Result<M> {
    let bytes = bytes::Bytes::copy_from_slice(bytes);
    decode::<M>(bytes)?.map_err(|e| Error::new(Code::DataLoss, format!("Error parsing message: {e}")))
}

/// Name, op, inputs and device of each node of a serialised GraphDef.
#[pyfunction]
fn graph_nodes(py: Python<'_>, bytes: &[u8]) -> PyResult<Vec<(String, String, Vec<String>, String)>> {
    let def: GraphDef = decoded(bytes).or_raise(py)?;
    Ok(def.node.into_iter().map(|n| (n.name, n.op, n.input, n.device)).collect())
}

/// A serialised Example of features, each of a kind (`bytes_list`, `float_list`, `int64_list`) and values.
#[pyfunction]
fn encode_example<'py>(
    py: Python<'py>,
    features: BTreeMap<String, (String, Bound<'py, PyAny>)>,
) -> PyResult<Bound<'py, PyBytes>> {
    let mut feature = BTreeMap::new();
    for (name, (kind, values)) in features {
        let kind = match kind.as_str() {
            "bytes_list" => {
                let values: Vec<Vec<u8>> = values.extract()?;
                Some(Kind::BytesList(BytesList { value: values.into_iter().map(Into::into).collect() }))
            }
            "float_list" => Some(Kind::FloatList(FloatList { value: values.extract()? })),
            "int64_list" => Some(Kind::Int64List(Int64List { value: values.extract()? })),
            "" => None,
            other => return Err(wrong_type(format!("no kind of feature '{other}'"))),
        };
        feature.insert(name, Feature { kind });
    }
    Ok(PyBytes::new(py, &encode(&Example { features: Some(Features { feature }) })))
}

/// The features of a serialised Example, as `encode_example` takes them.
#[pyfunction]
fn decode_example<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyDict>> {
    let example: Example = decoded(bytes).or_raise(py)?;
    let found = PyDict::new(py);
    for (name, feature) in example.features.unwrap_or_default().feature {
        match feature.kind {
            Some(Kind::BytesList(list)) => {
                let values = PyList::new(py, list.value.iter().map(|v| PyBytes::new(py, v)))?;
                found.set_item(name, ("bytes_list", values))?;
            }
            Some(Kind::FloatList(list)) => found.set_item(name, ("float_list", list.value))?,
            Some(Kind::Int64List(list)) => found.set_item(name, ("int64_list", list.value))?,
            None => found.set_item(name, ("", PyList::empty(py)))?,
        }
    }
    Ok(found)
}

/// Tag, plain number and serialised message of a value of a summary.
type Told = (String, Option<f32>, Py<PyBytes>);

/// Time, step and values of each event of a file.
#[pyfunction]
fn events(py: Python<'_>, path: PathBuf) -> PyResult<Vec<(f64, i64, Vec<Told>)>> {
    let mut found = Vec::new();
    for event in EventReader::open(&path).or_raise(py)? {
        let event = event.or_raise(py)?;
        let values = match event.what {
            Some(What::Summary(summary)) => summary.value,
            _ => Vec::new(),
        };
        let told = values.into_iter().map(|v| {
            let bytes = PyBytes::new(py, &encode(&v)).unbind();
            let number = match v.value {
                Some(Value::SimpleValue(number)) => Some(number),
                _ => None,
            };
            (v.tag, number, bytes)
        });
        found.push((event.wall_time, event.step, told.collect()));
    }
    Ok(found)
}

/// Writes a file of records.
#[pyclass(frozen, module = "thalweg._engine")]
pub struct RecordFile(Mutex<Option<RecordWriter<std::io::BufWriter<std::fs::File>>>>);

#[pymethods]
impl RecordFile {
    #[new]
    fn new(py: Python<'_>, path: PathBuf, compression: &str) -> PyResult<RecordFile> {
        let compression = Compression::from_name(compression).or_raise(py)?;
        let file = std::io::BufWriter::new(std::fs::File::create(path)?);
        Ok(RecordFile(Mutex::new(Some(RecordWriter::new(file, compression)))))
    }

    fn write(&self, py: Python<'_>, record: &[u8]) -> PyResult<()> {
        match &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(writer) => writer.write(record).or_raise(py),
            None => Err(pyo3::exceptions::PyRuntimeError::new_err("TFRecordWriter is closed.")),
        }
    }

    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        match &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(writer) => writer.flush().or_raise(py),
            None => Ok(()),
        }
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(writer) => {
                let mut file = writer.finish().or_raise(py)?;
                Ok(std::io::Write::flush(&mut file)?)
            }
            None => Ok(()),
        }
    }
}

/// The records of a file, one after another.
#[pyclass(frozen, module = "thalweg._engine")]
pub struct Records(Mutex<RecordReader<'static>>);

#[pymethods]
impl Records {
    #[new]
    fn new(py: Python<'_>, path: PathBuf, compression: &str) -> PyResult<Records> {
        let compression = Compression::from_name(compression).or_raise(py)?;
        Ok(Records(Mutex::new(RecordReader::open(&path, compression).or_raise(py)?)))
    }

    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let next = self.0.lock().unwrap_or_else(PoisonError::into_inner).next();
        next.transpose().map(|r| r.map(|bytes| PyBytes::new(py, &bytes))).or_raise(py)
    }
}

pub fn add_to(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<RecordFile>()?;
    m.add_class::<Records>()?;
    m.add_function(wrap_pyfunction!(graph_nodes, m)?)?;
    m.add_function(wrap_pyfunction!(encode_example, m)?)?;
    m.add_function(wrap_pyfunction!(decode_example, m)?)?;
    m.add_function(wrap_pyfunction!(events, m)?)
}
