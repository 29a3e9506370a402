//! A cluster of tasks, each with its own port, and sessions on them.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;
use thalweg_core::error::Result;
use thalweg_core::tensor::Tensor;
use thalweg_dist::cluster::ClusterSpec;
use thalweg_dist::{RemoteRunOptions, RemoteSession, Server, ServerOptions};
use thalweg_graph::Graph;
use thalweg_proto::{ConfigProto, text};

pub struct Cluster {
    pub spec: ClusterSpec,
    pub tasks: Vec<Option<Server>>,
    names: Vec<(String, u32)>,
}

impl Cluster {
    /// Tasks of each job.
    pub fn of(jobs: &[(&str, u32)]) -> Cluster {
        Cluster::known_by(jobs, |_, _, address| address)
    }

    /// As `of`; `known` maps a task's address to the one in the ClusterSpec.
    pub fn known_by(jobs: &[(&str, u32)], known: impl Fn(&str, u32, String) -> String) -> Cluster {
        let mut spec = ClusterSpec::default();
        let mut listeners = Vec::new();
        for (job, tasks) in jobs {
            for task in 0..*tasks {
                let listener = TcpListener::bind("127.0.0.1:0").unwrap();
                let address = known(job, task, listener.local_addr().unwrap().to_string());
                spec.jobs.entry(job.to_string()).or_default().insert(task, address);
                listeners.push((job.to_string(), task, listener));
            }
        }
        let mut cluster = Cluster { spec, tasks: Vec::new(), names: Vec::new() };
        for (job, task, listener) in listeners {
            cluster.tasks.push(Some(cluster.serve(listener, &job, task)));
            cluster.names.push((job, task));
        }
        cluster
    }

    pub fn serve(&self, listener: TcpListener, job: &str, task: u32) -> Server {
        let options = ServerOptions {
            job: job.into(),
            task,
            threads: 2,
            cluster: self.spec.clone(),
            drain: Duration::ZERO,
            ..Default::default()
        };
        Server::start_on(listener, Arc::new(thalweg_ops::registry()), options).unwrap()
    }

    pub fn stop(&mut self, task: usize) {
        self.tasks[task] = None;
    }

    /// Restarts a task at its old address, without its state.
    pub fn restart(&mut self, task: usize) {
        self.stop(task);
        let (job, index) = self.names[task].clone();
        let address = self.spec.address(&job, index).unwrap();
        let listener = TcpListener::bind(address).unwrap();
        self.tasks[task] = Some(self.serve(listener, &job, index));
    }

    pub fn target(&self, task: usize) -> String {
        let (job, index) = &self.names[task];
        format!("grpc://{}", self.spec.address(job, *index).unwrap())
    }

    pub fn session(&self, task: usize, graph: &Graph) -> RemoteSession {
        RemoteSession::connect(&self.target(task), graph, ConfigProto::default()).unwrap()
    }
}

/// A server without a cluster.
pub fn alone() -> Server {
    let options = ServerOptions { threads: 2, drain: Duration::ZERO, ..Default::default() };
    Server::start(Arc::new(thalweg_ops::registry()), options).unwrap()
}

pub fn graph(pbtxt: &str) -> Graph {
    let def = text::parse_graph_def(pbtxt).unwrap();
    Graph::from_def(Arc::new(thalweg_ops::registry()), &def).unwrap()
}

/// A step with a timeout, for tests that hang.
pub fn run(
    session: &RemoteSession,
    feeds: &[(&str, Tensor)],
    fetches: &[&str],
    targets: &[&str],
) -> Result<Vec<Tensor>> {
    let owned = |names: &[&str]| names.iter().map(|n| n.to_string()).collect::<Vec<_>>();
    let feeds: Vec<_> = feeds.iter().map(|(n, t)| (n.to_string(), t.clone())).collect();
    let options = RemoteRunOptions { timeout: Some(Duration::from_secs(60)), ..Default::default() };
    session.run(&feeds, &owned(fetches), &owned(targets), &options).map(|r| r.0)
}

/// A variable `v` on a ps, its initialiser, and sums on two other tasks.
pub const ACROSS: &str = "
    node { name: 'c' op: 'Const' device: '/job:ps/task:0' attr { key: 'dtype' value { type: DT_FLOAT } }
           attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 3 } } } }
    node { name: 'v' op: 'VariableV2' device: '/job:ps/task:0' attr { key: 'dtype' value { type: DT_FLOAT } }
           attr { key: 'shape' value { shape {} } } }
    node { name: 'init' op: 'Assign' input: 'v' input: 'c' attr { key: 'T' value { type: DT_FLOAT } } }
    node { name: 'read' op: 'Identity' input: 'v' device: '/job:ps/task:0' attr { key: 'T' value { type: DT_FLOAT } } }
    node { name: 'x' op: 'Placeholder' device: '/job:worker/task:0' attr { key: 'dtype' value { type: DT_FLOAT } } }
    node { name: 'sum' op: 'AddV2' input: 'x' input: 'read' device: '/job:worker/task:0' attr { key: 'T' value { type: DT_FLOAT } } }
    node { name: 'twice' op: 'AddV2' input: 'sum' input: 'sum' device: '/job:worker/task:1' attr { key: 'T' value { type: DT_FLOAT } } }
    node { name: 'plus' op: 'AssignAdd' input: 'v' input: 'twice' attr { key: 'T' value { type: DT_FLOAT } } }";
