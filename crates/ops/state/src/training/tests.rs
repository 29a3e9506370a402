//! Update rules against values recorded from TensorFlow 2.21.

use crate::prelude::*;
use crate::state::tests::{resource_variable, value_of};
use crate::testing::{call_in, call_values, code, floats, step};
use thalweg_core::step::StepContext;

/// Runs an update `times` times on variables with these values; the values after.
fn run(
    op: &str,
    vars: &[[f32; 3]],
    scalars: &[f32],
    after_grad: &[f32],
    attr: (&'static str, bool),
    times: usize,
) -> Vec<Vec<f32>> {
    let step = step(1);
    let handles: Vec<Tensor> = vars.iter().map(|v| resource_variable(&step, floats(&[3], v))).collect();
    let grad = floats(&[3], &[0.5, -2.0, 3.0]);
    let inputs: Vec<Tensor> = handles
        .iter()
        .cloned()
        .chain(scalars.iter().map(|s| Tensor::scalar(*s)))
        .chain([grad])
        .chain(after_grad.iter().map(|s| Tensor::scalar(*s)))
        .collect();
    for _ in 0..times {
        call_in(&step, op, &inputs, &[(attr.0, Attr::Bool(attr.1))]).unwrap();
    }
    handles.iter().map(|h| value_of(&step, h).as_slice::<f32>().unwrap().to_vec()).collect()
}

fn close(got: &[Vec<f32>], want: &[[f32; 3]]) {
    for (got, want) in got.iter().zip(want) {
        for (g, w) in got.iter().zip(want) {
            assert!((g - w).abs() <= 2e-6 * w.abs().max(1.0), "{got:?} should be {want:?}");
        }
    }
}

const W: [f32; 3] = [1., 2., 3.];
const A: [f32; 3] = [0.1, 0.2, 0.3];

#[test]
fn updates_are_those_of_tensorflow() {
    close(
        &run("ResourceApplyGradientDescent", &[W], &[0.1], &[], ("use_locking", true), 1),
        &[[0.95, 2.2, 2.7]],
    );
    let nesterov = |n| ("use_nesterov", n);
    let accum = [1.0309999, -3.638, 5.943];
    close(
        &run("ResourceApplyMomentum", &[W, A], &[0.1], &[0.9], nesterov(false), 2),
        &[[0.8379, 2.5458, 2.0787], accum],
    );
    close(
        &run("ResourceApplyMomentum", &[W, A], &[0.1], &[0.9], nesterov(true), 2),
        &[[0.75411, 2.89122, 1.57083], accum],
    );
    let accum = [-0.014000006, 0.542, -0.32700002];
    close(
        &run("ResourceApplyKerasMomentum", &[W, A], &[0.1], &[0.9], nesterov(false), 2),
        &[[1.026, 2.922, 2.643], accum],
    );
    close(
        &run("ResourceApplyKerasMomentum", &[W, A], &[0.1], &[0.9], nesterov(true), 2),
        &[[0.9234, 3.2298, 2.0787], accum],
    );
    let adam = [0.9, 0.999, 0.1, 0.9, 0.999, 1e-7];
    let moments = [[0.17600003, -0.2180001, 0.8130001], [0.39970016, 0.50699645, 0.6167914]];
    let vars = [W, A, [0.4, 0.5, 0.6]];
    let plain = [0.984_195_5, 2.010_573, 2.944156];
    close(&run("ResourceApplyAdam", &vars, &adam, &[], nesterov(false), 2), &[plain, moments[0], moments[1]]);
    let ahead = [0.9807746, 2.027311, 2.9254982];
    close(&run("ResourceApplyAdam", &vars, &adam, &[], nesterov(true), 2), &[ahead, moments[0], moments[1]]);
    let slots = |u| ("update_slots", u);
    close(
        &run("ResourceApplyAdagrad", &[W, A], &[0.1], &[], slots(false), 1),
        &[[0.8418861, 2.4472136, 2.4522774], A],
    );
    let sums = [0.35, 4.2, 9.3];
    close(
        &run("ResourceApplyAdagrad", &[W, A], &[0.1], &[], slots(true), 1),
        &[[0.91548455, 2.09759, 2.901626], sums],
    );
    close(
        &run("ResourceApplyAdagradV2", &[W, A], &[0.1, 0.5], &[], slots(true), 1),
        &[[0.95419604, 2.0784502, 2.9154832], sums],
    );
}

const B: [f32; 3] = [0.4, 0.5, 0.6];
const C: [f32; 3] = [0.05, -0.06, 0.07];

#[test]
fn further_updates_are_those_of_tensorflow() {
    let plain = ("use_locking", false);
    let by_lr = ("multiply_linear_by_lr", true);
    let twice = |op: &str, vars: &[[f32; 3]], before: &[f32], after: &[f32], attr, want: &[[f32; 3]]| {
        close(&run(op, vars, before, after, attr, 2), want);
    };
    let op = "ResourceApplyProximalGradientDescent";
    twice(op, &[W], &[0.1, 0.5, 0.25], &[], plain, &[[0.75907195, 2.1927426, 2.180845]]);
    twice(op, &[W], &[0.1, 0.0, 0.25], &[], plain, &[[0.8554432, 2.2891138, 2.2772162]]);
    let op = "ResourceApplyProximalAdagrad";
    let want = [[0.6472874, 2.0824084, 2.7638016], [0.6, 8.2, 18.3]];
    twice(op, &[W, A], &[0.1, 0.5, 0.25], &[], plain, &want);
    let want = [
        [0.8133354, 2.4516425, 2.4570644],
        [0.11462501, 0.5705001, 1.1482502],
        [0.44592836, 0.94845265, 1.2600251],
    ];
    twice("ResourceApplyAdadelta", &[W, A, B], &[0.1, 0.95, 1e-2], &[], plain, &want);
    let m = [0.17600003, -0.2180001, 0.8130001];
    let want = [[0.3692615, 2.1189406, 2.5391536], m, [0.5, 2., 3.]];
    twice("ResourceApplyAdaMax", &[W, A, B], &[0.9, 0.1, 0.9, 0.999, 1e-3], &[], plain, &want);
    let ms = [0.12850001, 0.92200017, 1.9530003];
    let want = [[0.35351565, 2.2227345, 1.9216195], ms, [0.30506298, -0.21235658, 0.5022081]];
    twice("ResourceApplyRMSProp", &[W, A, B], &[0.1, 0.9, 0.5, 1e-2], &[], plain, &want);
    let want = [
        [0.33551508, 2.2700505, 1.8710672],
        [0.13550001, -0.42860007, 0.6267001],
        ms,
        [0.31766403, -0.24415149, 0.53591573],
    ];
    twice("ResourceApplyCenteredRMSProp", &[W, C, A, B], &[0.1, 0.9, 0.5, 1e-2], &[], plain, &want);
    let accum = [0.6, 8.2, 18.3];
    let want = [[0.19389407, 1.6491287, 2.2223341], accum, [-1.8182336, -48.413338, -96.6015]];
    twice("ResourceApplyFtrl", &[W, A, B], &[], &[0.1, 0.2, 0.3, -0.5], plain, &want);
    let want = [[-0.34377366, 1.6552701, 2.4652987], accum, [0.2810508, -7.3393383, -19.029812]];
    twice("ResourceApplyFtrl", &[W, A, B], &[], &[0.1, 0.2, 0.3, -0.7], by_lr, &want);
    let want = [[0.18344264, 1.7831484, 2.5484836], accum, [-1.5930052, -79.04795, -196.71246]];
    twice("ResourceApplyFtrlV2", &[W, A, B], &[], &[0.1, 0.2, 0.3, 0.15, -0.7], plain, &want);
    let want = [[0.80999994, 2.7600002, 1.8600001], m];
    twice("ResourceApplyAddSign", &[W, A], &[0.1, 1.0, 0.9, 0.9], &[], plain, &want);
    let want = [[0.75403965, 2.9838414, 1.5242381], m];
    twice("ResourceApplyPowerSign", &[W, A], &[0.1, 1.0, 0.9, 0.9], &[], plain, &want);
}

#[test]
fn adagrad_da_uses_the_step_as_tensorflow_does() {
    let gradients = [[1.1, -3.8, 6.3], [0.9, 8.5, 18.6]];
    for (l1, want) in
        [(0.2, [-0.04884323, 0.10700638, -0.1299065]), (0.0, [-0.10745511, 0.12707007, -0.14358087])]
    {
        let step = step(1);
        let vars = [W, A, B].map(|v| resource_variable(&step, floats(&[3], &v)));
        let [w, g, gg] = vars.clone();
        let scalars = [0.1f32, l1, 0.25].map(Tensor::scalar);
        let [lr, l1, l2] = scalars;
        let inputs = [w, g, gg, floats(&[3], &[0.5, -2.0, 3.0]), lr, l1, l2, Tensor::scalar(3i64)];
        for _ in 0..2 {
            call_in(&step, "ResourceApplyAdagradDA", &inputs, &[]).unwrap();
        }
        let got: Vec<Vec<f32>> =
            vars.iter().map(|h| value_of(&step, h).as_slice::<f32>().unwrap().to_vec()).collect();
        close(&got, &[want, gradients[0], gradients[1]]);
    }
}

/// Variables and inputs for any of the update ops, from its signature. Variables are 4 by 2; the gradient has the rows given.
struct Problem {
    step: Arc<StepContext>,
    variables: Vec<Arc<Variable>>,
    inputs: Vec<Value>,
}

impl Problem {
    fn new(op: &Op, rows: &[i64]) -> Problem {
        let step = step(1);
        let (mut variables, mut inputs) = (Vec::new(), Vec::<Value>::new());
        let row = |r: i64, k: usize| ((r * 5 + k as i64 * 3) % 7) as f32 * 0.25 - 0.6;
        for argument in op.inputs {
            let (name, kind) = argument.split_once(": ").unwrap();
            let value = match (name, kind) {
                (_, "resource" | "Ref(T)") => {
                    let n = variables.len() as i64;
                    let values: Vec<f32> = (0..8).map(|i| row(i + n, 1).abs() + 0.1).collect();
                    let handle = resource_variable(&step, floats(&[4, 2], &values));
                    let found = step.device.resources.resolve::<Variable>(&handle.resources().unwrap()[0]);
                    variables.push(found.unwrap());
                    match kind {
                        "resource" => Value::Tensor(handle),
                        _ => Value::Ref(variables[variables.len() - 1].clone()),
                    }
                }
                ("grad" | "delta", _) => {
                    let values: Vec<f32> = rows.iter().flat_map(|r| [row(*r, 0), row(*r, 1)]).collect();
                    floats(&[rows.len(), 2], &values).into()
                }
                ("indices", _) => Tensor::vector(rows).unwrap().into(),
                ("global_step", _) => Tensor::scalar(3i64).into(),
                ("lr_power", _) => Tensor::scalar(-0.6f32).into(),
                // A different number for each name, the same in all forms.
                _ => Tensor::scalar(name.bytes().map(f32::from).sum::<f32>() / 2000.0).into(),
            };
            inputs.push(value);
        }
        Problem { step, variables, inputs }
    }

    fn run(&self, op: &Op) -> Result<Outputs> {
        call_values(&self.step, op.name, &self.inputs, &[])
    }

    fn values(&self) -> Vec<Tensor> {
        self.variables.iter().map(|v| v.read().unwrap()).collect()
    }
}

fn same(a: &[Tensor], b: &[Tensor], what: &str) {
    assert_eq!(a.len(), b.len());
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        assert!(
            a.same_bits(b),
            "{what}, variable {i}: {:?} and {:?}",
            a.as_slice::<f32>(),
            b.as_slice::<f32>()
        );
    }
}

