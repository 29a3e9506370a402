//! Checkpoints and event files of a run.

use super::board::Board;
use super::program::{Model, Program};
use super::settings::Settings;
use crate::failure::{Failure, Outcome};
use crate::output;
use std::path::{Path, PathBuf};
use thalweg::RunMetadata;
use thalweg::prelude::*;
use thalweg::train::get_or_create_global_step;
use thalweg::train::saver::{CHECKPOINT_NAME, Saver};
use thalweg_core::error::not_found;
use thalweg_io::checkpoint::{self, DirectoryLock};

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
        let (lock, newest) = claim(folder, settings.resume)?;
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

    /// The loss, the metric beside it and what else is watched.
    pub fn loss(&mut self, model: &Model, done: u64, numbers: &[f32]) -> Result<()> {
        let names = std::iter::once("loss").chain(model.shown.iter().map(|(name, _)| *name));
        let names = names.chain(model.train.watched_names());
        self.board.scalars(done, names.zip(numbers.iter().copied()))
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
fn claim(folder: &Path, resume: bool) -> Outcome<(DirectoryLock, Option<PathBuf>)> {
    let usage = |e| Err(Failure::Usage(e));
    match (checkpoint::has_checkpoints(folder)?, resume) {
        (false, true) => return usage(nothing_to_resume(folder)),
        (true, false) => return usage(used(folder)),
        _ => {}
    }
    let lock = DirectoryLock::take(folder)?;
    // Another run may have saved and ended in between.
    if !resume && checkpoint::has_checkpoints(folder)? {
        return usage(used(folder));
    }
    let newest = if resume { checkpoint::recover(folder, &log)? } else { None };
    Ok((lock, newest))
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
         or choose another --logdir, or empty this one",
        folder.display()
    );
    Error::new(Code::FailedPrecondition, text)
}
