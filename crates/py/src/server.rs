//! `Server`: a task of a cluster in this process.

use crate::errors::{OrRaise, wrong_type};
use crate::op_table::registry;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Mutex, PoisonError};
use thalweg_client::{ClusterSpec, NewNode};
use thalweg_dist::{Server as Listening, ServerOptions};
use thalweg_train::ReplicaDeviceSetter;

/// A listening task, until it is stopped or collected.
#[pyclass(frozen, module = "thalweg._engine")]
pub struct Server {
    server: Mutex<Option<Listening>>,
    address: SocketAddr,
}

#[pymethods]
impl Server {
    /// The task of this job and number; `jobs` are the addresses of the cluster by job and number.
    #[new]
    fn new(
        py: Python<'_>,
        jobs: BTreeMap<String, BTreeMap<u32, String>>,
        job: &str,
        task: u32,
    ) -> PyResult<Server> {
        let own = jobs.get(job).and_then(|tasks| tasks.get(&task));
        let own = own.ok_or_else(|| wrong_type(format!("the cluster has no task /job:{job}/task:{task}")))?;
        let address =
            own.to_socket_addrs()?.next().ok_or_else(|| wrong_type(format!("no address: {own}")))?;
        let alone = jobs.values().map(BTreeMap::len).sum::<usize>() == 1;
        let cluster = if alone { ClusterSpec::default() } else { ClusterSpec { jobs: jobs.clone() } };
        let options = ServerOptions { address, job: job.to_string(), task, cluster, ..Default::default() };
        let server = py.detach(|| Listening::start(registry(), options)).or_raise(py)?;
        let address = server.address();
        Ok(Server { server: Mutex::new(Some(server)), address })
    }

    /// `grpc://host:port`.
    #[getter]
    fn target(&self) -> String {
        format!("grpc://{}", self.address)
    }

    fn stop(&self, py: Python<'_>) {
        let server = self.server.lock().unwrap_or_else(PoisonError::into_inner).take();
        py.detach(move || drop(server));
    }
}

/// The device function of `replica_device_setter`.
#[pyclass(frozen, module = "thalweg._engine")]
pub struct ReplicaDevices(pub Arc<dyn Fn(&NewNode<'_>) -> String + Send + Sync>);

#[pymethods]
impl ReplicaDevices {
    #[new]
    #[pyo3(signature = (ps_tasks, ps_device, worker_device, ps_ops=None, merge_devices=true))]
    fn new(
        ps_tasks: u32,
        ps_device: &str,
        worker_device: &str,
        ps_ops: Option<Vec<String>>,
        merge_devices: bool,
    ) -> ReplicaDevices {
        let setter = ReplicaDeviceSetter::new(ps_tasks).ps_device(ps_device).worker_device(worker_device);
        let setter = setter.merge_devices(merge_devices);
        let setter = match ps_ops {
            Some(ops) => setter.ps_ops(&ops.iter().map(String::as_str).collect::<Vec<_>>()),
            None => setter,
        };
        ReplicaDevices(Arc::new(setter.device_function()))
    }
}