/// The op of another form of the same rule, if there is one.
fn form(op: &Op, prefix: &str) -> Option<&'static Op> {
    let rule = op.name.rsplit_once("Apply").unwrap().1;
    super::OPS.iter().copied().find(|o| o.name == format!("{prefix}Apply{rule}"))
}

#[test]
fn all_forms_of_a_rule_make_the_same_change() {
    let all_rows = [0, 1, 2, 3];
    for dense in super::OPS.iter().filter(|op| op.name.starts_with("ResourceApply")) {
        let expected = Problem::new(dense, &all_rows);
        expected.run(dense).unwrap();
        let before = Problem::new(dense, &all_rows).values();
        assert!(!before[0].same_bits(&expected.values()[0]), "{} changed nothing", dense.name);
        for (prefix, rows) in [("", all_rows), ("Sparse", [2, 0, 3, 1]), ("ResourceSparse", [3, 1, 0, 2])] {
            let Some(op) = form(dense, prefix) else { continue };
            let got = Problem::new(op, &rows);
            let outputs = got.run(op).unwrap();
            same(&got.values(), &expected.values(), op.name);
            // Ops on reference variables output the reference.
            let given: Vec<Tensor> =
                outputs.into_iter().flatten().map(|o| o.into_tensor().unwrap()).collect();
            same(&given, &got.values()[..given.len()], op.name);
            assert_eq!(given.len(), op.outputs.len());
        }
    }
}

