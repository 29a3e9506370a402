//! Sessions across tasks: workers found, worker sessions created, graphs registered, steps cleaned up.

use super::registered_graph::register;
use crate::cluster::{Link, Links, Membership};
use crate::wire::config::isolates_state;
use crate::worker::task::renamed;
use crate::worker::{StepTable, TransferLog};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use thalweg_core::error::{Code, Result};
use thalweg_core::rendezvous::Rendezvous;
use thalweg_core::resource::ResourceStore;
use thalweg_core::step::DeviceContext;
use thalweg_proto::{
    CleanupGraphRequest, CleanupGraphResponse, ConfigProto, CreateWorkerSessionRequest,
    CreateWorkerSessionResponse, DeleteWorkerSessionRequest, DeleteWorkerSessionResponse, DeviceAttributes,
    GetStatusRequest, GetStatusResponse, GraphOptions, ServerDef,
};
use thalweg_runtime::device::{Device, DeviceSpec};
use thalweg_runtime::session::cluster::{Cluster, RegisteredPart, TaskGraph};

/// The other tasks of one session.
pub struct SessionCluster {
    handle: String,
    us: Arc<Membership>,
    links: Vec<Arc<Link>>,
    /// Tasks by the names of their devices.
    tasks: HashMap<String, usize>,
    steps: Arc<StepTable>,
    options: GraphOptions,
    entropy: Arc<dyn Fn() -> u64 + Send + Sync>,
    /// DeleteWorkerSession was sent.
    ended: AtomicBool,
}

/// The master that opens a session.
pub struct SessionOpener<'a> {
    pub us: &'a Arc<Membership>,
    /// Our own first device: remote devices share its pool, memory and other context.
    pub device: &'a Device,
    pub steps: &'a Arc<StepTable>,
    pub log: crate::log::Log,
}

/// Waits until all tasks of the session are reachable, and creates worker sessions. Returns their devices and the cluster;
/// `None` if there are no other tasks.
pub async fn open_session(
    opener: SessionOpener<'_>,
    handle: &str,
    config: &ConfigProto,
) -> Result<Option<(Vec<Device>, Arc<SessionCluster>)>> {
    let wanted = links_passing(&opener.us.links, &config.device_filters)?;
    if wanted.is_empty() {
        return Ok(None);
    }
    let mut cluster = SessionCluster {
        handle: handle.to_string(),
        us: opener.us.clone(),
        links: Vec::new(),
        tasks: HashMap::new(),
        steps: opener.steps.clone(),
        options: config.graph_options.clone().unwrap_or_default(),
        entropy: opener.device.context.entropy.clone(),
        ended: AtomicBool::new(false),
    };
    let mut devices = Vec::new();
    for link in wanted {
        for device in status(&link, &opener).await? {
            cluster.tasks.insert(device.name.clone(), cluster.links.len());
            devices.push(remote_device(&device, opener.device)?);
        }
        let request = CreateWorkerSessionRequest {
            session_handle: handle.to_string(),
            server_def: Some(server_def(&link.task, opener.us)?),
            isolate_session_state: isolates_state(config),
            master_task: opener.us.task.clone(),
            master_incarnation: opener.device.context.incarnation as i64,
            ..Default::default()
        };
        // Listed first, so that it gets DeleteWorkerSession even after an error.
        cluster.links.push(link.clone());
        let _: CreateWorkerSessionResponse = link.call("CreateWorkerSession", &request).answer().await?;
    }
    Ok(Some((devices, Arc::new(cluster))))
}

/// The tasks that pass the filters, which are partial device names; all, if there are none.
pub fn links_passing(links: &Links, filters: &[String]) -> Result<Vec<Arc<Link>>> {
    let filters = filters.iter().map(|f| DeviceSpec::parse(f)).collect::<Result<Vec<_>>>()?;
    let mut links_passing = links.all();
    let mut specs = HashMap::new();
    for link in &links_passing {
        specs.insert(link.task.clone(), DeviceSpec::parse(&link.task)?);
    }
    let passes = |link: &Arc<Link>| {
        let task_only = |f: &DeviceSpec| DeviceSpec { kind: None, index: None, ..f.clone() };
        filters.is_empty()
            || filters.iter().any(|f| specs.get(&link.task).is_some_and(|s| task_only(f).matches(s)))
    };
    links_passing.retain(passes);
    Ok(links_passing)
}

