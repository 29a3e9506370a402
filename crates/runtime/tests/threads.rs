//! Threads run overlapping subgraphs of one session: no update is lost, and no read is torn.
//!
//! `THALWEG_STRESS_THREADS` and `THALWEG_STRESS_STEPS` make it longer: 64 threads with 70,000 steps each take about a minute.

mod common;

use common::{from_env, options, registry};
use std::sync::Arc;
use thalweg_core::attr::{Attr, Attrs};
use thalweg_core::builder::Arg;
use thalweg_core::dtype::DataType;
use thalweg_core::error::Code;
use thalweg_core::node::Output;
use thalweg_core::shape::{PartialShape, Shape};
use thalweg_core::tensor::Tensor;
use thalweg_graph::{Graph, NodeRequest};
use thalweg_runtime::{Callable, RunOptions, Session};

/// Elements of a variable: enough to show a torn read.
const WIDTH: usize = 300;

fn add(g: &mut Graph, op: &str, name: &str, args: Vec<Arg>, attrs: &[(&'static str, Attr)]) -> Output {
    let attrs: Attrs = attrs.iter().cloned().collect();
    g.add_node(NodeRequest { op, name, args, attrs, ..Default::default() }).unwrap().output(0)
}

fn full(value: f64) -> Tensor {
    Tensor::full(Shape::vector(WIDTH), value).unwrap()
}

/// A reference variable `v` and a resource variable `h`, counters of both, and their reads.
fn counters() -> Graph {
    let mut g = Graph::new(registry().clone());
    let kind =
        [("dtype", DataType::Double.into()), ("shape", Attr::Shape(PartialShape::vector(WIDTH as i64)))];
    let constant = |g: &mut Graph, name: &str, value: f64| {
        add(
            g,
            "Const",
            name,
            vec![],
            &[("dtype", DataType::Double.into()), ("value", Attr::Tensor(full(value)))],
        )
    };
    let (zero, one) = (constant(&mut g, "zero", 0.0), constant(&mut g, "one", 1.0));
    let step = add(&mut g, "Placeholder", "step", vec![], &[("dtype", DataType::Double.into())]);
    let v = add(&mut g, "VariableV2", "v", vec![], &kind);
    let h = add(&mut g, "VarHandleOp", "h", vec![], &kind);
    add(&mut g, "Assign", "v/init", vec![v.into(), zero.into()], &[]);
    add(&mut g, "AssignVariableOp", "h/init", vec![h.into(), zero.into()], &[]);
    let locked = [("use_locking", Attr::Bool(true))];
    add(&mut g, "AssignAdd", "v/add", vec![v.into(), one.into()], &locked);
    add(&mut g, "AssignAddVariableOp", "h/add", vec![h.into(), one.into()], &[]);
    add(&mut g, "AssignAdd", "v/add_step", vec![v.into(), step.into()], &locked);
    add(&mut g, "AssignSubVariableOp", "h/sub_step", vec![h.into(), step.into()], &[]);
    let read = add(&mut g, "ReadVariableOp", "h/read", vec![h.into()], &[("dtype", DataType::Double.into())]);
    let seen = add(&mut g, "Identity", "v/read", vec![v.into()], &[]);
    let squared = add(&mut g, "Mul", "v/squared", vec![seen.into(), seen.into()], &[]);
    add(&mut g, "Sub", "both", vec![squared.into(), read.into()], &[]);
    g
}

/// One thread's step, and how much it adds to `v` and `h`.
struct Deed {
    callable: Callable,
    feeds: Vec<Tensor>,
    adds: (f64, f64),
    /// The fetches are vectors of equal elements: no torn reads.
    whole: bool,
}

fn deeds(s: &Session) -> Vec<Deed> {
    let deed = |feeds: &[&str], fetches: &[&str], targets: &[&str], adds, whole| Deed {
        callable: s.callable_by_name(feeds, fetches, targets).unwrap(),
        feeds: vec![full(2.0); feeds.len()],
        adds,
        whole,
    };
    vec![
        deed(&[], &[], &["v/add"], (1.0, 0.0), false),
        deed(&[], &[], &["h/add"], (0.0, 1.0), false),
        deed(&[], &[], &["v/add", "h/add"], (1.0, 1.0), false),
        deed(&["step"], &[], &["v/add_step", "h/sub_step"], (2.0, -2.0), false),
        deed(&["step"], &[], &["v/add_step", "h/add", "v/add"], (3.0, 1.0), false),
        deed(&[], &["h/read:0"], &[], (0.0, 0.0), true),
        deed(&[], &["both:0"], &["h/add"], (0.0, 1.0), false),
    ]
}

fn one_value(t: &Tensor) -> f64 {
    let values = t.as_slice::<f64>().unwrap();
    assert!(values.iter().all(|v| *v == values[0]), "a torn value: {values:?}");
    values[0]
}

#[test]
fn no_update_is_lost() {
    let (threads, steps) = (from_env("THALWEG_STRESS_THREADS", 8), from_env("THALWEG_STRESS_STEPS", 300));
    for optimise in [true, false] {
        let s = Session::of(&counters(), options(optimise, 3)).unwrap();
        s.run(&[], &[], &["v/init", "h/init"]).unwrap();
        let deeds = Arc::new(deeds(&s));
        let mut sums = (0.0, 0.0);
        let workers: Vec<_> = (0..threads)
            .map(|thread| {
                let deeds = deeds.clone();
                std::thread::spawn(move || {
                    let mut sums = (0.0, 0.0);
                    for step in 0..steps {
                        // Each thread has its own order of deeds.
                        let deed = &deeds[(thread + step * (1 + thread % 3)) % deeds.len()];
                        let got = deed.callable.run(deed.feeds.clone()).unwrap();
                        if deed.whole {
                            got.iter().for_each(|t| assert!(one_value(t).is_finite()));
                        }
                        sums = (sums.0 + deed.adds.0, sums.1 + deed.adds.1);
                    }
                    sums
                })
            })
            .collect();
        for w in workers {
            let (v, h) = w.join().unwrap();
            sums = (sums.0 + v, sums.1 + h);
        }
        let got = s.run(&[], &["v/read:0", "h/read:0"], &[]).unwrap();
        assert_eq!((one_value(&got[0]), one_value(&got[1])), sums);
    }
}

/// Threads extend the graph while others run it.
#[test]
fn a_session_grows_while_it_runs() {
    let threads = from_env("THALWEG_STRESS_THREADS", 4);
    let s = Session::of(&counters(), options(true, 2)).unwrap();
    s.run(&[], &[], &["v/init", "h/init"]).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let s = &s;
            scope.spawn(move || {
                for step in 0..20 {
                    let name = format!("grown_{thread}_{step}");
                    s.extend_with(|g| {
                        let one = g.output("one:0")?;
                        let request = NodeRequest {
                            op: "Neg",
                            name: &name,
                            args: vec![one.into()],
                            ..Default::default()
                        };
                        g.add_node(request).map(drop)
                    })
                    .unwrap();
                    let got = s.run(&[], &[&format!("{name}:0")], &["h/add"]).unwrap();
                    assert_eq!(one_value(&got[0]), -1.0);
                }
            });
        }
    });
    assert_eq!(one_value(&s.run(&[], &["h/read:0"], &[]).unwrap()[0]), (threads * 20) as f64);
}

