//! Gradients as nodes of the graph.

use crate::{add, constant, graph, partial, placeholder};
use thalweg_core::dtype::DataType;
use thalweg_core::grad::Grad;
use thalweg_core::node::Output;
use thalweg_core::tensor::Tensor;
use thalweg_graph::Graph;
use thalweg_graph::gradients::{Options, gradients};

fn input(g: &mut Graph) -> Output {
    placeholder(g, DataType::Float, partial(&[2, 3]))
}

fn op_of(g: &Graph, grad: &Grad) -> &'static str {
    match grad {
        Grad::Dense(o) => g.node(o.node).op.name,
        other => panic!("{other:?}"),
    }
}

#[test]
fn gradients_of_several_uses_are_summed() {
    let mut g = graph();
    let (x, other) = (input(&mut g), input(&mut g));
    let (a, b) = (add(&mut g, "Neg", vec![x.into()], &[]), add(&mut g, "Exp", vec![x.into()], &[]));
    let y = add(&mut g, "AddV2", vec![a.into(), b.into()], &[]);
    let found = gradients(&mut g, &[y], &[x, other, x], &Options::default()).unwrap();
    assert_eq!((op_of(&g, &found[0]), &found[1]), ("AddN", &Grad::None));
    assert_eq!(found[0], found[2]);
    let Grad::Dense(dx) = found[0] else { panic!() };
    assert_eq!(g.shape(dx), partial(&[2, 3]));
    assert!(g.node(dx.node).name.starts_with("gradients/"), "{}", g.node(dx.node).name);
}

#[test]
fn gradients_stop_where_they_are_told_and_where_ops_say() {
    let mut g = graph();
    let x = input(&mut g);
    let a = add(&mut g, "Neg", vec![x.into()], &[]);
    let y = add(&mut g, "Exp", vec![a.into()], &[]);
    let stop = Options { stop: &[a], ..Default::default() };
    assert_eq!(gradients(&mut g, &[y], &[x], &stop).unwrap(), [Grad::None]);
    let held = add(&mut g, "StopGradient", vec![a.into()], &[]);
    let y = add(&mut g, "Exp", vec![held.into()], &[]);
    assert_eq!(gradients(&mut g, &[y], &[x], &Options::default()).unwrap(), [Grad::None]);
}

#[test]
fn what_has_no_gradient_is_an_error_that_names_it() {
    let mut g = graph();
    let x = input(&mut g);
    let rounded = add(&mut g, "Cast", vec![x.into()], &[("DstT", DataType::Int32.into())]);
    let e = gradients(&mut g, &[rounded], &[x], &Options::default()).unwrap_err();
    assert!(e.message().contains("floating-point"), "{e}");
    let held = add(&mut g, "PreventGradient", vec![x.into()], &[("message", "for a reason".into())]);
    let e = gradients(&mut g, &[held], &[x], &Options::default()).unwrap_err();
    assert_eq!((e.node(), e.message().contains("for a reason")), (Some("PreventGradient"), true), "{e}");
}

#[test]
fn given_gradients_are_used_as_they_are() {
    let mut g = graph();
    let x = input(&mut g);
    let y = add(&mut g, "Identity", vec![x.into()], &[]);
    let seed = constant(
        &mut g,
        Tensor::zeros(DataType::Float, thalweg_core::shape::Shape::new(&[2, 3]).unwrap()).unwrap(),
    );
    let options = Options { grad_ys: &[seed], ..Default::default() };
    assert_eq!(gradients(&mut g, &[y], &[x], &options).unwrap(), [Grad::Dense(seed)]);
}
