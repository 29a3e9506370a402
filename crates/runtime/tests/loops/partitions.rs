//! A partitioned graph has the results of the whole one: loops, conds, variables and control edges, placed at random.

use crate::maker::Maker;
use thalweg_core::attr::Attr;
use thalweg_core::dtype::DataType;
use thalweg_core::node::Output;
use thalweg_core::shape::PartialShape;
use thalweg_core::tensor::Tensor;
use thalweg_graph::NodeRequest;
use thalweg_runtime::{Session, SessionOptions};

const DEVICES: usize = 3;

/// A variable with random values added in sequence; its last value.
fn variable(m: &mut Maker, values: &[Output]) -> Output {
    let attrs = [
        ("dtype", DataType::Int32.into()),
        ("shape", Attr::Shape(PartialShape::scalar())),
        ("shared_name", "v".into()),
    ];
    let handle = m.add("VarHandleOp", vec![], &attrs);
    let zero = m.constant(0);
    let mut last = m.add_target("AssignVariableOp", vec![handle.into(), zero.into()], &[]);
    for _ in 0..1 + m.dice.roll(3) {
        let value = m.dice.pick(values);
        let request = NodeRequest {
            op: "AssignAddVariableOp",
            name: "update",
            args: vec![handle.into(), value.into()],
            control: &[last],
            ..Default::default()
        };
        last = m.g.add_node(request).unwrap();
    }
    let read = NodeRequest {
        op: "ReadVariableOp",
        name: "read",
        args: vec![handle.into()],
        attrs: [("dtype", Attr::from(DataType::Int32))].into_iter().collect(),
        control: &[last],
        ..Default::default()
    };
    m.g.add_node(read).unwrap().output(0)
}

/// Puts every node without colocation constraints on a random device.
fn scatter(m: &mut Maker) {
    let ids: Vec<_> = m.g.ids().collect();
    for id in ids {
        let resource = |o: &Output| m.g.dtype(*o) == DataType::Resource;
        let tied = m.g.node(id).inputs.iter().any(resource);
        if !tied {
            let device = m.dice.roll(DEVICES);
            m.g.node_mut(id).device = format!("/device:CPU:{device}").into();
        }
    }
}

fn numbers(values: Vec<Tensor>) -> Vec<i32> {
    values.iter().map(|t| t.to_scalar::<i32>().unwrap()).collect()
}

#[test]
fn random_graphs_placed_at_random_give_the_same_as_on_one_device() {
    for seed in 0..300 {
        let mut m = Maker::new(seed);
        m.conds = true;
        let fed = m.add("Placeholder", vec![], &[("dtype", DataType::Int32.into())]);
        let mut values = vec![fed, m.constant(3)];
        m.compute(&mut values, 2);
        for _ in 0..1 + m.dice.roll(2) {
            let left = if m.dice.roll(4) == 0 { m.cond(&values, 2) } else { m.while_loop(&values, &[], 2) };
            values.extend(left);
        }
        let read = variable(&mut m, &values);
        values.push(read);
        let whole = Session::of(&m.g, SessionOptions { threads: 2, ..Default::default() }).unwrap();
        scatter(&mut m);
        let names: Vec<String> = values.iter().map(|o| m.g.tensor_name(*o)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let fed = m.g.tensor_name(fed);
        let far_ahead = SessionOptions::default().receive_ahead;
        for (optimise, receive_ahead) in [(true, far_ahead), (false, far_ahead), (true, 0)] {
            let options = SessionOptions {
                cpu_devices: DEVICES,
                threads: 2,
                optimise,
                receive_ahead,
                operation_timeout: Some(std::time::Duration::from_secs(20)),
                ..Default::default()
            };
            let cut = Session::of(&m.g, options).unwrap();
            for value in [7, -3] {
                let run =
                    |s: &Session| s.run(&[(&fed, Tensor::scalar(value))], &names[1..], &[]).map(numbers);
                assert_eq!(run(&cut).unwrap(), run(&whole).unwrap(), "seed {seed}");
            }
        }
    }
}

/// Without loops nearly every Recv may be delayed.
#[test]
fn random_graphs_whose_receives_wait_as_long_as_they_can() {
    let mut held = 0;
    for seed in 0..200 {
        let mut m = Maker::new(seed);
        let shape = Attr::Shape(PartialShape::scalar());
        let fed = m.add("Placeholder", vec![], &[("dtype", DataType::Int32.into()), ("shape", shape)]);
        let mut values = vec![fed, m.constant(3)];
        m.compute(&mut values, 40);
        let whole = Session::of(&m.g, SessionOptions { threads: 2, ..Default::default() }).unwrap();
        scatter(&mut m);
        let names: Vec<String> = values[1..].iter().map(|o| m.g.tensor_name(*o)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let fed = m.g.tensor_name(fed);
        let options = SessionOptions {
            cpu_devices: DEVICES,
            threads: 2,
            optimise: seed % 2 == 0,
            operation_timeout: Some(std::time::Duration::from_secs(20)),
            receive_ahead: 0,
            ..Default::default()
        };
        let cut = Session::of(&m.g, options).unwrap();
        let parts = cut.callable_by_name(&[&fed], &names, &[]).unwrap().partition_graphs().unwrap();
        let waits = |n: &&thalweg_graph::NodeSpec| n.op == "_Recv" && !n.inputs.is_empty();
        held += parts.iter().flat_map(|p| &p.nodes).filter(waits).count();
        let run = |s: &Session| s.run(&[(&fed, Tensor::scalar(7))], &names, &[]).map(numbers);
        assert_eq!(run(&cut).unwrap(), run(&whole).unwrap(), "seed {seed}");
    }
    assert!(held > 200, "{held} receives were held back");
}
