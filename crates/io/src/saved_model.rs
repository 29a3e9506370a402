//! The directory of a SavedModel: its message, and where its variables and assets are.
//!
//! ```text
//! saved_model.pb (or .pbtxt)     graphs with their signatures, one per set of tags
//! variables/variables.index ..   a tensor bundle
//! assets/                        files that graphs read, such as vocabularies
//! ```

use crate::durable;
use crate::graph_file::GraphFile;
use std::path::{Path, PathBuf};
use thalweg_core::error::{Error, Result, data_loss, not_found};
use thalweg_proto::{MetaGraphDef, SavedModel};

/// The file names of the message, binary and text.
pub const FILES: [&str; 2] = ["saved_model.pb", "saved_model.pbtxt"];

/// The tag of graphs for serving.
pub const SERVE: &str = "serve";

/// The file of the message, if the directory is that of a SavedModel.
pub fn file(directory: &Path) -> Option<PathBuf> {
    FILES.iter().map(|name| directory.join(name)).find(|path| path.is_file())
}

/// The prefix of the variables' bundle, which a model without variables does not have.
pub fn variables(directory: &Path) -> PathBuf {
    directory.join("variables").join("variables")
}

/// Whether the model has variables.
pub fn has_variables(directory: &Path) -> bool {
    durable::with_suffix(&variables(directory), ".index").is_file()
}

/// The directory of the assets.
pub fn assets(directory: &Path) -> PathBuf {
    directory.join("assets")
}

/// Reads the message of the SavedModel in a directory.
pub fn read(directory: &Path) -> Result<SavedModel> {
    let Some(path) = file(directory) else {
        return Err(none_in(directory));
    };
    match GraphFile::read(&path)? {
        GraphFile::Saved(model) => Ok(model),
        _ => Err(durable::with_path(&path, data_loss("holds a graph, but not a SavedModel"))),
    }
}

fn none_in(directory: &Path) -> Error {
    if !directory.is_dir() {
        return durable::with_path(directory, not_found("no such directory"));
    }
    let e = not_found("a directory without a saved_model.pb in it").context(directory.display());
    match newest_version(directory) {
        Some(v) => e.hint(format_args!("name its version {v}: {}", directory.join(&v).display())),
        None => e.hint("name the graph's file, or the directory of a SavedModel"),
    }
}

/// Of a directory with versions of a model, by number, the name of the newest.
fn newest_version(directory: &Path) -> Option<String> {
    let entries = std::fs::read_dir(directory).ok()?.filter_map(|e| e.ok());
    let names = entries.filter_map(|e| e.file_name().into_string().ok());
    let versions = names.filter(|name| file(&directory.join(name)).is_some());
    versions.filter_map(|name| Some((name.parse::<u64>().ok()?, name))).max().map(|newest| newest.1)
}

/// The graph whose tags are these. Without any, the one for serving, else the only one.
pub fn select(model: SavedModel, tags: Option<&[String]>) -> Result<MetaGraphDef> {
    let mut graphs = model.meta_graphs;
    let at = match tags {
        Some(tags) => graphs.iter().position(|graph| same(tags_of(graph), tags)),
        None => {
            let serving = graphs.iter().position(|graph| same(tags_of(graph), &[SERVE.to_string()]));
            serving.or((graphs.len() == 1).then_some(0))
        }
    };
    match at {
        Some(at) => Ok(graphs.swap_remove(at)),
        None if graphs.is_empty() => Err(data_loss("the SavedModel has no graph")),
        None => {
            let there: Vec<String> =
                graphs.iter().map(|g| format!("{{{}}}", tags_of(g).join(", "))).collect();
            let wanted = tags.map_or(SERVE.to_string(), |tags| tags.join(", "));
            Err(not_found(format_args!(
                "no graph with the tags {{{wanted}}}; there are: {}",
                there.join(" ")
            )))
        }
    }
}

/// The tags of a graph.
pub fn tags_of(graph: &MetaGraphDef) -> &[String] {
    graph.meta_info_def.as_ref().map_or(&[], |info| &info.tags)
}

/// Whether two sets of tags are equal, in any order.
fn same(a: &[String], b: &[String]) -> bool {
    a.iter().all(|tag| b.contains(tag)) && b.iter().all(|tag| a.contains(tag))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;
    use thalweg_core::error::Code;
    use thalweg_proto::meta_graph_def::MetaInfoDef;
    use thalweg_proto::{GraphDef, encode};

    fn tagged(tags: &[&str]) -> MetaGraphDef {
        let tags = tags.iter().map(|t| t.to_string()).collect();
        MetaGraphDef {
            meta_info_def: Some(MetaInfoDef { tags, ..Default::default() }),
            graph_def: Some(GraphDef::default()),
            ..Default::default()
        }
    }

    fn model(graphs: &[&[&str]]) -> SavedModel {
        SavedModel { saved_model_schema_version: 1, meta_graphs: graphs.iter().map(|t| tagged(t)).collect() }
    }

    #[test]
    fn graphs_are_selected_by_tags_and_errors_list_them() {
        let both = model(&[&["train"], &["gpu", "serve"], &["serve"]]);
        assert_eq!(tags_of(&select(both.clone(), None).unwrap()), ["serve"]);
        let wanted = ["serve".to_string(), "gpu".to_string()];
        assert_eq!(tags_of(&select(both.clone(), Some(&wanted)).unwrap()), ["gpu", "serve"]);
        let e = select(both, Some(&["tpu".to_string()])).unwrap_err();
        assert_eq!(e.code(), Code::NotFound);
        assert!(e.message().contains("{train} {gpu, serve} {serve}"), "{e}");
        assert_eq!(tags_of(&select(model(&[&["odd"]]), None).unwrap()), ["odd"]);
        assert_eq!(select(model(&[]), None).unwrap_err().code(), Code::DataLoss);
    }

    #[test]
    fn directories_that_are_none_are_told_apart() {
        let dir = Scratch::new();
        let e = read(&dir.path("none")).unwrap_err();
        assert!(e.message().contains("no such directory"), "{e}");
        std::fs::create_dir_all(dir.path("model/17")).unwrap();
        assert!(read(&dir.path("model")).unwrap_err().message().contains("without a saved_model.pb"));
        std::fs::write(dir.path("model/17/saved_model.pb"), encode(&model(&[&["serve"]]))).unwrap();
        let e = read(&dir.path("model")).unwrap_err();
        assert!(e.message().contains("name its version 17"), "{e}");
        assert_eq!(read(&dir.path("model/17")).unwrap().meta_graphs.len(), 1);
        std::fs::write(dir.path("model/17/saved_model.pb"), encode(&tagged(&["serve"]))).unwrap();
        assert_eq!(read(&dir.path("model/17")).unwrap_err().code(), Code::DataLoss);
    }
}
