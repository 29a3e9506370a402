//! Clusters whose tasks authenticate by certificates and by a token.

use crate::common::*;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;
use thalweg_core::tensor::Tensor;
use thalweg_dist::cluster::ClusterSpec;
use thalweg_dist::{Credentials, RemoteSession, Security, Server, ServerOptions};
use thalweg_proto::ConfigProto;

/// y = w·x on a worker, w on a ps, and its gradient step on another worker.
const LINE: &str = "
    node { name: 'one' op: 'Const' device: '/job:ps/task:0' attr { key: 'dtype' value { type: DT_FLOAT } }
           attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 1 } } } }
    node { name: 'w' op: 'VariableV2' device: '/job:ps/task:0' attr { key: 'dtype' value { type: DT_FLOAT } }
           attr { key: 'shape' value { shape {} } } }
    node { name: 'init' op: 'Assign' input: 'w' input: 'one' attr { key: 'T' value { type: DT_FLOAT } } }
    node { name: 'read' op: 'Identity' input: 'w' device: '/job:ps/task:0' attr { key: 'T' value { type: DT_FLOAT } } }
    node { name: 'want' op: 'Placeholder' device: '/job:worker/task:0' attr { key: 'dtype' value { type: DT_FLOAT } } }
    node { name: 'error' op: 'Sub' input: 'read' input: 'want' device: '/job:worker/task:0' attr { key: 'T' value { type: DT_FLOAT } } }
    node { name: 'half' op: 'Const' device: '/job:worker/task:1' attr { key: 'dtype' value { type: DT_FLOAT } }
           attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 0.5 } } } }
    node { name: 'step' op: 'Mul' input: 'error' input: 'half' device: '/job:worker/task:1' attr { key: 'T' value { type: DT_FLOAT } } }
    node { name: 'train' op: 'AssignSub' input: 'w' input: 'step' attr { key: 'T' value { type: DT_FLOAT } } }";

struct Cluster {
    tasks: Vec<Server>,
    targets: Vec<String>,
}

/// A ps and two workers.
fn cluster(security: Security) -> Cluster {
    let mut spec = ClusterSpec::default();
    let mut listeners = Vec::new();
    let scheme = if security.tls.is_empty() { "grpc" } else { "grpcs" };
    let mut targets = Vec::new();
    for (job, task) in [("ps", 0), ("worker", 0), ("worker", 1)] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        targets.push(format!("{scheme}://{address}"));
        spec.jobs.entry(job.to_string()).or_default().insert(task, address);
        listeners.push((job, task, listener));
    }
    let serve = |(job, task, listener): (&str, u32, TcpListener)| {
        let options = ServerOptions {
            job: job.into(),
            task,
            threads: 2,
            cluster: spec.clone(),
            security: security.clone(),
            drain: Duration::ZERO,
            ..Default::default()
        };
        Server::start_on(listener, Arc::new(thalweg_ops::registry()), options).unwrap()
    };
    let tasks = listeners.into_iter().map(serve).collect();
    Cluster { tasks, targets }
}

fn trains(cluster: &Cluster, credentials: &Credentials) {
    let session =
        RemoteSession::connect_as(credentials, &cluster.targets[1], &graph(LINE), ConfigProto::default())
            .unwrap();
    run(&session, &[], &[], &["init"]).unwrap();
    for _ in 0..20 {
        run(&session, &[("want:0", Tensor::scalar(5f32))], &[], &["train"]).unwrap();
    }
    let w: f32 = run(&session, &[], &["read:0"], &[]).unwrap()[0].to_scalar().unwrap();
    assert!((w - 5.0).abs() < 1e-3, "{w}");
}

#[test]
fn three_tasks_train_over_mutual_tls() {
    let secrets = Secrets::new();
    let cluster = cluster(Security { tls: secrets.files("server"), ..Default::default() });
    trains(&cluster, &Credentials { tls: secrets.files("client"), ..Default::default() });
    assert_eq!(cluster.tasks[0].guests(), 1);
}

#[test]
fn three_tasks_train_with_tokens_and_an_admin_resets_all_of_them() {
    let secrets = Secrets::new();
    let cluster = cluster(Security { token_file: Some(secrets.tokens()), ..Default::default() });
    trains(&cluster, &secrets.token(RUN));
    RemoteSession::reset_as(&secrets.token(ADMIN), &cluster.targets[1], &[]).unwrap();
    let session = RemoteSession::connect_as(
        &secrets.token(RUN),
        &cluster.targets[2],
        &graph(LINE),
        ConfigProto::default(),
    )
    .unwrap();
    // The ps variable is cleared.
    assert!(run(&session, &[], &["read:0"], &[]).is_err());
}

#[test]
fn a_cluster_with_tls_does_not_start_without_an_authority() {
    let secrets = Secrets::new();
    let mut security = Security { tls: secrets.files("server"), ..Default::default() };
    security.tls.ca = None;
    let mut spec = ClusterSpec::default();
    spec.jobs.entry("ps".into()).or_default().insert(0, "127.0.0.1:1".into());
    let options = ServerOptions { job: "ps".into(), cluster: spec, security, ..Default::default() };
    let e = Server::start(Arc::new(thalweg_ops::registry()), options).err().unwrap();
    assert!(e.message().contains("--tls-ca"), "{e}");
}
