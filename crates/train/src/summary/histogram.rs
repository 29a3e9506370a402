//! Distributions of values.

use super::FileWriter;
use super::file_writer::invalid;
use thalweg_client::dtype::{Element, bf16, f16};
use thalweg_client::{DataType, Result, Tensor};
use thalweg_io::event::Histogram;
use thalweg_proto::summary;

impl FileWriter {
    /// Adds a histogram of a tensor's values, which must be finite. TensorBoard shows it as histogram and as distribution.
    pub fn add_histogram(&mut self, tag: &str, values: &Tensor, step: i64) -> Result<()> {
        let histogram = Histogram::of(numbers(values)?, tag)?.to_proto();
        self.add_value(tag, summary::value::Value::Histo(histogram), step)
    }
}

/// The elements of a tensor of any real type.
fn numbers(t: &Tensor) -> Result<Box<dyn Iterator<Item = f64> + '_>> {
    fn of<T: Element, F: Fn(T) -> f64 + 'static>(
        t: &Tensor,
        f: F,
    ) -> Result<Box<dyn Iterator<Item = f64> + '_>> {
        Ok(Box::new(t.as_slice::<T>()?.iter().map(move |v| f(*v))))
    }
    match t.dtype() {
        DataType::Float => of(t, |v: f32| f64::from(v)),
        DataType::Double => of(t, |v: f64| v),
        DataType::Half => of(t, |v: f16| v.to_f64()),
        DataType::Bfloat16 => of(t, |v: bf16| v.to_f64()),
        DataType::Int8 => of(t, |v: i8| f64::from(v)),
        DataType::Int16 => of(t, |v: i16| f64::from(v)),
        DataType::Int32 => of(t, |v: i32| f64::from(v)),
        DataType::Int64 => of(t, |v: i64| v as f64),
        DataType::Uint8 => of(t, |v: u8| f64::from(v)),
        DataType::Uint16 => of(t, |v: u16| f64::from(v)),
        DataType::Uint32 => of(t, |v: u32| f64::from(v)),
        DataType::Uint64 => of(t, |v: u64| v as f64),
        DataType::Bool => of(t, |v: bool| f64::from(u8::from(v))),
        other => Err(invalid(format!("a histogram is of real numbers, got {other}; cast the tensor first"))),
    }
}
