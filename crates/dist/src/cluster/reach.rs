//! The addresses that clients' clusters may contain.

use super::spec::{ClusterSpec, TaskAddress};
use std::collections::BTreeSet;
use thalweg_core::error::{Code, Error, Result};

/// The addresses allowed in sessions' own clusters; names are not resolved, so that the checked address is the connected one.
#[derive(Clone, Debug, Default)]
pub struct Reach {
    /// `None`: any.
    only: Option<BTreeSet<String>>,
}

/// In a list: any address.
const ANY: &str = "*";

impl Reach {
    /// The tasks of the server's own cluster, and these.
    pub fn only(home: &ClusterSpec, more: &[String]) -> Reach {
        if more.iter().any(|address| address == ANY) {
            return Reach::default();
        }
        let own = home.tasks().into_iter().map(|t| t.address);
        Reach { only: Some(own.chain(more.iter().cloned()).collect()) }
    }

    pub fn check(&self, task: &TaskAddress) -> Result<()> {
        match &self.only {
            Some(only) if !only.contains(&task.address) => Err(Error::new(
                Code::PermissionDenied,
                format!(
                    "the cluster_def has {} at '{address}', where this server does not connect to: it is not in the server's own \
                     cluster, nor allowed by --allow-connect {address}",
                    task.task,
                    address = task.address
                ),
            )),
            _ => Ok(()),
        }
    }
}
