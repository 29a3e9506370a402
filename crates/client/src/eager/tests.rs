use super::*;
use crate::scope::Scope;
use thalweg_core::error::Code;
use thalweg_core::shape::Shape;

fn eager() -> Eager {
    Eager::new(Arc::new(thalweg_ops::registry()), SessionOptions { threads: 1, ..Default::default() })
        .unwrap()
}

/// Runs an op and records it.
fn run(e: &Eager, tapes: &[&Tape], op: &str, inputs: &[&EagerTensor]) -> EagerTensor {
    with(e, tapes, op, inputs, Attrs::new())
}

fn with(e: &Eager, tapes: &[&Tape], op: &str, inputs: &[&EagerTensor], attrs: Attrs) -> EagerTensor {
    let lens = vec![1; inputs.len()];
    let values = inputs.iter().map(|i| i.tensor.clone()).collect();
    let (made, results) = e.run(op, &lens, values, &attrs, None).unwrap();
    let inputs: Vec<EagerTensor> = inputs.iter().map(|i| (*i).clone()).collect();
    let outputs: Vec<EagerTensor> = results.into_iter().map(|t| e.tensor(t)).collect();
    tapes.iter().for_each(|tape| tape.record(&Recorded::Op(made.clone()), &inputs, &outputs));
    outputs[0].clone()
}

fn vector(e: &Eager, values: &[f32]) -> EagerTensor {
    e.tensor(Tensor::vector(values).unwrap())
}

fn values(gradient: &EagerGradient) -> Vec<f32> {
    match gradient {
        EagerGradient::Dense(t) => t.tensor.as_slice::<f32>().unwrap().to_vec(),
        EagerGradient::Slices { values, .. } => values.tensor.as_slice::<f32>().unwrap().to_vec(),
        EagerGradient::None => panic!("no gradient"),
    }
}

#[test]
fn an_op_runs_at_once_and_its_kernel_is_kept() {
    let e = eager();
    let (a, b) = (vector(&e, &[1., 2.]), vector(&e, &[3., 4.]));
    assert_eq!(run(&e, &[], "AddV2", &[&a, &b]).tensor.as_slice::<f32>().unwrap(), [4., 6.]);
    let find = |types: &[DataType]| {
        let op = e.ops().registry().find("AddV2").unwrap();
        e.ops().op(op, &[1, 1], types.iter().copied(), &Attrs::new()).unwrap().number
    };
    let float = [DataType::Float; 2];
    assert_eq!(find(&float), find(&float));
    assert_ne!(find(&float), find(&[DataType::Int32; 2]));
}

#[test]
fn errors_are_those_of_the_kernel() {
    let e = eager();
    let fails = |op: &str, inputs: Vec<Tensor>, lens: &[u32]| {
        e.run(op, lens, inputs, &Attrs::new(), None).err().unwrap()
    };
    let three = Tensor::vector(&[1f32, 2., 3.]).unwrap();
    let two = Tensor::vector(&[1f32, 2.]).unwrap();
    assert_eq!(fails("AddV2", vec![three.clone(), two], &[1, 1]).code(), Code::InvalidArgument);
    assert!(fails("AddV2", vec![three.clone(), Tensor::scalar(1i32)], &[1, 1]).to_string().contains("AddV2"));
    assert_eq!(fails("AddV2", vec![three], &[1]).code(), Code::InvalidArgument);
    assert!(fails("Placeholder", vec![], &[]).message().contains("placeholder"));
    assert!(fails("LoopCond", vec![Tensor::scalar(true)], &[1]).message().contains("graphs only"));
    assert_eq!(fails("Nonsense", vec![], &[]).code(), Code::NotFound);
}

#[test]
fn gradients_of_recorded_ops_are_compiled_once_for_a_structure() {
    let e = eager();
    for step in 1..4 {
        let tape = Tape::default();
        let x = vector(&e, &[step as f32, 2.]);
        tape.watch(x.id);
        let square = run(&e, &[&tape], "Mul", &[&x, &x]);
        let cube = run(&e, &[&tape], "Mul", &[&square, &x]);
        let other = vector(&e, &[0.]);
        let found = tape.gradients(&e, &[cube.clone()], &[x.clone(), square, other], &[]).unwrap();
        assert_eq!(values(&found.values[0]), [3. * (step * step) as f32, 12.]);
        assert_eq!(values(&found.values[1]), [step as f32, 2.]);
        assert!(matches!(found.values[2], EagerGradient::None));
        assert_eq!(lock(&e.backward).len(), 1);
        let seeded = tape.gradients(&e, &[cube], &[x], &[vector(&e, &[10., 0.])]).unwrap();
        assert_eq!(values(&seeded.values[0]), [30. * (step * step) as f32, 0.]);
        lock(&e.backward).retain(|key, _| key[0] == 0);
    }
}

