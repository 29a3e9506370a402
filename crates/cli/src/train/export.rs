//! `--export`: the trained model as a SavedModel, without the nodes that train it.

use super::program::{Program, Serving};
use super::settings::Settings;
use crate::failure::{Failure, Outcome};
use crate::model_description::Description;
use std::path::Path;
use thalweg::prelude::*;
use thalweg::train::saved_model::SavedModelBuilder;
use thalweg::train::saver::Saver;
use thalweg_core::invalid;
use thalweg_io::durable;
use thalweg_io::scratch::Scratch;

const SIGNATURE: &str = "serving_default";

/// An error if the directory cannot be written, or the program has nothing to export.
pub fn check(program: &dyn Program, settings: &Settings) -> Outcome {
    let Some(directory) = &settings.export else { return Ok(()) };
    let usage = |e: Error| Err(Failure::Usage(e));
    if program.serving(&Scope::new())?.is_none() {
        return usage(invalid!("--export: this program has no inputs that a model could be asked about"));
    }
    if directory.exists() {
        let text = format!(
            "--export: {} exists already; choose another directory, or remove it",
            directory.display()
        );
        return usage(Error::new(Code::AlreadyExists, text));
    }
    let made = std::fs::create_dir_all(directory).and_then(|()| std::fs::remove_dir(directory));
    made.or_else(|e| usage(durable::with_path(directory, e).context("--export cannot be written")))
}

/// Builds the model anew for its use, with the weights of the session.
pub fn write(program: &dyn Program, trained: &Scope, session: &Session, directory: &Path) -> Result<()> {
    let g = Scope::new();
    let Some(Serving { inputs, outputs }) = program.serving(&g)? else { return Ok(()) };
    let scratch = Scratch::new();
    let weights =
        Saver::new(trained).write_meta_graph(false).save(session, &scratch.path("weights"), None)?;
    let saver = Saver::new(&g);
    let serving = Session::new(&g)?;
    saver.restore(&serving, &weights)?;
    let inputs: Vec<(&str, &Output)> = inputs.iter().map(|(name, o)| (name.as_str(), o)).collect();
    let outputs: Vec<(&str, &Output)> = outputs.iter().map(|(name, o)| (name.as_str(), o)).collect();
    SavedModelBuilder::new(&g).signature(SIGNATURE, &inputs, &outputs).save(&serving, directory)?;
    match program.description()? {
        Some(text) => Description::write_extra(directory, &text),
        None => Ok(()),
    }
}
