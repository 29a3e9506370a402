//! Sessions that masters have opened on this task, and the graphs they have registered.
//!
//! A session ends by DeleteWorkerSession, when its master restarts, or long after the master disconnected, with all
//! steps: one blocked on a token queue must not take a token from the restarted master's.

use super::Worker;
use crate::cluster::Membership;
use crate::net::server::peer::ConnectionToken;
use crate::threads::client_threads::drop_in_background;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};
use thalweg_core::error::{Error, Result, aborted, internal, resource_exhausted};
use thalweg_core::sync::lock;
use thalweg_proto::{
    CreateWorkerSessionRequest, CreateWorkerSessionResponse, DeleteWorkerSessionRequest,
    DeleteWorkerSessionResponse,
};
use thalweg_runtime::device::Device;
use thalweg_runtime::plan::KernelCache;
use thalweg_runtime::task_plans::TaskPlans;

/// Steps of a master are cancelled after so long without a connection.
const STEPS_OUTLIVE: Duration = Duration::from_secs(60);
/// Its sessions, which block nobody, are closed after so long: some masters close idle connections.
const SESSIONS_OUTLIVE: Duration = Duration::from_secs(24 * 3600);
/// Limit of sessions. One more evicts the one disconnected for longest.
const MAX_SESSIONS: usize = 4096;

#[derive(Default)]
pub struct WorkerSessions {
    open: Mutex<HashMap<String, Arc<WorkerSession>>>,
    /// If masters create none.
    default: Mutex<Option<Arc<WorkerSession>>>,
    /// Created so far.
    count: AtomicU64,
}

pub struct WorkerSession {
    /// From 1 on.
    pub number: u64,
    /// Membership in the session's cluster.
    pub us: Arc<Membership>,
    pub devices: Vec<Device>,
    pub kernels: Arc<KernelCache>,
    pub graphs: Mutex<Graphs>,
    master: Master,
    over: AtomicBool,
    /// Connections that used it.
    connections: Mutex<SmallVec<[Weak<ConnectionToken>; 4]>>,
    /// When the last of them was found closed.
    left_since: Mutex<Option<Instant>>,
}

/// A session's master.
#[derive(Default)]
struct Master {
    /// Its name in the session's cluster.
    task: String,
    /// Identifies it across sessions: its address in clusters that clients bring, where names are arbitrary.
    key: String,
    /// Its incarnation: differs after a restart.
    life: i64,
}

impl Master {
    /// In a cluster that a client brought, a master is who is at its address: strangers may give their tasks the same names, and one's
    /// session must not end another's. (TensorFlow goes by the task's name alone, so that a master which comes back under another address
    /// ends its old sessions. Here they end when it has been unreachable for long.)
    fn of(task: String, life: i64, us: Option<&Membership>) -> Master {
        let key = match us.and_then(|us| us.brought.as_ref()) {
            None => task.clone(),
            Some(cluster) => {
                let found = cluster.tasks().into_iter().find(|t| t.task == task);
                found.map(|t| t.address).unwrap_or_default()
            }
        };
        Master { task, key, life }
    }

    /// Whether the other is the same master before a restart.
    fn has_replaced(&self, other: &Master) -> bool {
        !self.key.is_empty() && self.key == other.key && self.life != other.life
    }
}

impl WorkerSession {
    /// The task whose master opened it; empty for the default session.
    pub fn master_task(&self) -> &str {
        &self.master.task
    }

    /// Whether it has ended: no new steps.
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    fn note_use(&self, connection: &Arc<ConnectionToken>) {
        let mut connections = lock(&self.connections);
        if !connections.iter().any(|l| std::ptr::eq(l.as_ptr(), Arc::as_ptr(connection))) {
            connections.retain(|l| l.strong_count() > 0);
            connections.push(Arc::downgrade(connection));
        }
    }

    /// How long its master has been disconnected.
    fn left_for(&self, now: Instant) -> Duration {
        let is_there = lock(&self.connections).iter().any(|l| l.strong_count() > 0);
        let mut since = lock(&self.left_since);
        if is_there {
            *since = None;
            return Duration::ZERO;
        }
        now.saturating_duration_since(*since.get_or_insert(now))
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
        connection: &Arc<ConnectionToken>,
    ) -> Result<CreateWorkerSessionResponse> {
        let made = Membership::of_worker(&self.connector, &request.server_def.unwrap_or_default())
            .and_then(|us| {
                let master = Master::of(request.master_task, request.master_incarnation, us.as_ref());
                self.open(us, request.isolate_session_state, master)
            })
            .and_then(|session| self.add(request.session_handle, session, connection));
        self.logged("CreateWorkerSession", made)?;
        Ok(CreateWorkerSessionResponse {})
    }

    fn add(&self, handle: String, session: WorkerSession, connection: &Arc<ConnectionToken>) -> Result<()> {
        session.note_use(connection);
        let mut open = lock(&self.sessions.open);
        // A restarted master does not know its earlier sessions.
        let mut ended: Vec<_> =
            open.extract_if(|_, s| session.master.has_replaced(&s.master)).map(|s| s.1).collect();
        if open.len() >= MAX_SESSIONS && !open.contains_key(&handle) {
            let now = Instant::now();
            let longest = open.iter().map(|(h, s)| (s.left_for(now), h.clone())).max();
            let gone = longest.filter(|(left, _)| !left.is_zero()).and_then(|(_, h)| open.remove(&h));
            ended.push(gone.ok_or_else(|| {
                resource_exhausted(format_args!(
                    "masters have {MAX_SESSIONS} sessions open on {}",
                    self.task.name
                ))
            })?);
        }
        ended.extend(open.insert(handle, Arc::new(session)));
        drop(open);
        ended.iter().for_each(|session| self.end_session(session));
        drop_in_background(ended);
        Ok(())
    }

