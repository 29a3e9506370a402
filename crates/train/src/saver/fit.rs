//! Validates a checkpoint against the graph before anything is restored.

use std::path::Path;
use thalweg_client::{Code, Error, PartialShape, Result, Shape, Variable};
use thalweg_io::bundle::BundleReader;

/// An error that names what is missing, or the first variable whose type or shape differs.
pub fn check(prefix: &Path, variables: &[(String, Variable)]) -> Result<()> {
    let reader = BundleReader::open(prefix).map_err(|e| {
        let hint =
            "a checkpoint is named without .index; latest_checkpoint(folder) finds the newest of a folder";
        if e.code() == Code::NotFound { e.hint(hint) } else { e }
    })?;
    let missing: Vec<&str> =
        variables.iter().map(|(name, _)| name.as_str()).filter(|n| !reader.contains(n)).collect();
    if !missing.is_empty() {
        return Err(not_there(prefix, &missing, &reader));
    }
    for (name, v) in variables {
        let stored = reader.entry(name)?;
        let differs = |what: &str, graph: String, file: String| {
            let text = format!(
                "variable '{name}' has {what} {graph} in the graph but {file} in the checkpoint {}",
                prefix.display()
            );
            Err(Error::new(Code::InvalidArgument, text))
        };
        if stored.dtype != v.dtype() {
            return differs("type", v.dtype().to_string(), stored.dtype.to_string());
        }
        let whole = match &v.slice {
            Some(slice) => PartialShape::from(&Shape::new(&slice.full_dims)?),
            None => v.shape(),
        };
        if whole.merge(&PartialShape::from(&stored.shape)).is_err() {
            return differs("shape", whole.to_string(), stored.shape.to_string());
        }
    }
    Ok(())
}

fn not_there(prefix: &Path, missing: &[&str], reader: &BundleReader) -> Error {
    let there: Vec<String> = reader.names().collect();
    let text = format!(
        "Key {} not found in checkpoint {}: of the graph's variables {} missing ({}); the checkpoint has {} tensors ({})",
        missing.first().unwrap_or(&""),
        prefix.display(),
        missing.len(),
        some(missing),
        there.len(),
        some(&there.iter().map(String::as_str).collect::<Vec<_>>()),
    );
    Error::new(Code::NotFound, text)
}

/// The first few names.
fn some(names: &[&str]) -> String {
    let shown = names.iter().take(8).copied().collect::<Vec<_>>().join(", ");
    if names.len() > 8 { format!("{shown}, ..") } else { shown }
}