/// Blocked steps are cancelled one by one, and by closing the session, and each reports it.
#[test]
fn waiting_steps_are_cancelled() {
    let mut g = Graph::new(registry().clone());
    let types = Attr::types(&[DataType::Double]);
    let q = add(&mut g, "FIFOQueueV2", "q", vec![], &[("component_types", types.clone())]);
    add(&mut g, "QueueDequeueV2", "take", vec![q.into()], &[("component_types", types)]);
    let s = Session::of(&g, options(true, 2)).unwrap();
    let waiting = |cancel| {
        let s = s.clone();
        std::thread::spawn(move || {
            let options = RunOptions { cancel: Some(cancel), ..Default::default() };
            s.run_with(&[], &["take:0"], &[], &options).map(drop).unwrap_err().code()
        })
    };
    let cancels: Vec<Arc<thalweg_core::cancel::Cancellation>> = (0..8).map(|_| Arc::default()).collect();
    let steps: Vec<_> = cancels.iter().map(|c| waiting(c.clone())).collect();
    for c in cancels.iter().take(4) {
        c.cancel(thalweg_core::error::cancelled("enough"));
    }
    let (first, rest): (Vec<_>, Vec<_>) = steps.into_iter().enumerate().partition(|(i, _)| *i < 4);
    for (_, step) in first {
        assert_eq!(step.join().unwrap(), Code::Cancelled);
    }
    s.close();
    for (_, step) in rest {
        assert_eq!(step.join().unwrap(), Code::Cancelled);
    }
}