#[test]
fn a_gradient_has_gradients_on_an_outer_tape() {
    let e = eager();
    let (outer, inner) = (Tape::default(), Tape::default());
    let x = vector(&e, &[2., 3.]);
    [&outer, &inner].iter().for_each(|t| t.watch(x.id));
    let both = [&outer, &inner];
    let square = run(&e, &both, "Mul", &[&x, &x]);
    let y = run(&e, &both, "Mul", &[&square, &square]);
    let first = inner.gradients(&e, &[y], &[x.clone()], &[]).unwrap();
    outer.record(first.what.as_ref().unwrap(), &first.inputs, &first.outputs);
    let EagerGradient::Dense(first) = &first.values[0] else { panic!() };
    assert_eq!(first.tensor.as_slice::<f32>().unwrap(), [32., 108.]);
    let second = outer.gradients(&e, &[first.clone()], &[x], &[]).unwrap();
    assert_eq!(values(&second.values[0]), [48., 108.]);
}

#[test]
fn variables_are_shared_with_graphs_and_have_gradients() {
    let e = eager();
    let v = e.variable("v", Tensor::from_slice(Shape::new(&[2, 1]).unwrap(), &[5f32, 7.]).unwrap()).unwrap();
    let mut read = Attrs::new();
    read.set("dtype", DataType::Float);
    let tape = Tape::default();
    tape.watch(v.id);
    let value = with(&e, &[&tape], "ReadVariableOp", &[&v], read.clone());
    let y = run(&e, &[&tape], "Mul", &[&value, &value]);
    let ids = EagerTensor { tensor: Tensor::vector(&[1i32]).unwrap(), id: 0 };
    let row = with(&e, &[&tape], "ResourceGather", &[&v, &ids], read.clone());
    let dense = tape.gradients(&e, &[y], &[v.clone()], &[]).unwrap();
    assert_eq!(values(&dense.values[0]), [10., 14.]);
    let rows = tape.gradients(&e, &[row], &[v.clone()], &[]).unwrap();
    assert!(matches!(rows.values[0], EagerGradient::Slices { .. }));
    assert_eq!(values(&rows.values[0]), [1.]);

    let g = Scope::new();
    let w = g.adopt_variable("v", &v.tensor, true);
    let add = w.assign_add(g.constant([[1f32], [1.]]));
    assert_eq!(w.shape().to_string(), "[2,1]");
    let session = e.session(&g).unwrap();
    session.run(&add, &[]).unwrap();
    drop(session);
    let now = with(&e, &[], "ReadVariableOp", &[&v], read);
    assert_eq!(now.tensor.as_slice::<f32>().unwrap(), [6., 8.]);
    e.forget(&v.tensor.resources().unwrap()[0]);
    assert!(e.session(&g).unwrap().run(&w.value, &[]).is_err());
}

#[test]
fn gradients_go_through_graphs_that_were_called() {
    let e = eager();
    let g = Scope::new();
    let x = g.placeholder(DataType::Float, &[2]);
    let noise = g.op("RandomUniform").input(g.constant([2i32])).attr("dtype", DataType::Float).output();
    let y = &(&x * &noise) * &x;
    let graph = g.graph().unwrap();
    let [x, noise, y] = [x, noise, y].map(|o| o.id.unwrap());
    let saved = saved_for_gradients(&graph, &[y], &[x]).unwrap();
    let mut fetches = vec![y, noise];
    fetches.extend(&saved);
    let call = GraphCall { number: 1, graph, feeds: vec![x], fetches: fetches.clone() };
    let session = e.session(&g).unwrap();
    let given = vector(&e, &[2., 3.]);
    let runs = session.runtime().unwrap().callable(&[x], &fetches, &[]).unwrap();
    let results = runs.run(vec![given.tensor.clone()]).unwrap();
    let outputs: Vec<EagerTensor> = results.into_iter().map(|t| e.tensor(t)).collect();
    let tape = Tape::default();
    tape.watch(given.id);
    tape.record(&Recorded::Call(Arc::new(call)), &[given.clone()], &outputs);
    let found = tape.gradients(&e, &[outputs[0].clone()], &[given], &[]).unwrap();
    let noise = outputs[1].tensor.as_slice::<f32>().unwrap();
    let want: Vec<f32> = noise.iter().zip([2., 3.]).map(|(n, x)| 2. * n * x).collect();
    values(&found.values[0]).iter().zip(want).for_each(|(a, b)| assert!((a - b).abs() < 1e-5));
}
