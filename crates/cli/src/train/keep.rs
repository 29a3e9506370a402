//! Checkpoints and event files of a run.

use super::board::Board;
use super::program::Program;
use super::progress::Measures;
use super::settings::Settings;
use super::validate::BEST_DIR;
use crate::failure::{Failure, Outcome};
use crate::model_description::DESCRIPTION_FILE;
use crate::output;
use std::path::{Path, PathBuf};
use thalweg::RunMetadata;
use thalweg::prelude::*;
use thalweg::train::estimator::EVAL_DIR;
use thalweg::train::get_or_create_global_step;
use thalweg::train::saver::{CHECKPOINT_NAME, Saver};
use thalweg_core::error::not_found;
use thalweg_io::checkpoint::{self, DirectoryLock};
use thalweg_io::durable;

/// Saves a run into its directory.
pub struct Keeper {
    folder: PathBuf,
    _lock: DirectoryLock,
    /// The checkpoint to continue from.
    newest: Option<PathBuf>,
    saver: Saver,
    board: Board,
    every: u64,
}

/// Checkpoints in a run by default.
pub const CHECKPOINTS: u64 = 10;

impl Keeper {
    /// Adds the nodes that save and restore to the graph, before the session is opened.
    pub fn new(g: &Scope, program: &dyn Program, settings: &Settings) -> Outcome<Option<Keeper>> {
        let Some(folder) = &settings.logdir else { return Ok(None) };
        let (lock, newest) = claim(folder, settings)?;
        describe(folder, program, settings.resume)?;
        let board = Board::new(g, folder, program, settings)?;
        let saver = Saver::new(g);
        let every = settings.save_every.unwrap_or((settings.steps / CHECKPOINTS).max(1));
        Ok(Some(Keeper { folder: folder.clone(), _lock: lock, newest, saver, board, every }))
    }

    /// Restores the newest whole checkpoint, with --resume; returns its step.
    pub fn resume(&mut self, session: &Session, g: &Scope) -> Result<u64> {
        let mut first = 0;
        if let Some(newest) = &self.newest {
            self.saver.restore(session, newest)?;
            let step = session.run(&get_or_create_global_step(g).value, &[])?.to_scalar::<i64>()?;
            first = u64::try_from(step).unwrap_or(0);
        }
        self.board.start(session, first)?;
        Ok(first)
    }

    /// The loss, the metric beside it and what else is watched, after `done` steps.
    pub fn measures(&mut self, done: u64, measures: &Measures) -> Result<()> {
        self.board.scalars(done, measures.iter().map(|(name, value)| (*name, *value)))
    }

    /// After each step: saves, if a checkpoint is due.
    pub fn due(&mut self, session: &Session, done: u64) -> Result<()> {
        self.board.after_step(session, done)?;
        if done > 0 && done.is_multiple_of(self.every) { self.checkpoint(session, done) } else { Ok(()) }
    }

    /// Whether this step is to be traced, and its metadata given to `trace`.
    pub fn traces(&self, done: u64) -> bool {
        self.board.traces(done)
    }

    pub fn trace(&mut self, session: &Session, done: u64, metadata: &RunMetadata) -> Result<()> {
        self.board.trace(session, done, metadata)
    }

    /// Saves after the last step of the run.
    pub fn save(&mut self, session: &Session, done: u64) -> Result<()> {
        self.checkpoint(session, done)?;
        self.board.end(done)
    }

    fn checkpoint(&mut self, session: &Session, done: u64) -> Result<()> {
        let step = i64::try_from(done).unwrap_or(i64::MAX);
        self.saver.save(session, &self.folder.join(CHECKPOINT_NAME), Some(step))?;
        self.board.histograms(session, done)
    }
}

/// Locks a directory for this run; returns the checkpoint to continue from, with --resume.
fn claim(folder: &Path, settings: &Settings) -> Outcome<(DirectoryLock, Option<PathBuf>)> {
    let usage = |e| Err(Failure::Usage(e));
    let is_free = |has_checkpoints: bool| settings.resume || settings.overwrite || !has_checkpoints;
    let has_checkpoints = checkpoint::has_checkpoints(folder)?;
    if settings.resume && !has_checkpoints {
        // Another process may be about to write the first: then it is named.
        if folder.join(checkpoint::LOCK_FILE).is_file() {
            DirectoryLock::take(folder)?;
        }
        return usage(nothing_to_resume(folder));
    }
    if !is_free(has_checkpoints) {
        return usage(used(folder));
    }
    let lock = DirectoryLock::take(folder)?;
    // Another run may have saved and ended in between.
    if !is_free(checkpoint::has_checkpoints(folder)?) {
        return usage(used(folder));
    }
    if settings.overwrite {
        clear(folder)?;
    }
    let newest = if settings.resume { checkpoint::recover(folder, &log)? } else { None };
    Ok((lock, newest))
}

/// Directories that runs make in theirs.
const OWN_DIRECTORIES: [&str; 4] = [EVAL_DIR, BEST_DIR, "damaged", "plugins"];

/// Deletes what an earlier run left, and nothing else.
fn clear(folder: &Path) -> Result<()> {
    let is_own = |name: &str| {
        name == checkpoint::STATE_FILE
            || name == DESCRIPTION_FILE
            || name.starts_with(&format!("{CHECKPOINT_NAME}-"))
            || name.starts_with("events.out.tfevents.")
            || name.starts_with("projector_")
    };
    for entry in std::fs::read_dir(folder).map_err(|e| durable::with_path(folder, e))? {
        let (path, name) =
            entry.map(|e| (e.path(), e.file_name())).map_err(|e| durable::with_path(folder, e))?;
        let name = name.to_string_lossy();
        let done = match path.is_dir() {
            true if OWN_DIRECTORIES.contains(&&*name) => std::fs::remove_dir_all(&path),
            false if is_own(&name) => std::fs::remove_file(&path),
            _ => Ok(()),
        };
        done.map_err(|e| durable::with_path(&path, e))?;
    }
    Ok(())
}

/// Writes the description of the model; a run that is resumed must have the same.
fn describe(folder: &Path, program: &dyn Program, resume: bool) -> Outcome {
    let Some(text) = program.description()? else { return Ok(()) };
    let path = folder.join(DESCRIPTION_FILE);
    let earlier = if resume { std::fs::read_to_string(&path).ok() } else { None };
    match earlier {
        Some(earlier) if earlier != text => {
            let text = format!(
                "{} describes another model than these options and this data make; resume with those of the first run, or start \
                 anew with --overwrite",
                path.display()
            );
            Err(Failure::Usage(Error::new(Code::FailedPrecondition, text)))
        }
        Some(_) => Ok(()),
        None => Ok(durable::write(&path, text.as_bytes())?),
    }
}

/// Prints a line about the checkpoints. A closed output is noticed by the next line of progress.
pub fn log(line: &str) {
    drop(output::print(&format!("{line}\n")));
}

fn nothing_to_resume(folder: &Path) -> Error {
    not_found(format_args!("there is no checkpoint in {}; start without --resume first", folder.display()))
}

fn used(folder: &Path) -> Error {
    let text = format!(
        "{} has the checkpoints of an earlier run, which this one would replace; continue from them with --resume, \
         delete them with --overwrite, or choose another --logdir",
        folder.display()
    );
    Error::new(Code::FailedPrecondition, text)
}
