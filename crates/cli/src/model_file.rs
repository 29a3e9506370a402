//! Reads the graph of a file: a GraphDef, a MetaGraphDef or a SavedModel, binary or text, recognised by content.

use std::io::Read;
use std::path::Path;
use thalweg_core::error::{Error, Result, data_loss, not_found};
use thalweg_core::invalid;
use thalweg_io::durable;
use thalweg_io::message::{decode, parse_text};
use thalweg_proto::text::TextError;
use thalweg_proto::{Bytes, GraphDef, MetaGraphDef, SavedModel};

/// The size limit of a protobuf message.
const MAX_BYTES: u64 = 1 << 31;

/// Reads the graph of a file, or of a SavedModel's directory.
pub fn read(path: &Path) -> Result<GraphDef> {
    let at = |e: Error| durable::at(path, e);
    if path.is_dir() {
        let inside = ["saved_model.pb", "saved_model.pbtxt"].map(|name| path.join(name));
        return match inside.iter().find(|p| p.exists()) {
            Some(file) => read(file),
            None => {
                let e = not_found("a directory without a saved_model.pb in it").context(path.display());
                Err(e.hint("name the graph's file, or the directory of a SavedModel"))
            }
        };
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(|e| at(e.into()))?;
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|e| at(e.into()))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(at(invalid!("larger than {MAX_BYTES} bytes, the limit of protocol messages")));
    }
    parse(bytes.into()).map_err(at)
}

fn parse(bytes: Bytes) -> Result<GraphDef> {
    if bytes.is_empty() {
        return Err(data_loss("the file is empty"));
    }
    match std::str::from_utf8(&bytes).ok().and_then(|t| Some((t, first_field(t)?))) {
        Some((text, field)) => from_text(text, field),
        None => from_binary(&bytes),
    }
}

/// The name of the first field, if this is a message in text form.
fn first_field(text: &str) -> Option<&str> {
    let mut rest = text.trim_start();
    while rest.starts_with('#') {
        rest = rest.split_once('\n')?.1.trim_start();
    }
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))?;
    let next = rest[end..].trim_start().chars().next()?;
    (end > 0 && matches!(next, '{' | '<' | ':')).then_some(&rest[..end])
}

fn from_text(text: &str, field: &str) -> Result<GraphDef> {
    let bad = |e: TextError| data_loss(e.to_string());
    match field {
        "saved_model_schema_version" | "meta_graphs" => {
            first_meta_graph(parse_text::<SavedModel>(text)?.map_err(bad)?)
        }
        "node" | "versions" | "version" | "library" | "debug_info" => parse_text(text)?.map_err(bad),
        _ => match parse_text::<MetaGraphDef>(text)? {
            Ok(meta) => graph_of(meta),
            // A field of neither message: most likely a GraphDef.
            Err(_) => parse_text(text)?.map_err(bad),
        },
    }
}

fn from_binary(bytes: &Bytes) -> Result<GraphDef> {
    // Only a SavedModel starts with a varint field.
    if bytes.first() == Some(&0x08)
        && let Ok(model) = decode::<SavedModel>(bytes.clone())?
    {
        return first_meta_graph(model);
    }
    let graph = decode::<GraphDef>(bytes.clone())?;
    let error = match graph {
        Ok(g) if is_graph(&g) => return Ok(g),
        Ok(_) => None,
        Err(e) => Some(e),
    };
    match decode::<MetaGraphDef>(bytes.clone())? {
        Ok(MetaGraphDef { graph_def: Some(g), .. }) => Ok(g),
        _ => Err(data_loss(match error {
            None => "not a GraphDef, MetaGraphDef or SavedModel".to_string(),
            Some(e) => format!("not a GraphDef, MetaGraphDef or SavedModel, or a damaged one: {e}"),
        })),
    }
}

/// Other messages, decoded as a GraphDef, have nodes without names.
fn is_graph(g: &GraphDef) -> bool {
    let named = g.node.iter().all(|n| !n.name.is_empty() && !n.op.is_empty());
    named && (!g.node.is_empty() || g.versions.is_some() || g.library.is_some())
}

fn first_meta_graph(model: SavedModel) -> Result<GraphDef> {
    graph_of(model.meta_graphs.into_iter().next().ok_or_else(|| data_loss("the SavedModel has no graph"))?)
}

fn graph_of(meta: MetaGraphDef) -> Result<GraphDef> {
    meta.graph_def.ok_or_else(|| data_loss("the MetaGraphDef has no graph"))
}
