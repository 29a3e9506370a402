//! Summaries for TensorBoard: ops that make them, and the writer of event files.
//!
//! ```
//! use thalweg_client::{Scope, Session};
//! use thalweg_train::summary::{self, FileWriter};
//!
//! let g = Scope::new();
//! summary::scalar(&g, "loss", &g.constant(0.5f32));
//! let all = summary::merge_all(&g);
//! let session = Session::new(&g)?;
//! # let logs = std::env::temp_dir().join(format!("thalweg-summary-{}", std::process::id()));
//! let mut writer = FileWriter::new(&logs)?;
//! writer.add_graph(&g)?;
//! if let Some(all) = &all {
//!     writer.add_summary(&session.run(all, &[])?, 1)?;
//! }
//! # drop(writer);
//! # std::fs::remove_dir_all(&logs)?;
//! # Ok::<(), thalweg_client::Error>(())
//! ```

mod file_writer;
mod shared_writer;

pub use file_writer::FileWriter;
pub use shared_writer::SharedWriter;

use std::borrow::Borrow;
use thalweg_client::{Output, Scope, keys};

/// A scalar summary. The tag is the name, in its scope.
#[track_caller]
pub fn scalar(g: &Scope, name: &str, value: &Output) -> Output {
    let scope = g.name_scope(name);
    let tags = scope.constant_named("tags", scope.scope_name());
    collected(g, scope.op("ScalarSummary").named_as_scope().input(tags).input(value).output())
}

/// A histogram summary of a tensor.
#[track_caller]
pub fn histogram(g: &Scope, name: &str, values: &Output) -> Output {
    let scope = g.name_scope(name);
    let tag = scope.constant_named("tag", scope.scope_name());
    collected(g, scope.op("HistogramSummary").named_as_scope().input(tag).input(values).output())
}

/// Several summaries as one.
#[track_caller]
pub fn merge<O: Borrow<Output>>(g: &Scope, summaries: &[O]) -> Output {
    g.name_scope("Merge").op("MergeSummary").inputs(summaries).output()
}

/// All summaries made so far as one; `None` if there are none.
#[track_caller]
pub fn merge_all(g: &Scope) -> Option<Output> {
    let all = g.collection(keys::SUMMARIES);
    (!all.is_empty()).then(|| merge(g, &all))
}

fn collected(g: &Scope, summary: Output) -> Output {
    g.add_to_collection(keys::SUMMARIES, &summary);
    summary
}