#[test]
fn a_row_named_twice_is_changed_twice() {
    for op in super::OPS.iter().filter(|op| op.name.starts_with("ResourceSparseApply")) {
        let (once, twice) = (Problem::new(op, &[1, 3]), Problem::new(op, &[1, 3, 1, 3]));
        once.run(op).unwrap();
        once.run(op).unwrap();
        twice.run(op).unwrap();
        same(&twice.values(), &once.values(), op.name);
        let untouched = Problem::new(op, &[]).values();
        for (now, before) in once.values().iter().zip(&untouched) {
            assert_eq!(now.as_slice::<f32>().unwrap()[..2], before.as_slice::<f32>().unwrap()[..2]);
        }
    }
}

#[test]
fn an_index_out_of_range_changes_nothing() {
    for op in super::OPS.iter().filter(|op| op.name.contains("SparseApply")) {
        for rows in [[0, 4], [0, -1], [0, i64::MAX]] {
            let mut problem = Problem::new(op, &[0, 1]);
            let at = op.inputs.iter().position(|i| i.starts_with("indices")).unwrap();
            problem.inputs[at] = Tensor::vector(&rows).unwrap().into();
            let before = problem.values();
            let refused = problem.run(op).err().unwrap();
            assert_eq!(refused.code(), Code::InvalidArgument, "{}", op.name);
            assert!(refused.message().contains("not in [0, 4)"), "{refused}");
            same(&problem.values(), &before, op.name);
        }
    }
}

