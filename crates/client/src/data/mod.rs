//! Input pipelines: a [`Dataset`] describes elements and their transformations, an [`Iterator`] supplies them to a graph, one in each
//! run.
//!
//! ```
//! use thalweg_client::data::Dataset;
//! use thalweg_client::{Scope, Session, Tensor};
//!
//! let g = Scope::new();
//! let x = Dataset::range(&g, 0, 10, 1)
//!     .shuffle(10, Some(1))
//!     .map(|_, x| vec![&x[0] * 2i64])
//!     .batch(4)
//!     .prefetch(2)
//!     .one_shot_iterator(&g)
//!     .get_next();
//! let session = Session::new(&g)?;
//! let batch: Tensor = session.run(&x[0], &[])?;
//! assert_eq!(batch.shape().dims(), [4]);
//! # Ok::<(), thalweg_client::Error>(())
//! ```
//!
//! All of it is nodes of the graph, TensorFlow's own ops: a pipeline runs on a server as in this process. The exception is
//! [`Dataset::from_fn`], whose elements come from a closure of this process.

mod components;
mod csv;
mod dataset;
mod functions;
mod iterator;
mod sources;

pub mod iris;

pub use components::Components;
pub use csv::{Column, CsvOptions};
pub use dataset::Dataset;
pub use iterator::Iterator;
