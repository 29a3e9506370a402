//! A partitioned graph has the results of the whole one: random loops and conds.

use crate::common::{Cluster, run};
use crate::maker::Maker;
use thalweg_core::dtype::DataType;
use thalweg_core::tensor::Tensor;
use thalweg_runtime::{Session, SessionOptions};

fn numbers(values: Vec<Tensor>) -> Vec<i32> {
    values.iter().map(|t| t.to_scalar::<i32>().unwrap()).collect()
}

#[test]
fn random_graphs_on_three_tasks_give_the_same_as_in_one() {
    let cluster = Cluster::of(&[("worker", 3)]);
    for seed in 0..40 {
        let mut m = Maker::new(seed);
        m.conds = true;
        let fed = m.add("Placeholder", vec![], &[("dtype", DataType::Int32.into())]);
        let mut values = vec![fed, m.constant(3)];
        for _ in 0..1 + m.dice.roll(2) {
            let left = if m.dice.roll(4) == 0 { m.cond(&values, 2) } else { m.while_loop(&values, &[], 1) };
            values.extend(left);
        }
        let whole = Session::of(&m.g, SessionOptions { threads: 2, ..Default::default() }).unwrap();
        for id in m.g.ids() {
            let task = m.dice.roll(3);
            m.g.node_mut(id).device = format!("/job:worker/task:{task}").into();
        }
        let names: Vec<String> = values.iter().map(|o| m.g.tensor_name(*o)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let fed = m.g.tensor_name(fed);
        let spread = cluster.session(seed as usize % 3, &m.g);
        for value in [7, -3] {
            let feeds = [(fed.as_str(), Tensor::scalar(value))];
            let here = whole.run(&feeds, &names[1..], &[]).unwrap();
            let there = run(&spread, &feeds, &names[1..], &[]).unwrap();
            assert_eq!(numbers(there), numbers(here), "seed {seed}");
        }
        spread.close().unwrap();
    }
}