fn op(name: &str) -> &'static Op {
    super::OPS.iter().find(|op| op.name == name).unwrap()
}

#[test]
fn sparse_gradients_of_other_shapes_are_refused() {
    let op = op("ResourceSparseApplyMomentum");
    let (grad, rows) = (3, 4);
    let bad: [(usize, Tensor); 5] = [
        (grad, floats(&[2], &[1., 1.])),
        (grad, floats(&[2, 3], &[1.; 6])),
        (grad, Tensor::scalar(1f32)),
        (rows, Tensor::vector(&[0i64]).unwrap()),
        (rows, Tensor::from_slice(Shape::new(&[1, 2]).unwrap(), &[0i64, 1]).unwrap()),
    ];
    for (i, value) in bad {
        let mut problem = Problem::new(op, &[0, 1]);
        problem.inputs[i] = value.into();
        let before = problem.values();
        assert_eq!(problem.run(op).err().unwrap().code(), Code::InvalidArgument);
        same(&problem.values(), &before, op.name);
    }
}

#[test]
fn settings_that_tensorflow_refuses_are_refused() {
    let cases = [
        ("ResourceApplyProximalAdagrad", 2, 0.0),
        ("ResourceApplyProximalAdagrad", 3, -0.1),
        ("ResourceSparseApplyFtrl", 5, 0.0),
        ("ResourceSparseApplyFtrl", 6, f32::NAN),
        ("ResourceSparseApplyFtrl", 8, 0.5),
    ];
    for (name, i, value) in cases {
        let op = op(name);
        let mut problem = Problem::new(op, &[0, 1, 2, 3]);
        problem.inputs[i] = Tensor::scalar(value).into();
        assert_eq!(problem.run(op).err().unwrap().code(), Code::InvalidArgument, "{name} {i}");
    }
}

