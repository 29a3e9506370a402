//! Sessions whose client brings the cluster (`ConfigProto.cluster_def`): the servers need not know one another.

use crate::common::*;
use thalweg_core::error::{Code, Result};
use thalweg_core::tensor::Tensor;
use thalweg_dist::{RemoteSession, Server};
use thalweg_proto::config_proto::Experimental;
use thalweg_proto::{ClusterDef, ConfigProto, JobDef};

fn cluster(jobs: &[(&str, &[&Server])]) -> ClusterDef {
    let job = |(name, servers): &(&str, &[&Server])| JobDef {
        name: name.to_string(),
        tasks: servers.iter().enumerate().map(|(i, s)| (i as i32, s.address().to_string())).collect(),
    };
    ClusterDef { job: jobs.iter().map(job).collect() }
}

fn open(master: &Server, cluster: ClusterDef) -> Result<RemoteSession> {
    open_with(master, cluster, Default::default())
}

fn open_with(master: &Server, cluster: ClusterDef, more: Experimental) -> Result<RemoteSession> {
    let config = ConfigProto { cluster_def: Some(cluster), experimental: Some(more), ..Default::default() };
    RemoteSession::connect(&format!("grpc://{}", master.address()), &graph(ACROSS), config)
}

#[test]
fn servers_that_stand_alone_work_together_in_it() {
    let (a, b, c) = (alone(), alone(), alone());
    let shares = Experimental { share_session_state_in_clusterspec_propagation: true, ..Default::default() };
    let s = open_with(&a, cluster(&[("ps", &[&c]), ("worker", &[&a, &b])]), shares.clone()).unwrap();
    run(&s, &[], &[], &["init"]).unwrap();
    let x = [("x:0", Tensor::scalar(1f32))];
    for expected in [8.0, 24.0] {
        assert_eq!(run(&s, &x, &["twice:0"], &["plus"]).unwrap()[0].to_scalar::<f32>().unwrap(), expected);
    }
    assert_eq!((a.guests(), b.guests(), c.guests()), (0, 1, 1));
    // The same servers under other names, concurrently: state belongs to the server.
    let renamed = cluster(&[("ps", &[&c]), ("worker", &[&b, &a])]);
    let other = open_with(&b, renamed.clone(), shares).unwrap();
    assert_eq!(run(&other, &x, &["sum:0"], &[]).unwrap()[0].to_scalar::<f32>().unwrap(), 36.0);
    // Without the option it belongs to the session, as TensorFlow's.
    let own = open(&b, renamed).unwrap();
    assert_eq!(run(&own, &x, &["sum:0"], &[]).unwrap_err().code(), Code::FailedPrecondition);
    // Errors use the session's task names.
    let swapped = open(&a, cluster(&[("ps", &[&b]), ("worker", &[&a, &c])])).unwrap();
    let e = run(&swapped, &x, &["twice:0"], &[]).unwrap_err();
    assert_eq!(e.code(), Code::FailedPrecondition, "{e}");
    assert!(e.message().contains("From /job:ps/replica:0/task:0"), "{e}");
}

#[test]
fn a_cluster_brought_may_differ_from_the_servers_own() {
    let home = Cluster::of(&[("ps", 1), ("worker", 2)]);
    let [Some(ps), Some(a), Some(b)] = &home.tasks[..] else { panic!("three tasks") };
    let s = open(a, cluster(&[("ps", &[b]), ("worker", &[a, ps])])).unwrap();
    run(&s, &[], &[], &["init"]).unwrap();
    let x = [("x:0", Tensor::scalar(1f32))];
    assert_eq!(run(&s, &x, &["twice:0"], &[]).unwrap()[0].to_scalar::<f32>().unwrap(), 8.0);
    // The variable is on `b`, not on the ps of the servers' own cluster.
    let usual = home.session(1, &graph(ACROSS));
    assert_eq!(run(&usual, &x, &["twice:0"], &[]).unwrap_err().code(), Code::FailedPrecondition);
}

#[test]
fn clusters_that_make_no_sense_are_refused() {
    let (a, b) = (alone(), alone());
    let refused = |cluster: ClusterDef, why: &str| {
        let e = open(&a, cluster).err().unwrap();
        assert_eq!(e.code(), Code::InvalidArgument, "{e}");
        assert!(e.message().contains(why), "{e}");
    };
    refused(
        cluster(&[("worker", &[&b])]),
        "The master (current machine) is not included in the provided cluster_def",
    );
    refused(cluster(&[("ps", &[&a]), ("worker", &[&a])]), "Found multiple matching tasks");
    refused(
        cluster(&[("worker", &[&a]), ("worker", &[&b])]),
        "Duplicate job ID in cluster specification: worker",
    );
    refused(
        cluster(&[("worker", &[&a]), ("no/job", &[&b])]),
        "'/job:no/job/replica:0/task:0' is not a device name",
    );
    for address in ["nonsense", "host:", ":1", "host:99999", "a/b:1"] {
        let mut def = cluster(&[("worker", &[&a])]);
        def.job[0].tasks.insert(1, address.into());
        refused(def, &format!("Could not interpret \"{address}\" as a host-port pair"));
    }
    let mut def = cluster(&[("worker", &[&a])]);
    def.job[0].tasks.insert(-1, "host:1".into());
    refused(def, "a task of number -1");
    // An empty one is ignored: the session uses the server's own.
    let e = open(&a, ClusterDef::default()).err().unwrap();
    assert!(
        e.message().contains("available devices are [ /job:localhost/replica:0/task:0/device:CPU:0 ]"),
        "{e}"
    );
}
