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
//!
//! A [`FileWriter`] takes values without a graph too, for each of TensorBoard's dashboards: scalars, histograms, images, sounds, text,
//! precision-recall curves, hyperparameters, custom scalars, meshes. Scalars and histograms are written as TensorFlow 1 does, which every
//! tool reads; the others as tensors with the metadata that TensorBoard's plugins read. [`write_projector`] is for embeddings. Each
//! directory below the one that TensorBoard is given is a run.

mod audio;
mod custom_scalars;
mod file_writer;
mod graph_ops;
mod histogram;
mod hparams;
mod image;
mod mesh;
mod plugin;
mod pr_curve;
mod profile;
mod projector;
mod shared_writer;
mod tensor;
mod text;

pub use custom_scalars::{Chart, Layout};
pub use file_writer::FileWriter;
pub use graph_ops::{audio, histogram, image, merge, merge_all, pr_curve, scalar, tensor, text};
pub use hparams::{Experiment, HParam, HParams, Status};
pub use mesh::Mesh;
pub use pr_curve::DEFAULT_THRESHOLDS;
pub use profile::{trace_json, write_profile};
pub use projector::{Embedding, PROJECTOR_CONFIG, write_projector};
pub use shared_writer::SharedWriter;
