//! Update rules against values recorded from TensorFlow 2.21.

use crate::prelude::*;
use crate::state::tests::{resource_variable, value_of};
use crate::testing::{call_in, code, floats, step};

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
