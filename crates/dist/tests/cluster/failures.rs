//! Tasks that fail and restart.

use crate::common::*;
use thalweg_core::error::Code;
use thalweg_core::tensor::Tensor;

fn x() -> [(&'static str, Tensor); 1] {
    [("x:0", Tensor::scalar(1f32))]
}

#[test]
fn a_task_that_is_gone_is_unavailable_and_named() {
    let mut cluster = Cluster::of(&[("ps", 1), ("worker", 2)]);
    let s = cluster.session(1, &graph(ACROSS));
    run(&s, &[], &[], &["init"]).unwrap();
    run(&s, &x(), &["twice:0"], &[]).unwrap();
    cluster.stop(2);
    let e = run(&s, &x(), &["twice:0"], &[]).unwrap_err();
    assert_eq!(e.code(), Code::Unavailable, "{e}");
    assert!(e.message().contains("/job:worker/replica:0/task:1"), "{e}");
    // Steps without it succeed.
    assert!(run(&s, &x(), &["sum:0"], &[]).is_ok());
}

#[test]
fn a_task_that_started_anew_aborts_steps_of_old_sessions() {
    let mut cluster = Cluster::of(&[("ps", 1), ("worker", 2)]);
    let g = graph(ACROSS);
    let s = cluster.session(1, &g);
    run(&s, &[], &[], &["init"]).unwrap();
    run(&s, &x(), &["twice:0"], &[]).unwrap();
    cluster.restart(0);
    let mut codes = Vec::new();
    while codes.last() != Some(&Code::Aborted) {
        // The first step may still find the lost connection.
        codes.push(run(&s, &x(), &["twice:0"], &[]).unwrap_err().code());
        assert!(
            codes.len() < 5 && codes.iter().all(|c| matches!(c, Code::Aborted | Code::Unavailable)),
            "{codes:?}"
        );
    }
    let again = cluster.session(1, &g);
    assert_eq!(run(&again, &x(), &["twice:0"], &[]).unwrap_err().code(), Code::FailedPrecondition);
    run(&again, &[], &[], &["init"]).unwrap();
    assert!(run(&again, &x(), &["twice:0"], &[]).is_ok());
}

#[test]
fn a_step_that_waits_on_another_task_ends_with_its_client() {
    let text = "
        node { name: 'q' op: 'FIFOQueueV2' device: '/job:ps/task:0' attr { key: 'component_types' value { list { type: DT_FLOAT } } }
               attr { key: 'shapes' value { list { shape {} } } } }
        node { name: 'get' op: 'QueueDequeueV2' input: 'q' attr { key: 'component_types' value { list { type: DT_FLOAT } } } }
        node { name: 'c' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } }
               attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 3 } } } }
        node { name: 'put' op: 'QueueEnqueueV2' input: 'q' input: 'c' attr { key: 'Tcomponents' value { list { type: DT_FLOAT } } } }
        node { name: 'size' op: 'QueueSizeV2' input: 'q' }
        node { name: 'got' op: 'Identity' input: 'get' device: '/job:worker/task:0' attr { key: 'T' value { type: DT_FLOAT } } }";
    let cluster = Cluster::of(&[("ps", 1), ("worker", 1)]);
    let s = cluster.session(1, &graph(text));
    let options = thalweg_dist::RemoteRunOptions {
        timeout: Some(std::time::Duration::from_millis(100)),
        ..Default::default()
    };
    let e = s.run(&[], &["got:0".into()], &[], &options).unwrap_err();
    assert_eq!(e.code(), Code::DeadlineExceeded, "{e}");
    // A leaked step would dequeue the new element.
    run(&s, &[], &[], &["put"]).unwrap();
    assert_eq!(run(&s, &[], &["size:0"], &[]).unwrap()[0].to_scalar::<i32>().unwrap(), 1);
}
