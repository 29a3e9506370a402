//! Elementwise kernels as one: in place or not.

use crate::prelude::*;
use crate::testing::{call, registry, step};
use thalweg_core::direct;

/// In place (the inputs are the kernel's own) or not, on one thread or several: the same result.
#[test]
fn results_that_replace_an_input_are_those_of_a_new_tensor() {
    let of = |dims: &[usize], salt: usize| {
        Tensor::build(Shape::new(dims).unwrap(), |out: &mut [f32]| {
            out.iter_mut().enumerate().for_each(|(i, x)| *x = ((i * 31 + salt) % 1009) as f32 / 7.0)
        })
        .unwrap()
    };
    let (registry, step) = (registry(), step(4));
    for (a, b) in [
        (&[40_000, 3][..], &[40_000, 3][..]),
        (&[40_000, 3], &[3]),
        (&[40_000, 3], &[40_000, 1]),
        (&[40_000, 3], &[]),
        (&[], &[40_000, 3]),
        (&[3], &[40_000, 3]),
        (&[20, 50, 1], &[50, 90]),
        (&[2, 300, 200], &[300, 1]),
        (&[0, 3], &[3]),
    ] {
        let shared = call("Sub", &[of(a, 1), of(b, 2)], &[]).unwrap();
        let own = direct::call(registry, &step, "Sub", vec![of(a, 1), of(b, 2)], Attrs::new()).unwrap();
        assert!(shared[0].same_bits(&own[0]), "{a:?} - {b:?}");
    }
    let shared = call("Exp", &[of(&[50_001], 1)], &[]).unwrap();
    let own = direct::call(registry, &step, "Exp", vec![of(&[50_001], 1)], Attrs::new()).unwrap();
    assert!(shared[0].same_bits(&own[0]));
}