const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(2);
/// Interval of `waiting_for_task` warnings.
const TELL_EVERY: Duration = Duration::from_secs(10);

/// The devices of a task. An unreachable task is retried with back-off, until the client cancels.
async fn status(link: &Arc<Link>, opener: &SessionOpener<'_>) -> Result<Vec<DeviceAttributes>> {
    let (mut wait, mut told) = (FIRST_WAIT, None::<Instant>);
    loop {
        let answer: Result<GetStatusResponse> = link.call("GetStatus", &GetStatusRequest {}).answer().await;
        match answer {
            Ok(answer) => {
                // In a session's own cluster, a task may have another name than its own.
                let mut devices = answer.device_attributes;
                devices.iter_mut().for_each(|d| d.name = renamed(&d.name, &link.task));
                return Ok(devices);
            }
            Err(e) if e.code() == Code::Unavailable => {
                let pairs: [(&str, &dyn std::fmt::Display); 3] =
                    [("task", &link.task), ("address", &link.address), ("error", &e.message())];
                if told.is_none_or(|t| t.elapsed() >= TELL_EVERY) {
                    opener.log.warn("waiting_for_task", &pairs);
                    told = Some(Instant::now());
                }
            }
            Err(e) => return Err(e),
        }
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(LONGEST_WAIT);
    }
}

fn server_def(task: &str, us: &Membership) -> Result<ServerDef> {
    let spec = DeviceSpec::parse(task)?;
    Ok(ServerDef {
        job_name: spec.job.unwrap_or_default(),
        task_index: spec.task.unwrap_or(0) as i32,
        protocol: "grpc".into(),
        cluster: us.brought.as_ref().map(|c| c.to_proto()),
        ..Default::default()
    })
}

/// Another task's device, for placement and partitioning: nothing runs on it here.
fn remote_device(attributes: &DeviceAttributes, ours: &Device) -> Result<Device> {
    Device::new(Arc::new(DeviceContext {
        name: attributes.name.as_str().into(),
        incarnation: attributes.incarnation,
        pool: ours.context.pool.clone(),
        resources: Arc::new(ResourceStore::new("elsewhere")),
        memory: ours.context.memory.clone(),
        entropy: ours.context.entropy.clone(),
        print: ours.context.print.clone(),
        access: ours.context.access.clone(),
    }))
}

impl SessionCluster {
    pub fn links_to(&self, tasks: &[usize]) -> Vec<Arc<Link>> {
        tasks.iter().filter_map(|t| self.links.get(*t)).cloned().collect()
    }

    /// The log of tensors received from other tasks.
    pub fn transfers(&self) -> &TransferLog {
        &self.steps.transfers
    }
}

impl Cluster for SessionCluster {
    fn task_of(&self, device: &Device) -> Option<usize> {
        self.tasks.get(device.name()).copied()
    }

    fn register(&self, task: usize, graph: TaskGraph) -> Result<Arc<dyn RegisteredPart>> {
        let link = self
            .links
            .get(task)
            .ok_or_else(|| thalweg_core::error::internal(format_args!("there is no task number {task}")))?;
        Ok(Arc::new(register(link, &self.handle, &self.options, graph)?))
    }

    fn begin_step(&self) -> (u64, Arc<dyn Rendezvous>) {
        // TensorFlow keeps step numbers below 2^56, and steps of different masters must differ.
        let id = (self.entropy)() & ((1 << 56) - 1);
        (id, self.steps.begin(id, &self.us))
    }

    fn end_step(&self, id: u64, tasks: &[usize]) {
        self.steps.end(id);
        let request = CleanupGraphRequest { step_id: id as i64 };
        for link in self.links_to(tasks) {
            link.call_then("CleanupGraph", &request, |_: Result<CleanupGraphResponse>| {});
        }
    }
}

