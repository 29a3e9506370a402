//! Named arrays: `.npz` and `.safetensors` files.

use super::{count, titled};
use thalweg_core::tensor::Tensor;

pub fn show(arrays: &[(String, Tensor)]) -> String {
    let cells = |name: &str, t: &Tensor| {
        vec![name.to_string(), t.dtype().to_string(), t.shape().to_string(), t.byte_len().to_string()]
    };
    let elements = arrays.iter().fold(0usize, |sum, a| sum.saturating_add(a.1.elements()));
    let bytes = arrays.iter().fold(0usize, |sum, a| sum.saturating_add(a.1.byte_len()));
    format!(
        "{}\n{}, {elements} elements, {bytes} bytes\n",
        titled(&["array", "type", "shape", "bytes"], "LLLR", arrays.iter().map(|(name, t)| cells(name, t))),
        count(arrays.len(), "array"),
    )
}
