//! For the tests beside the ops: one call of one op, without a graph.

use crate::prelude::*;
use std::sync::OnceLock;
use thalweg_core::direct;
use thalweg_core::registry::Registry;
use thalweg_core::resource::ResourceStore;
use thalweg_core::runnable::Runnable;
use thalweg_core::step::{DeviceContext, StepContext};
use thalweg_math::pool::Pool;

pub fn registry() -> &'static Registry {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    REGISTRY.get_or_init(|| Registry::new(crate::ALL))
}

/// A step on a device of its own with that many threads.
pub fn step(threads: usize) -> Arc<StepContext> {
    let device = DeviceContext {
        name: "/job:localhost/replica:0/task:0/device:CPU:0".into(),
        incarnation: 1,
        pool: Pool::new(threads).unwrap(),
        resources: Arc::new(ResourceStore::new("localhost")),
        memory: Arc::default(),
        entropy: Arc::new(|| 42),
        print: Arc::new(|_| {}),
        access: Arc::default(),
    };
    Arc::new(StepContext::new(1, Arc::new(device)))
}

/// Runs an op: `call("AddV2", &[a, b], &[("T", ..)])`. Type attrs follow from the inputs.
pub fn call(op: &str, inputs: &[Tensor], attrs: &[(&'static str, Attr)]) -> Result<Vec<Tensor>> {
    call_in(&step(1), op, inputs, attrs)
}

/// As `call`, in a given step: for ops that share resources.
pub fn call_in(
    step: &Arc<StepContext>,
    op: &str,
    inputs: &[Tensor],
    attrs: &[(&'static str, Attr)],
) -> Result<Vec<Tensor>> {
    direct::call(registry(), step, op, inputs.to_vec(), attrs.iter().cloned().collect())
}

/// Starts an async op; its result is received when it completes.
pub fn begin(
    step: &Arc<StepContext>,
    op: &str,
    inputs: &[Tensor],
    attrs: &[(&'static str, Attr)],
) -> std::sync::mpsc::Receiver<Result<Vec<Tensor>>> {
    let op = registry().find(op).unwrap();
    let node = Arc::new(direct::node_for(registry(), op, inputs, attrs.iter().cloned().collect()).unwrap());
    let (tx, rx) = std::sync::mpsc::channel();
    let Runnable::Async(kernel) = Runnable::make(op, &node, "CPU").unwrap() else {
        panic!("{} is not async", op.name)
    };
    let inputs = inputs.iter().cloned().map(Value::Tensor).collect();
    let call = AsyncCall { inputs, node, step: step.clone(), frame_iter: (0, 0), is_dead: false };
    let answer = move |r: Result<Outputs>| {
        let tensors = r.and_then(|o| o.into_iter().flatten().map(Value::into_tensor).collect());
        drop(tx.send(tensors))
    };
    kernel.start(call, Box::new(answer));
    rx
}

/// The first outputs of several runs of one node.
pub fn runs<const N: usize>(op: &str, inputs: &[Tensor], attrs: &[(&'static str, Attr)]) -> [Tensor; N] {
    let (op, step) = (registry().find(op).unwrap(), step(1));
    let node = Arc::new(direct::node_for(registry(), op, inputs, attrs.iter().cloned().collect()).unwrap());
    let kernel = Runnable::make(op, &node, "CPU").unwrap();
    std::array::from_fn(|_| {
        let out = direct::run(&kernel, &node, &step, inputs.to_vec()).unwrap();
        out[0].clone().unwrap().into_tensor().unwrap()
    })
}

/// As `call_in`, with references among the inputs, and values as outputs.
pub fn call_values(
    step: &Arc<StepContext>,
    op: &str,
    inputs: &[Value],
    attrs: &[(&'static str, Attr)],
) -> Result<Outputs> {
    let op = registry().find(op)?;
    let typed: Result<Vec<Tensor>> = inputs
        .iter()
        .map(|v| match v {
            Value::Tensor(t) => Ok(t.clone()),
            Value::Ref(v) => Tensor::zeros(v.dtype, Shape::scalar()),
        })
        .collect();
    let node = direct::node_for(registry(), op, &typed?, attrs.iter().cloned().collect())?;
    let inputs = inputs.iter().cloned().map(|v| match v {
        Value::Tensor(t) => Input::Owned(t),
        Value::Ref(v) => Input::Ref(v),
    });
    let mut call = OpCall::new(&node, step, inputs.collect());
    match Runnable::make(op, &node, "CPU")? {
        Runnable::Plain(f) => f(&mut call)?,
        Runnable::Prepared(k) => k.compute(&mut call)?,
        Runnable::Async(_) => return Err(internal("an async op")),
    }
    Ok(call.outputs)
}

/// A float tensor of this shape.
pub fn floats(dims: &[usize], values: &[f32]) -> Tensor {
    Tensor::from_slice(Shape::new(dims).unwrap(), values).unwrap()
}

pub fn ints(dims: &[usize], values: &[i32]) -> Tensor {
    Tensor::from_slice(Shape::new(dims).unwrap(), values).unwrap()
}

/// The code of the error that a call must return.
pub fn code(result: Result<Vec<Tensor>>) -> Code {
    result.map(|_| ()).expect_err("the call should fail").code()
}

#[test]
fn every_signature_parses_and_names_are_unique() {
    let mut seen = std::collections::HashSet::new();
    for op in crate::ALL.iter().copied().flatten() {
        assert!(seen.insert(op.name), "{} is listed twice", op.name);
        registry().signature(op).unwrap();
        assert!(!op.doc.is_empty(), "{} has no doc line", op.name);
    }
}

#[test]
fn every_case_runs_and_has_the_shape_inferred() {
    use thalweg_core::shape_call::ShapeSource;
    struct Known<'a>(&'a [Tensor]);
    impl ShapeSource for Known<'_> {
        fn constant(&self, i: usize) -> Option<Tensor> {
            self.0.get(i).cloned()
        }
        fn as_shape(&self, _: usize) -> Option<PartialShape> {
            None
        }
        fn handle(&self, _: usize) -> Option<(DataType, PartialShape)> {
            None
        }
    }
    let step = step(2);
    for op in crate::ALL.iter().copied().flatten() {
        for case in (op.cases)(&mut CaseGen::new(1)) {
            let attrs: Attrs = case.attrs.iter().cloned().collect();
            let node = direct::node_for(registry(), op, &case.inputs, attrs.clone())
                .unwrap_or_else(|e| panic!("{}: {e}", op.name));
            let shapes: Vec<PartialShape> = case.inputs.iter().map(|t| t.shape().into()).collect();
            let unknown = vec![PartialShape::unknown(); shapes.len()];
            let infer = |inputs: &[PartialShape], source: &dyn ShapeSource| {
                let call = ShapeCall {
                    inputs,
                    attrs: &node.attrs,
                    args: &node.args,
                    outputs: node.outputs.len(),
                    source,
                };
                (op.shape)(&call).unwrap_or_else(|e| panic!("shape of {}: {e}", op.name))
            };
            let results = direct::call(registry(), &step, op.name, case.inputs.clone(), attrs)
                .unwrap_or_else(|e| panic!("{}: {e}", op.name));
            let known = Known(&case.inputs);
            for inferred in [
                infer(&shapes, &known),
                infer(&shapes, &shape_call::NoSource),
                infer(&unknown, &shape_call::NoSource),
                infer(&unknown, &known),
            ] {
                assert_eq!(inferred.len(), results.len(), "{}: number of outputs", op.name);
                for (i, (s, t)) in inferred.iter().zip(&results).enumerate() {
                    assert!(
                        s.allows(t.shape()),
                        "{} output {i}: inferred {s}, computed {}",
                        op.name,
                        t.shape()
                    );
                    assert_eq!(t.dtype(), node.outputs[i].dtype, "{} output {i}", op.name);
                }
            }
        }
    }
}
