//! `BestSaver`: keeps the checkpoint with the best evaluation.

use super::{CHECKPOINT_NAME, Saver, latest_checkpoint};
use crate::patience::{Patience, Verdict};
use std::path::{Path, PathBuf};
use thalweg_client::{Code, Error, Result, Scope, Session};
use thalweg_io::durable;

/// Saves a checkpoint into a directory of its own whenever an evaluation is the best so far; older ones are deleted.
pub struct BestSaver {
    saver: Saver,
    path: PathBuf,
    patience: Patience,
}

impl BestSaver {
    /// Adds its nodes to the graph, before a session is opened.
    #[track_caller]
    pub fn new(g: &Scope, directory: impl AsRef<Path>, patience: Patience) -> BestSaver {
        let path = directory.as_ref().join(CHECKPOINT_NAME);
        BestSaver { saver: Saver::new(g).max_to_keep(1), path, patience }
    }

    /// Evaluations of an earlier run, in the order of their steps: nothing is saved.
    pub fn replay(&mut self, evaluations: impl IntoIterator<Item = (i64, f32)>) {
        for (step, value) in evaluations {
            self.patience.report(step, value);
        }
    }

    /// Takes the value of an evaluation at this step; saves if it is the best.
    pub fn report(&mut self, session: &Session, step: i64, value: f32) -> Result<Verdict> {
        let verdict = self.patience.report(step, value);
        if verdict == Verdict::Best {
            self.saver.save(session, &self.path, Some(step))?;
        }
        Ok(verdict)
    }

    /// The best evaluation so far.
    pub fn patience(&self) -> &Patience {
        &self.patience
    }

    /// Restores the best checkpoint; returns its step and value. None if there was no evaluation.
    pub fn restore(&self, session: &Session) -> Result<Option<(i64, f32)>> {
        let Some((step, value)) = self.patience.best() else { return Ok(None) };
        let wanted = durable::with_suffix(&self.path, &format!("-{step}"));
        let directory = durable::directory(&self.path);
        match latest_checkpoint(&directory)? {
            Some(found) if found.file_name() == wanted.file_name() => self.saver.restore(session, &found)?,
            _ => {
                let text =
                    format!("the best checkpoint, {}, is not there any more or is damaged", wanted.display());
                return Err(Error::new(Code::NotFound, text));
            }
        }
        Ok(Some((step, value)))
    }
}
