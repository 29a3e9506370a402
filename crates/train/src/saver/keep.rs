//! Which checkpoints are kept: the newest ones, and an older one every so many hours.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use thalweg_client::Result;
use thalweg_io::bundle::index_path;
use thalweg_io::checkpoint::{self, State};
use thalweg_io::durable;

/// How many checkpoints a saver keeps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Keep {
    /// How many of the newest; 0 for all.
    pub newest: usize,
    /// Also keeps one older checkpoint for this many hours of training.
    pub every_n_hours: f64,
}

impl Default for Keep {
    fn default() -> Keep {
        Keep { newest: 5, every_n_hours: 10_000.0 }
    }
}

/// A clock: seconds since 1970.
pub type Clock = Arc<dyn Fn() -> f64 + Send + Sync>;

pub(super) fn system_clock() -> Clock {
    Arc::new(|| seconds(SystemTime::now()))
}

fn seconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).map_or(0.0, |d| d.as_secs_f64())
}

/// The checkpoints that a saver manages.
#[derive(Default)]
pub(super) struct Kept {
    /// By the path they were saved to; none before the first is saved.
    of: Option<(PathBuf, State)>,
    saved_at: HashMap<PathBuf, f64>,
    /// The next checkpoint to be kept for good is one saved after this.
    next_to_stay: f64,
}

impl Kept {
    /// The hours count from now.
    pub fn starting(keep: Keep, clock: &Clock) -> Kept {
        Kept { next_to_stay: clock() + keep.every_n_hours * 3600.0, ..Kept::default() }
    }

    /// Whether none was saved yet.
    pub fn is_new(&self) -> bool {
        self.of.is_none()
    }

    /// Lists a checkpoint that is whole on disk in the state file; only then are older ones deleted.
    pub fn add(&mut self, path: &Path, prefix: &Path, keep: Keep, clock: &Clock) -> Result<()> {
        let directory = durable::directory(path);
        let mut state = match self.of.take() {
            Some((of, state)) if of == path => state,
            _ => self.left_by_earlier_runs(path, &directory),
        };
        let old = state.push(prefix, keep.newest);
        self.saved_at.insert(prefix.to_path_buf(), clock());
        let written = state.write(&directory);
        self.of = Some((path.to_path_buf(), state));
        written?;
        for prefix in old {
            if !self.stays(&prefix, keep) {
                checkpoint::remove(&prefix)?;
            }
        }
        Ok(())
    }

    /// Whether `every_n_hours` keeps a checkpoint that is no longer among the newest.
    fn stays(&mut self, prefix: &Path, keep: Keep) -> bool {
        let saved_at = self.saved_at.remove(prefix);
        let stays = saved_at.is_some_and(|at| at > self.next_to_stay);
        if stays {
            self.next_to_stay += keep.every_n_hours * 3600.0;
        }
        stays
    }

    /// The checkpoints that an earlier run saved to the same path: this saver manages them too.
    fn left_by_earlier_runs(&mut self, path: &Path, directory: &Path) -> State {
        let mut state = State::read(directory).ok().flatten().unwrap_or_default();
        let base = durable::with_suffix(path, "-");
        state.all.retain(|p| {
            let step = p.as_os_str().as_encoded_bytes().strip_prefix(base.as_os_str().as_encoded_bytes());
            step.is_some_and(|s| !s.is_empty() && s.iter().all(u8::is_ascii_digit))
        });
        let modified = |p: &PathBuf| std::fs::metadata(index_path(p)).and_then(|m| m.modified()).ok();
        let times = state.all.iter().filter_map(|p| Some((p.clone(), seconds(modified(p)?))));
        self.saved_at = times.collect();
        state
    }
}
