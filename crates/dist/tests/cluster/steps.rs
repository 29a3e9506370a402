//! Steps over several tasks.

use crate::common::*;
use std::time::Duration;
use thalweg_core::error::Code;
use thalweg_core::tensor::Tensor;
use thalweg_dist::{RemoteRunOptions, RemoteSession};
use thalweg_proto::ConfigProto;

fn scalar(values: &[Tensor], i: usize) -> f32 {
    values[i].to_scalar().unwrap()
}

#[test]
fn a_graph_on_three_tasks_runs_from_any_of_them() {
    let cluster = Cluster::of(&[("ps", 1), ("worker", 2)]);
    let g = graph(ACROSS);
    for master in 0..3 {
        let s = cluster.session(master, &g);
        run(&s, &[], &[], &["init"]).unwrap();
        let x = || [("x:0", Tensor::scalar(1f32))];
        let r = run(&s, &x(), &["twice:0", "sum:0", "x:0", "read:0"], &[]).unwrap();
        assert_eq!([0, 1, 2, 3].map(|i| scalar(&r, i)), [8.0, 4.0, 1.0, 3.0]);
        run(&s, &x(), &[], &["plus"]).unwrap();
        assert_eq!(scalar(&run(&s, &[], &["read:0"], &[]).unwrap(), 0), 11.0);
        assert_eq!(s.devices().unwrap().len(), 3);
        s.close().unwrap();
    }
}

/// Regression: the second step reused the first one's Send, to the wrong task.
#[test]
fn a_tensor_goes_to_each_task_that_a_step_needs_it_on_wherever_earlier_steps_sent_it() {
    let elsewhere = "
        node { name: 'elsewhere' op: 'Neg' input: 'read' device: '/job:worker/task:1' attr { key: 'T' value { type: DT_FLOAT } } }";
    let cluster = Cluster::of(&[("ps", 1), ("worker", 2)]);
    for master in 0..3 {
        let s = cluster.session(master, &graph(&format!("{ACROSS}{elsewhere}")));
        run(&s, &[], &[], &["init"]).unwrap();
        let sum = run(&s, &[("x:0", Tensor::scalar(1f32))], &["sum:0"], &[]).unwrap();
        let other = run(&s, &[], &["elsewhere:0"], &[]).unwrap();
        assert_eq!((scalar(&sum, 0), scalar(&other, 0)), (4.0, -3.0));
    }
}

#[test]
fn state_on_a_ps_is_shared_by_the_sessions_of_all_masters() {
    let cluster = Cluster::of(&[("ps", 1), ("worker", 2)]);
    let g = graph(ACROSS);
    let (a, b) = (cluster.session(1, &g), cluster.session(2, &g));
    run(&a, &[], &[], &["init"]).unwrap();
    run(&a, &[("x:0", Tensor::scalar(1f32))], &[], &["plus"]).unwrap();
    assert_eq!(scalar(&run(&b, &[], &["read:0"], &[]).unwrap(), 0), 11.0);
    let own = ConfigProto { isolate_session_state: true, ..Default::default() };
    let c = RemoteSession::connect(&cluster.target(1), &g, own).unwrap();
    assert_eq!(run(&c, &[], &["read:0"], &[]).unwrap_err().code(), Code::FailedPrecondition);
}

#[test]
fn an_error_on_another_task_ends_the_step_and_names_its_task_and_node() {
    let cluster = Cluster::of(&[("ps", 1), ("worker", 2)]);
    let s = cluster.session(1, &graph(ACROSS));
    for _ in 0..3 {
        let e = run(&s, &[("x:0", Tensor::scalar(1f32))], &["twice:0"], &[]).unwrap_err();
        assert_eq!(e.code(), Code::FailedPrecondition, "{e}");
        assert!(e.message().contains("From /job:ps/replica:0/task:0"), "{e}");
        assert!(e.message().contains("{{node v}}") || e.message().contains("{{node read}}"), "{e}");
    }
    run(&s, &[], &[], &["init"]).unwrap();
    assert!(run(&s, &[("x:0", Tensor::scalar(1f32))], &["twice:0"], &[]).is_ok());
}

