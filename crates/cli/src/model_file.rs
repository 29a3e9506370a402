//! Reads the graph of a file, or of a SavedModel's directory.

use crate::looks;
use std::path::Path;
use thalweg_core::error::{Result, data_loss};
use thalweg_io::graph_file::GraphFile;
use thalweg_io::{durable, saved_model};
use thalweg_proto::GraphDef;

/// Reads the graph of a file, or of a SavedModel's directory.
pub fn read(path: &Path) -> Result<GraphDef> {
    if path.is_dir() {
        let meta =
            saved_model::select(saved_model::read(path)?, None).map_err(|e| durable::with_path(path, e))?;
        return meta
            .graph_def
            .ok_or_else(|| durable::with_path(path, data_loss("the SavedModel has no graph")));
    }
    let file = GraphFile::read(path).map_err(|e| looks::hinted(e, path))?;
    file.into_graph().map_err(|e| durable::with_path(path, e))
}
