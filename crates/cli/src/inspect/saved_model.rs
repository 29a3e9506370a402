//! A SavedModel: signatures, variables, assets, ops, and what it would touch.

use super::{count, graph, titled};
use std::path::Path;
use thalweg::saved_model::{SignatureInfo, TensorInfo, signatures_of};
use thalweg_core::error::{Error, Result, data_loss};
use thalweg_io::bundle::BundleReader;
use thalweg_io::saved_model;
use thalweg_proto::MetaGraphDef;

/// Variables shown in full.
const SHOWN: usize = 20;

/// Entries of a checkpoint that are no variables.
const OBJECT_GRAPH: &str = "_CHECKPOINTABLE_OBJECT_GRAPH";

pub fn show(directory: &Path) -> Result<String> {
    let at = |e: Error| e.context(directory.display());
    let model = saved_model::read(directory)?;
    let mut parts = vec![format!(
        "SavedModel {}: {}, {} bytes\n",
        directory.display(),
        count(model.meta_graphs.len(), "graph"),
        size(directory)
    )];
    for meta in &model.meta_graphs {
        parts.push(meta_graph(meta).map_err(at)?);
    }
    if saved_model::has_variables(directory) {
        parts.push(variables(directory)?);
    }
    let assets = files(&saved_model::assets(directory));
    if !assets.is_empty() {
        let row = |(name, bytes): &(String, u64)| vec![name.clone(), bytes.to_string()];
        parts.push(titled(&["asset", "bytes"], "LR", assets.iter().map(row)));
    }
    Ok(parts.join("\n"))
}

fn meta_graph(meta: &MetaGraphDef) -> Result<String> {
    let tags = saved_model::tags_of(meta).join(", ");
    let info = meta.meta_info_def.clone().unwrap_or_default();
    let by = match info.tensorflow_version.as_str() {
        "" => String::new(),
        version => format!(", written by TensorFlow {version}"),
    };
    let mut rows = Vec::new();
    for (name, signature) in signatures_of(meta)? {
        rows.extend(signature_rows(&name, &signature));
    }
    let headings = ["signature", "", "name", "type", "shape", "tensor"];
    let def = meta.graph_def.as_ref().ok_or_else(|| data_loss("a meta graph has no graph"))?;
    // Signatures say what it takes and returns: other nodes without consumers are its initialisers.
    let (signatures, ends) = match rows.is_empty() {
        true => ("no signatures\n".to_string(), graph::ends(def)),
        false => (titled(&headings, "LLLLLL", rows), "\n".to_string()),
    };
    let all = [graph::ops(def), ends, graph::touched(def)].concat();
    Ok(format!("tags {{{tags}}}{by}\n\n{signatures}\n{}\n", all.trim_end()))
}

fn signature_rows(name: &str, signature: &SignatureInfo) -> Vec<Vec<String>> {
    let row = |kind: &str, t: &TensorInfo| {
        let optional = if t.default.is_some() { "optional input" } else { kind };
        let cells = [name, optional, &t.name, t.dtype.name(), &t.shape.to_string(), &t.tensor];
        cells.map(str::to_string).to_vec()
    };
    let inputs = signature.inputs.iter().map(|t| row("input", t));
    let mut rows: Vec<Vec<String>> =
        inputs.chain(signature.outputs.iter().map(|t| row("output", t))).collect();
    // The name once, and what the signature is for.
    for (i, cells) in rows.iter_mut().enumerate() {
        if let Some(first) = cells.first_mut().filter(|_| i > 0) {
            *first = if i == 1 { format!("  {}", method(&signature.method_name)) } else { String::new() };
        }
    }
    rows
}

fn method(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

fn variables(directory: &Path) -> Result<String> {
    let reader = BundleReader::open(&saved_model::variables(directory))?;
    let names: Vec<String> = reader.names().filter(|name| name != OBJECT_GRAPH).collect();
    let (mut rows, mut elements, mut bytes) = (Vec::new(), 0usize, 0u64);
    for name in &names {
        let entry = reader.entry(name)?;
        elements = elements.saturating_add(entry.shape.elements());
        bytes = bytes.saturating_add(entry.bytes);
        if rows.len() < SHOWN {
            rows.push(vec![
                name.clone(),
                entry.dtype.to_string(),
                entry.shape.to_string(),
                entry.bytes.to_string(),
            ]);
        }
    }
    let more = match names.len().saturating_sub(SHOWN) {
        0 => String::new(),
        n => format!("and {n} more: thalweg inspect {}\n", saved_model::variables(directory).display()),
    };
    Ok(format!(
        "{}{more}{}, {elements} elements, {bytes} bytes\n",
        titled(&["variable", "type", "shape", "bytes"], "LLLR", rows),
        count(names.len(), "variable"),
    ))
}

/// The files of a directory with their sizes, by name; none if it cannot be read.
fn files(directory: &Path) -> Vec<(String, u64)> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let file = |e: std::fs::DirEntry| {
        let metadata = e.metadata().ok().filter(|m| m.is_file())?;
        Some((e.file_name().to_string_lossy().into_owned(), metadata.len()))
    };
    let mut found: Vec<_> = entries.filter_map(file).collect();
    found.sort();
    found
}

/// Bytes of all files of the model.
fn size(directory: &Path) -> u64 {
    let parts = [directory.to_path_buf(), directory.join("variables"), saved_model::assets(directory)];
    parts.iter().flat_map(|part| files(part)).map(|f| f.1).fold(0, u64::saturating_add)
}