impl SessionCluster {
    /// Sends DeleteWorkerSession, which ends all steps. Calls made from one thread arrive in order: the client's
    /// next request finds no waiting step of this session.
    pub fn end(&self) {
        if self.ended.swap(true, Ordering::AcqRel) {
            return;
        }
        let request = DeleteWorkerSessionRequest { session_handle: self.handle.clone() };
        for link in &self.links {
            link.call_then("DeleteWorkerSession", &request, |_: Result<DeleteWorkerSessionResponse>| {});
        }
    }
}

impl Drop for SessionCluster {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{ClusterSpec, Connector};
    use crate::net::client_connection::KeepAliveOptions;
    use crate::{Server, ServerOptions};

    fn connector() -> Connector {
        let keep_alive = KeepAliveOptions { interval: LONGEST_WAIT, timeout: LONGEST_WAIT };
        Connector::new(Vec::new(), keep_alive, Default::default(), Default::default(), Default::default())
    }

    #[test]
    fn a_worker_is_told_which_task_it_is_and_of_which_cluster() {
        let spec = ClusterSpec::parse(r#"{"ps": {"2": "a:1"}}"#).unwrap();
        let mut us = Membership::of(&connector(), "/job:worker/replica:0/task:0".into(), &spec).unwrap();
        let def = server_def("/job:ps/replica:0/task:2", &us).unwrap();
        assert_eq!((def.job_name.as_str(), def.task_index, def.protocol.as_str()), ("ps", 2, "grpc"));
        assert!(def.cluster.is_none(), "it knows its own");
        us.brought = Some(spec.clone());
        let def = server_def("/job:ps/replica:0/task:2", &us).unwrap();
        assert_eq!(ClusterSpec::from_proto(&def.cluster.unwrap()).unwrap(), spec);
    }

    #[test]
    fn filters_choose_tasks_whatever_devices_they_name() {
        let spec = ClusterSpec::parse(r#"{"ps": ["a:1"], "worker": ["b:1", "c:1"]}"#).unwrap();
        let us = Membership::of(&connector(), "/job:worker/replica:0/task:0".into(), &spec).unwrap();
        let links_passing = |filters: &[&str]| -> Vec<String> {
            let filters: Vec<String> = filters.iter().map(|f| f.to_string()).collect();
            links_passing(&us.links, &filters).unwrap().iter().map(|link| link.address.clone()).collect()
        };
        assert_eq!(links_passing(&[]), ["a:1", "c:1"]);
        assert_eq!(links_passing(&["/job:ps/device:GPU:7"]), ["a:1"]);
        assert_eq!(links_passing(&["/job:worker/task:1/device:CPU:0", "/job:none"]), ["c:1"]);
        assert!(links_passing(&["/job:worker/task:0"]).is_empty());
    }

    /// The first connection is lost at once: the task is starting.
    #[tokio::test]
    async fn a_task_that_is_not_there_yet_is_waited_for() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let spec = ClusterSpec::parse(&format!(r#"{{"ps": ["{address}"]}}"#)).unwrap();
        let connector = connector();
        let us = Arc::new(Membership::of(&connector, "/job:worker/replica:0/task:0".into(), &spec).unwrap());
        let started = std::thread::spawn(move || {
            drop(listener.accept().unwrap());
            let options = ServerOptions { job: "else".into(), threads: 1, ..Default::default() };
            Server::start_on(listener, Arc::new(thalweg_ops::registry()), options).unwrap()
        });
        let (link, master) = (us.links.all().remove(0), crate::testing::master());
        let device = &master.task.devices()[0];
        let opener = SessionOpener { us: &us, device, steps: &master.worker.steps, log: Default::default() };
        let devices = status(&link, &opener).await.unwrap();
        // Its name is that of our cluster.
        assert_eq!(devices.len(), 1);
        assert_eq!(devices[0].name, "/job:ps/replica:0/task:0/device:CPU:0");
        drop(started.join().unwrap());
    }
}
