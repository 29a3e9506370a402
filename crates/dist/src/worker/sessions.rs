//! Sessions that masters have opened on this task, and the graphs they have registered.

use super::Worker;
use crate::cluster::Membership;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use thalweg_core::error::{Result, aborted};
use thalweg_core::resource::lock;
use thalweg_proto::{
    CreateWorkerSessionRequest, CreateWorkerSessionResponse, DeleteWorkerSessionRequest,
    DeleteWorkerSessionResponse,
};
use thalweg_runtime::device::Device;
use thalweg_runtime::plan::KernelCache;
use thalweg_runtime::task_plans::TaskPlans;

#[derive(Default)]
pub struct WorkerSessions {
    open: Mutex<HashMap<String, Arc<WorkerSession>>>,
    /// For masters that open none.
    default: Mutex<Option<Arc<WorkerSession>>>,
}

pub struct WorkerSession {
    /// What this task is in the session's cluster.
    pub us: Arc<Membership>,
    pub devices: Vec<Device>,
    pub kernels: Arc<KernelCache>,
    pub graphs: Mutex<Graphs>,
    /// Whose it is: a master's name, and what tells its lives apart.
    master: (String, i64),
}

impl WorkerSession {
    /// The task whose master opened it; empty for the default session.
    pub fn master_task(&self) -> &str {
        &self.master.0
    }
}

#[derive(Default)]
pub struct Graphs {
    pub count: u64,
    pub held: HashMap<String, Arc<TaskPlans>>,
}

impl Worker {
    pub fn create_worker_session(
        &self,
        request: CreateWorkerSessionRequest,
    ) -> Result<CreateWorkerSessionResponse> {
        let master = (request.master_task, request.master_incarnation);
        let made = Membership::of_worker(&self.connector, &request.server_def.unwrap_or_default())
            .and_then(|us| self.open(us, request.isolate_session_state, master));
        let session = Arc::new(self.told("CreateWorkerSession", made)?);
        let mut open = lock(&self.sessions.open);
        // A master that has started anew does not know the sessions of its earlier life.
        let (master, life) = &session.master;
        open.retain(|_, s| master.is_empty() || s.master.0 != *master || s.master.1 == *life);
        open.insert(request.session_handle, session);
        Ok(CreateWorkerSessionResponse {})
    }

    pub fn delete_worker_session(&self, request: &DeleteWorkerSessionRequest) -> DeleteWorkerSessionResponse {
        let dropped = lock(&self.sessions.open).remove(&request.session_handle);
        drop(dropped);
        DeleteWorkerSessionResponse {}
    }

    /// Sessions that masters have open here.
    pub fn guests(&self) -> usize {
        lock(&self.sessions.open).len()
    }

    /// The session a request names; `created` is false if its master opened none.
    pub fn session(&self, handle: &str, created: bool) -> Result<Arc<WorkerSession>> {
        if let Some(found) = lock(&self.sessions.open).get(handle) {
            return Ok(found.clone());
        }
        if created && !handle.is_empty() {
            return Err(aborted(format!(
                "Session handle is not found: {handle}. Possibly this worker (\"{}\") just restarted.",
                self.task.name
            )));
        }
        let mut default = lock(&self.sessions.default);
        if default.is_none() {
            *default = Some(Arc::new(self.open(None, false, Default::default())?));
        }
        default.clone().ok_or_else(|| thalweg_core::error::internal("there is no default session"))
    }

    fn open(
        &self,
        us: Option<Membership>,
        isolated: bool,
        master: (String, i64),
    ) -> Result<WorkerSession> {
        let us = us.map_or_else(|| self.home.clone(), Arc::new);
        let mut options = self.task.options.clone();
        options.cpu_devices = options.cpu_devices.max(self.task.devices().len());
        let devices = self.task.session_devices(&us.task, &options, isolated)?;
        Ok(WorkerSession { us, devices, kernels: Arc::default(), graphs: Mutex::default(), master })
    }
}

impl Drop for WorkerSession {
    /// What the session's devices hold goes with it.
    fn drop(&mut self) {
        self.devices.iter().for_each(|d| d.context.resources.end());
    }
}