#[test]
fn large_variables_change_alike_on_any_number_of_threads() {
    let n = 100_003;
    let values = |salt: usize| {
        let values: Vec<f32> = (0..n).map(|i| ((i * 37 + salt) % 1009) as f32 / 997.0 + 0.01).collect();
        floats(&[n], &values)
    };
    let run = |threads| {
        let step = step(threads);
        let vars: Vec<Tensor> = (0..4).map(|k| resource_variable(&step, values(k))).collect();
        let scalars = [0.1f32, 0.9, 0.5, 2.0].map(Tensor::scalar);
        let inputs: Vec<Tensor> = vars.iter().cloned().chain(scalars).chain([values(9)]).collect();
        call_in(&step, "ResourceApplyCenteredRMSProp", &inputs, &[]).unwrap();
        vars.iter().map(|v| value_of(&step, v)).collect::<Vec<Tensor>>()
    };
    same(&run(1), &run(4), "CenteredRMSProp");
}

#[test]
fn complex_variables_are_updated_by_complex_roots() {
    let step = step(1);
    let z = |re: f32, im: f32| Tensor::scalar(Complex32::new(re, im));
    let (w, a) = (resource_variable(&step, z(1.0, 0.0)), resource_variable(&step, z(0.0, 0.0)));
    // The root of (2i)^2 is 2i again (principal value of -4), so the step is lr in full.
    call_in(&step, "ResourceApplyAdagrad", &[w.clone(), a.clone(), z(0.5, 0.0), z(0.0, 2.0)], &[]).unwrap();
    assert_eq!(value_of(&step, &a).to_scalar::<Complex32>().unwrap(), Complex32::new(-4.0, 0.0));
    let w = value_of(&step, &w).to_scalar::<Complex32>().unwrap();
    assert!((w - Complex32::new(0.5, 0.0)).norm() < 1e-6, "{w}");
}

#[test]
fn a_refused_update_leaves_all_variables_unchanged() {
    let step = step(1);
    let (w, a) =
        (resource_variable(&step, floats(&[3], &W)), resource_variable(&step, floats(&[2], &[1., 1.])));
    let inputs =
        |a: &Tensor, lr: Tensor| [w.clone(), a.clone(), lr, floats(&[3], &A), Tensor::scalar(0.9f32)];
    for (slot, lr) in [(&a, Tensor::scalar(0.1f32)), (&w, Tensor::scalar(0.1f32)), (&a, floats(&[1], &[0.1]))]
    {
        let refused = call_in(&step, "ResourceApplyMomentum", &inputs(slot, lr), &[]);
        assert_eq!(code(refused), Code::InvalidArgument);
        assert_eq!(value_of(&step, &w).as_slice::<f32>().unwrap(), W);
        assert_eq!(value_of(&step, &a).as_slice::<f32>().unwrap(), [1., 1.]);
    }
}