#[test]
fn device_filters_leave_tasks_out() {
    let cluster = Cluster::of(&[("ps", 1), ("worker", 2)]);
    let config = ConfigProto {
        device_filters: vec!["/job:ps".into(), "/job:worker/task:0".into()],
        ..Default::default()
    };
    let s = RemoteSession::connect(&cluster.target(1), &graph(""), config).unwrap();
    let devices = s.devices().unwrap();
    assert_eq!(devices.len(), 2, "{devices:?}");
    assert!(!devices.iter().any(|d| d.contains("/job:worker/replica:0/task:1")));
}

#[test]
fn a_traced_step_tells_of_all_tasks() {
    let cluster = Cluster::of(&[("ps", 1), ("worker", 2)]);
    let s = cluster.session(1, &graph(ACROSS));
    run(&s, &[], &[], &["init"]).unwrap();
    let options =
        RemoteRunOptions { timeout: Some(Duration::from_secs(60)), trace: true, ..Default::default() };
    let feeds = [("x:0".to_string(), Tensor::scalar(1f32))];
    for _ in 0..2 {
        let (_, told) = s.run(&feeds, &["twice:0".into()], &[], &options).unwrap();
        let stats = told.step_stats.unwrap();
        let on = |node: &str| -> Vec<&str> {
            let there = stats.dev_stats.iter().filter(|d| d.node_stats.iter().any(|n| n.node_name == node));
            there.map(|d| d.device.as_str()).collect()
        };
        let devices =
            ["/job:ps/replica:0/task:0", "/job:worker/replica:0/task:0", "/job:worker/replica:0/task:1"]
                .map(|task| format!("{task}/device:CPU:0"));
        for (node, device) in ["read", "sum", "twice"].iter().zip(&devices) {
            assert_eq!(on(node), [device], "{node}");
        }
        // Each worker received one tensor: the variable, and the sum.
        assert_eq!(on("RecvTensor"), devices[1..]);
        let transfers =
            stats.dev_stats.iter().flat_map(|d| &d.node_stats).filter(|n| n.node_name == "RecvTensor");
        assert_eq!(transfers.filter(|n| n.timeline_label.starts_with("[4B]")).count(), 2);
    }
    let (_, told) = s.run(&feeds, &["twice:0".into()], &[], &RemoteRunOptions::default()).unwrap();
    assert!(told.step_stats.is_none());
}

#[test]
fn a_large_tensor_arrives_whole() {
    let text = "
        node { name: 'x' op: 'Placeholder' device: '/job:ps/task:0' attr { key: 'dtype' value { type: DT_FLOAT } } }
        node { name: 'neg' op: 'Neg' input: 'x' device: '/job:ps/task:0' attr { key: 'T' value { type: DT_FLOAT } } }
        node { name: 'pos' op: 'Neg' input: 'neg' device: '/job:worker/task:0' attr { key: 'T' value { type: DT_FLOAT } } }";
    let cluster = Cluster::of(&[("ps", 1), ("worker", 1)]);
    let s = cluster.session(1, &graph(text));
    let values: Vec<f32> = (0..3_000_000).map(|i| i as f32).collect();
    let r = run(&s, &[("x:0", Tensor::vector(&values).unwrap())], &["pos:0"], &[]).unwrap();
    assert_eq!(r[0].as_slice::<f32>().unwrap(), &values[..]);
}

#[test]
fn a_reset_drops_the_state_of_all_tasks() {
    let cluster = Cluster::of(&[("ps", 1), ("worker", 2)]);
    let g = graph(ACROSS);
    let s = cluster.session(1, &g);
    run(&s, &[], &[], &["init"]).unwrap();
    thalweg_dist::RemoteSession::reset(&cluster.target(1), &[]).unwrap();
    assert_eq!(run(&s, &[], &["read:0"], &[]).unwrap_err().code(), Code::Aborted);
    let again = cluster.session(1, &g);
    assert_eq!(run(&again, &[], &["read:0"], &[]).unwrap_err().code(), Code::FailedPrecondition);
}