    pub fn delete_worker_session(&self, request: &DeleteWorkerSessionRequest) -> DeleteWorkerSessionResponse {
        let ended = lock(&self.sessions.open).remove(&request.session_handle);
        ended.iter().for_each(|session| self.end_session(session));
        drop_in_background(ended);
        DeleteWorkerSessionResponse {}
    }

    fn end_session(&self, session: &WorkerSession) {
        session.over.store(true, Ordering::SeqCst);
        self.end_steps(session);
    }

    fn end_steps(&self, session: &WorkerSession) {
        self.steps.of_session(session.number).into_iter().for_each(|id| self.end_step(id));
    }

    /// Ends sessions and steps of masters disconnected for long.
    pub fn collect_sessions(&self, now: Instant) {
        let mut all: Vec<_> = lock(&self.sessions.default).iter().cloned().collect();
        let mut ended = Vec::new();
        {
            let mut open = lock(&self.sessions.open);
            open.retain(|_, session| {
                let stays = session.left_for(now) <= SESSIONS_OUTLIVE;
                if stays { &mut all } else { &mut ended }.push(session.clone());
                stays
            });
        }
        ended.iter().for_each(|session| self.end_session(session));
        for session in all.iter().filter(|s| s.left_for(now) > STEPS_OUTLIVE) {
            self.end_steps(session);
        }
    }

    /// Sessions of masters here.
    pub fn guests(&self) -> usize {
        lock(&self.sessions.open).len()
    }

    /// As `session`, and records the connection.
    pub fn session_used(
        &self,
        handle: &str,
        created: bool,
        connection: &Arc<ConnectionToken>,
    ) -> Result<Arc<WorkerSession>> {
        let session = self.session(handle, created)?;
        session.note_use(connection);
        Ok(session)
    }

    /// The session a request names; `created` is false if its master opened none.
    pub fn session(&self, handle: &str, created: bool) -> Result<Arc<WorkerSession>> {
        if let Some(found) = lock(&self.sessions.open).get(handle) {
            return Ok(found.clone());
        }
        if created && !handle.is_empty() {
            return Err(self.no_such_session(handle));
        }
        let mut default = lock(&self.sessions.default);
        if default.is_none() {
            *default = Some(Arc::new(self.open(None, false, Master::default())?));
        }
        default.clone().ok_or_else(|| internal("there is no default session"))
    }

    pub fn no_such_session(&self, handle: &str) -> Error {
        aborted(format_args!(
            "Session handle is not found: {handle}. Possibly this worker (\"{}\") just restarted.",
            self.task.name
        ))
    }

    fn open(&self, us: Option<Membership>, isolated: bool, master: Master) -> Result<WorkerSession> {
        let us = us.map_or_else(|| self.home.clone(), Arc::new);
        let mut options = self.task.options.clone();
        options.cpu_devices = options.cpu_devices.max(self.task.devices().len());
        let devices = self.task.session_devices(&us.task, &options, isolated)?;
        Ok(WorkerSession {
            number: self.sessions.count.fetch_add(1, Ordering::Relaxed) + 1,
            us,
            devices,
            kernels: Arc::default(),
            graphs: Mutex::default(),
            master,
            over: AtomicBool::new(false),
            connections: Mutex::default(),
            left_since: Mutex::default(),
        })
    }
}

impl Drop for WorkerSession {
    /// Releases the resources of its devices.
    fn drop(&mut self) {
        self.devices.iter().for_each(|d| d.context.resources.end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::ClusterSpec;

    impl Worker {
        /// The task and incarnation of each session's master.
        pub fn masters(&self) -> Vec<(String, i64)> {
            let open = lock(&self.sessions.open);
            open.values().map(|s| (s.master_task().to_string(), s.master.life)).collect()
        }
    }

    impl WorkerSession {
        /// Connections kept.
        pub fn connections(&self) -> usize {
            lock(&self.connections).len()
        }
    }

    /// In clusters that clients bring, masters may share a name, or have two.
    #[test]
    fn a_master_is_known_by_its_address_where_names_are_not_its_own() {
        let cluster = ClusterSpec::parse(r#"{"worker": ["a:1", "b:2"]}"#).unwrap();
        let us = Membership { task: String::new(), links: Default::default(), brought: Some(cluster) };
        let of =
            |index: u32, life| Master::of(format!("/job:worker/replica:0/task:{index}"), life, Some(&us));
        assert_eq!((of(0, 1).key.as_str(), of(1, 1).key.as_str(), of(2, 1).key.as_str()), ("a:1", "b:2", ""));
        assert!(of(1, 2).has_replaced(&of(1, 1)));
        for (new, old) in [(of(1, 1), of(1, 1)), (of(0, 2), of(1, 1)), (of(2, 2), of(2, 1))] {
            assert!(!new.has_replaced(&old));
        }
        let at_home = Master::of("/job:worker/replica:0/task:0".into(), 1, None);
        assert_eq!(at_home.key, at_home.task);
    }
}
