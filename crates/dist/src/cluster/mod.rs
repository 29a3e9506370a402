//! The cluster of a task: its tasks and addresses, the links to them, and memberships.

mod link;
mod membership;
mod reach;
mod server_def;
mod spec;
mod tf_config;
mod traffic;

pub use link::{CallHandle, Connector, Link, Links, set_io_thread};
pub use membership::Membership;
pub(crate) use reach::Reach;
pub use server_def::TaskSpec;
pub use spec::{ClusterSpec, TaskAddress, task_name};
pub use tf_config::TfConfig;
pub use traffic::PeerTraffic;
