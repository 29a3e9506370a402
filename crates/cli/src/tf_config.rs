//! `TF_CONFIG`, which names the task of this process and its cluster, and the jobs of training clusters.

use thalweg_core::error::Result;
use thalweg_dist::cluster::TfConfig;

/// The environment variable.
pub const TF_CONFIG: &str = "TF_CONFIG";

/// The job of the parameter servers.
pub const PS: &str = "ps";
pub const WORKER: &str = "worker";
pub const EVALUATOR: &str = "evaluator";
/// The jobs whose only task is the chief. Without one, worker 0 is the chief.
pub const CHIEFS: [&str; 2] = ["chief", "master"];

/// `None` if the variable is not set or empty.
pub fn from_environment() -> Result<Option<TfConfig>> {
    match std::env::var(TF_CONFIG) {
        Ok(text) if !text.trim().is_empty() => TfConfig::parse(&text).map(Some),
        _ => Ok(None),
    }
}
