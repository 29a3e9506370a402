//! Steps that move many tensors between tasks: more than one poll of a connection may handle.

use crate::common::*;
use std::fmt::Write;
use thalweg_core::error::Code;
use thalweg_dist::RemoteSession;

const FLOAT: &str = "attr { key: 'T' value { type: DT_FLOAT } }";

fn constant(name: &str, device: &str, dtype: &str, value: &str) -> String {
    format!(
        "node {{ name: '{name}' op: 'Const' device: '{device}' attr {{ key: 'dtype' value {{ type: {dtype} }} }}
         attr {{ key: 'value' value {{ tensor {{ dtype: {dtype} tensor_shape {{ dim {{ size: 1 }} }} {value} }} }} }} }}\n"
    )
}

/// So many variables of one element, spread over the ps tasks. `init` sets them to 1, `sum` adds them up on the
/// worker, `update` adds one to each, from the worker. `sparse`: by Gather and ScatterAdd.
fn variables(count: usize, ps: usize, sparse: bool) -> String {
    let worker = "/job:worker/task:0";
    let mut text = constant("one", worker, "DT_FLOAT", "float_val: 1");
    text += &constant("index", worker, "DT_INT32", "int_val: 0");
    let (mut read, mut inits, mut updates) = (String::new(), String::new(), String::new());
    for i in 0..count {
        let device = format!("/job:ps/task:{}", i % ps);
        let v = format!("v{i}");
        text += &constant(&format!("{v}/start"), &device, "DT_FLOAT", "float_val: 1");
        let on = format!("device: '{device}'");
        let _ = write!(
            text,
            "node {{ name: '{v}' op: 'VariableV2' {on} attr {{ key: 'dtype' value {{ type: DT_FLOAT }} }}
               attr {{ key: 'shape' value {{ shape {{ dim {{ size: 1 }} }} }} }} }}
             node {{ name: '{v}/init' op: 'Assign' {on} input: '{v}' input: '{v}/start' {FLOAT} }}\n"
        );
        let types = "attr { key: 'Tparams' value { type: DT_FLOAT } } attr { key: 'Tindices' value { type: DT_INT32 } }";
        let _ = match sparse {
            true => write!(
                text,
                "node {{ name: '{v}/read' op: 'Gather' {on} input: '{v}' input: 'index' {types} }}
                 node {{ name: '{v}/update' op: 'ScatterAdd' {on} input: '{v}' input: 'index' input: 'one' {FLOAT}
                   attr {{ key: 'Tindices' value {{ type: DT_INT32 }} }} }}\n"
            ),
            false => write!(
                text,
                "node {{ name: '{v}/read' op: 'Identity' {on} input: '{v}' {FLOAT} }}
                 node {{ name: '{v}/here' op: 'Mul' device: '{worker}' input: '{v}/read' input: 'one' {FLOAT} }}
                 node {{ name: '{v}/update' op: 'AssignAdd' {on} input: '{v}' input: '{v}/here' {FLOAT} }}\n"
            ),
        };
        let _ = write!(read, "input: '{v}/read' ");
        let _ = write!(inits, "input: '^{v}/init' ");
        let _ = write!(updates, "input: '^{v}/update' ");
    }
    let _ = write!(
        text,
        "node {{ name: 'sum' op: 'AddN' device: '{worker}' {read} attr {{ key: 'N' value {{ i: {count} }} }} {FLOAT} }}
         node {{ name: 'init' op: 'NoOp' device: '{worker}' {inits} }}
         node {{ name: 'update' op: 'NoOp' device: '{worker}' {updates} }}"
    );
    text
}

fn sum(s: &RemoteSession) -> f32 {
    run(s, &[], &["sum:0"], &[]).unwrap()[0].as_slice::<f32>().unwrap()[0]
}

/// Regression: a connection's poll looped while calls were queued, but tokio's cooperative budget of 128 was spent.
#[test]
fn a_step_that_moves_128_or_more_tensors_between_two_tasks_ends() {
    for (count, ps, sparse) in [
        (127, 1, false),
        (128, 1, false),
        (129, 1, true),
        (129, 2, false),
        (600, 1, false),
        (600, 2, true),
        (5_000, 1, true),
        (5_000, 2, false),
    ] {
        let cluster = Cluster::of(&[("worker", 1), ("ps", ps as u32)]);
        let s = cluster.session(0, &graph(&variables(count, ps, sparse)));
        run(&s, &[], &[], &["init"]).unwrap();
        assert_eq!(sum(&s), count as f32);
        run(&s, &[], &[], &["update"]).unwrap();
        assert_eq!(sum(&s), 2.0 * count as f32, "{count} on {ps} ps, sparse: {sparse}");
    }
}

/// Many receives fail at once; the other tasks continue.
#[test]
fn a_ps_that_dies_while_hundreds_of_tensors_are_asked_of_it_is_unavailable() {
    let mut cluster = Cluster::of(&[("worker", 1), ("ps", 2)]);
    let s = cluster.session(0, &graph(&variables(600, 2, false)));
    run(&s, &[], &[], &["init"]).unwrap();
    let target = cluster.target(0);
    let steps = std::thread::scope(|scope| {
        let steps = scope.spawn(|| {
            let mut done = 0;
            loop {
                match run(&s, &[], &["sum:0"], &["update"]) {
                    Ok(_) => done += 1,
                    Err(e) => return (done, e),
                }
            }
        });
        cluster.stop(2);
        steps.join().unwrap()
    });
    let codes = [Code::Unavailable, Code::Aborted, Code::Cancelled];
    assert!(codes.contains(&steps.1.code()), "after {} steps: {}", steps.0, steps.1);
    let alone = graph(&constant("c", "/job:worker/task:0", "DT_FLOAT", "float_val: 7"));
    let filters = vec!["/job:worker".to_string()];
    let config = thalweg_proto::ConfigProto { device_filters: filters, ..Default::default() };
    let s = RemoteSession::connect(&target, &alone, config).unwrap();
    assert_eq!(run(&s, &[], &["c:0"], &[]).unwrap()[0].as_slice::<f32>().unwrap(), [7.0]);
}
