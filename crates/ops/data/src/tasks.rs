//! Work divided over the threads of the pool.

use crate::prelude::*;
use std::sync::Mutex;
use thalweg_core::sync::lock;
use thalweg_math::parallel::Parallel;

/// Runs each task on some thread; the results in order, or the first error.
pub fn run<T: Send, R: Send>(
    par: &dyn Parallel,
    tasks: Vec<T>,
    body: impl Fn(T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let cells = reserve::collect(tasks.into_iter().map(|t| (Mutex::new(Some(t)), Mutex::new(None))))?;
    par.run_ranges(cells.len(), 1, &|range| {
        for (task, result) in cells.get(range).unwrap_or_default() {
            if let Some(task) = lock(task).take() {
                *lock(result) = Some(body(task));
            }
        }
    });
    let taken = |cell: &(Mutex<Option<T>>, Mutex<Option<Result<R>>>)| match lock(&cell.1).take() {
        Some(result) => result,
        None => Err(internal("a task was not run")),
    };
    reserve::try_collect(cells.iter().map(taken))
}
