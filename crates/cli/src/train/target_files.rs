//! Files that are written after training: whether that will succeed is found out before.

use super::settings::Settings;
use crate::failure::{Failure, Outcome};
use std::fs::OpenOptions;
use std::path::Path;
use thalweg::prelude::*;
use thalweg_io::durable;

/// An error if one of them cannot be written.
pub fn check(settings: &Settings) -> Outcome {
    match &settings.svg {
        Some(path) => check_file(path, "--svg"),
        None => Ok(()),
    }
}

/// Leaves what is there as it is.
pub fn check_file(path: &Path, flag: &str) -> Outcome {
    let was_there = path.exists();
    let opened = OpenOptions::new().append(true).create(true).open(path);
    opened.map_err(|e| refused(path, flag, e.into()))?;
    if !was_there {
        std::fs::remove_file(path).map_err(|e| durable::with_path(path, e))?;
    }
    Ok(())
}

fn refused(path: &Path, flag: &str, e: Error) -> Failure {
    Failure::Usage(durable::with_path(path, e).context(format_args!("{flag} cannot be written")))
}
