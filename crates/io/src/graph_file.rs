//! Files that hold a graph: a GraphDef, a MetaGraphDef or a SavedModel, binary or text, recognised by content.

use crate::message::{decode, parse_text};
use crate::{bounded_read, durable};
use std::path::Path;
use thalweg_core::error::{Result, data_loss};
use thalweg_core::invalid;
use thalweg_proto::text::TextError;
use thalweg_proto::{Bytes, GraphDef, MetaGraphDef, SavedModel};

/// The size limit of a protobuf message.
const MAX_BYTES: usize = 1 << 31;

/// What a file of a graph holds.
pub enum GraphFile {
    Graph(Box<GraphDef>),
    Meta(Box<MetaGraphDef>),
    Saved(SavedModel),
}

impl GraphFile {
    /// Reads a file. Errors name it.
    pub fn read(path: &Path) -> Result<GraphFile> {
        let bytes = bounded_read::read(path)?;
        if bytes.len() > MAX_BYTES {
            let e = invalid!("larger than {MAX_BYTES} bytes, the limit of protocol messages");
            return Err(durable::with_path(path, e));
        }
        GraphFile::parse(bytes.into()).map_err(|e| durable::with_path(path, e))
    }

    pub fn parse(bytes: Bytes) -> Result<GraphFile> {
        if bytes.is_empty() {
            return Err(data_loss("the file is empty"));
        }
        match std::str::from_utf8(&bytes).ok().and_then(|t| Some((t, first_field(t)?))) {
            Some((text, field)) => from_text(text, field),
            None => from_binary(&bytes),
        }
    }

    /// Its graph; of a SavedModel the first.
    pub fn into_graph(self) -> Result<GraphDef> {
        let meta = match self {
            GraphFile::Graph(graph) => return Ok(*graph),
            GraphFile::Meta(meta) => *meta,
            GraphFile::Saved(model) => {
                let first = model.meta_graphs.into_iter().next();
                first.ok_or_else(|| data_loss("the SavedModel has no graph"))?
            }
        };
        meta.graph_def.ok_or_else(|| data_loss("the MetaGraphDef has no graph"))
    }
}

/// The name of the first field, if this is a message in text form.
fn first_field(text: &str) -> Option<&str> {
    let mut rest = text.trim_start();
    while rest.starts_with('#') {
        rest = rest.split_once('\n')?.1.trim_start();
    }
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))?;
    let next = rest.get(end..)?.trim_start().chars().next()?;
    let name = rest.get(..end).filter(|name| !name.is_empty())?;
    matches!(next, '{' | '<' | ':').then_some(name)
}

fn from_text(text: &str, field: &str) -> Result<GraphFile> {
    let bad = |e: TextError| data_loss(e.to_string());
    match field {
        "saved_model_schema_version" | "meta_graphs" => {
            Ok(GraphFile::Saved(parse_text::<SavedModel>(text)?.map_err(bad)?))
        }
        "node" | "versions" | "version" | "library" | "debug_info" => {
            Ok(GraphFile::Graph(Box::new(parse_text(text)?.map_err(bad)?)))
        }
        _ => match parse_text::<MetaGraphDef>(text)? {
            Ok(meta) => Ok(GraphFile::Meta(Box::new(meta))),
            // A field of neither message: most likely a GraphDef.
            Err(_) => Ok(GraphFile::Graph(Box::new(parse_text(text)?.map_err(bad)?))),
        },
    }
}

fn from_binary(bytes: &Bytes) -> Result<GraphFile> {
    // Only a SavedModel starts with a varint field.
    if bytes.first() == Some(&0x08)
        && let Ok(model) = decode::<SavedModel>(bytes.clone())?
    {
        return Ok(GraphFile::Saved(model));
    }
    let error = match decode::<GraphDef>(bytes.clone())? {
        Ok(graph) if is_graph(&graph) => return Ok(GraphFile::Graph(Box::new(graph))),
        Ok(_) => None,
        Err(e) => Some(e),
    };
    match decode::<MetaGraphDef>(bytes.clone())? {
        Ok(meta) if meta.graph_def.is_some() => Ok(GraphFile::Meta(Box::new(meta))),
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
