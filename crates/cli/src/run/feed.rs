//! `--feed NAME=VALUE`: a literal or a file on the command line, cast to the type of the graph.

use super::literal;
use crate::failure::{Failure, Outcome};
use std::path::Path;
use std::str::FromStr;
use thalweg_core::dtype::DataType;
use thalweg_core::tensor::Tensor;
use thalweg_graph::Graph;
use thalweg_io::npy;

#[derive(Clone, Debug)]
pub struct Feed {
    pub name: String,
    value: String,
}

impl FromStr for Feed {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Feed, Self::Err> {
        match text.split_once('=') {
            Some((name, value)) if !name.is_empty() => Ok(Feed { name: name.into(), value: value.into() }),
            _ => Err("a feed is written NAME=VALUE or NAME=FILE.npy"),
        }
    }
}

impl Feed {
    /// The value as the tensor that the graph expects there.
    pub fn tensor(&self, graph: &Graph) -> Outcome<Tensor> {
        let dtype = graph.dtype(graph.output(&self.name)?);
        let text = self.value.trim();
        if text.ends_with(".npy") {
            return Ok(npy::read_file(Path::new(text))?);
        }
        // Shells strip the quotes: a bare word for a string tensor is the string.
        if dtype == DataType::String && !text.starts_with(['"', '\'', '[']) {
            return Ok(Tensor::string(self.value.as_bytes()));
        }
        let wrong = |e: thalweg_core::error::Error| e.context(format_args!("--feed {}", self.name));
        let value = literal::parse(text).map_err(|e| Failure::Usage(wrong(e)))?;
        Ok(value.to_tensor(dtype).map_err(wrong)?)
    }
}
