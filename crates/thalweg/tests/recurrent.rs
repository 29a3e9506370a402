//! Recurrent nets: the loop and the unrolled net agree, lengths truncate sequences, gradients flow through the loop.

use thalweg::prelude::*;
use thalweg::train::optimizers::{Adam, Minimize};
use thalweg::train::rnn::{Cell, Gru, Lstm, Rnn, Sequence, Stacked, dynamic_rnn, static_rnn};

fn values(n: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 37 % 19) as f32 - 9.0) / 9.0).collect()
}

fn cells() -> Vec<Box<dyn Cell>> {
    vec![
        Box::new(Rnn::new(3)),
        Box::new(Gru::new(3)),
        Box::new(Stacked(vec![Box::new(Lstm::new(4)), Box::new(Lstm::new(3))])),
    ]
}

#[test]
fn a_loop_over_time_gives_what_the_unrolled_net_gives_with_its_gradients() {
    for cell in cells() {
        let g = Scope::new();
        g.set_random_seed(5);
        let x = g.constant((values(2 * 5 * 3), [2, 5, 3]));
        let (y, state) = dynamic_rnn(&g, &*cell, &Sequence::new(&x));
        let steps = g.op("Unpack").input(&x).attr("num", 5i64).attr("axis", 1i64).outputs();
        let (ys, states) = static_rnn(&g, &*cell, &steps, None);
        let unrolled = g.stack(&ys.iter().collect::<Vec<_>>(), 1);
        let loss = |y: &Output, s: &[Output]| &g.reduce_sum(g.square(y), &[]) + &g.reduce_sum(&s[0], &[]);
        let (a, b) = (loss(&y, &state), loss(&unrolled, &states));
        let variables = g.trainable_variables();
        let handles: Vec<&Output> = variables.iter().map(|v| &v.handle).collect();
        let grads = |y: &Output| -> Vec<Output> {
            g.gradients(&[y], &handles).iter().map(|d| d.dense(&g).unwrap()).collect()
        };
        let (da, db) = (grads(&a), grads(&b));
        let session = Session::new(&g).unwrap();
        session.run(&g.init(), &[]).unwrap();
        let (y, unrolled, da, db) = session.run(&(y, unrolled, da, db), &[]).unwrap();
        let close = |a: &Tensor, b: &Tensor| {
            let (a, b) = (a.as_slice::<f32>().unwrap(), b.as_slice::<f32>().unwrap());
            assert_eq!(a.len(), b.len());
            for (a, b) in a.iter().zip(b) {
                assert!((a - b).abs() <= 1e-5 * b.abs().max(1.0), "{a} {b}");
            }
        };
        close(&y, &unrolled);
        assert!(!da.is_empty() && da.len() == handles.len());
        da.iter().zip(&db).for_each(|(a, b)| close(a, b));
    }
}

/// The gradient TensorArrays of one call used to include those of another.
#[test]
fn two_gradients_of_one_loop_do_not_add_up() {
    let g = Scope::new();
    g.set_random_seed(5);
    let x = g.constant((values(2 * 5 * 3), [2, 5, 3]));
    let (y, _) = dynamic_rnn(&g, &Rnn::new(3), &Sequence::new(&x));
    let grad = || g.gradients(&[&y], &[&x])[0].dense(&g).unwrap();
    let (a, b) = (grad(), grad());
    let session = Session::new(&g).unwrap();
    session.run(&g.init(), &[]).unwrap();
    let (a, b) = session.run(&(a, b), &[]).unwrap();
    assert_eq!(a.as_slice::<f32>().unwrap(), b.as_slice::<f32>().unwrap());
}

#[test]
fn beyond_its_length_a_sequence_gives_zeros_and_keeps_its_state() {
    let g = Scope::new();
    g.set_random_seed(5);
    let x = g.constant((values(2 * 5 * 3), [2, 5, 3]));
    let lengths = g.constant([2i32, 5]);
    let cell = Gru::new(3);
    let (y, state) = dynamic_rnn(&g, &cell, &Sequence { lengths: Some(&lengths), ..Sequence::new(&x) });
    let session = Session::new(&g).unwrap();
    session.run(&g.init(), &[]).unwrap();
    let (y, state) = session.run(&(y, state), &[]).unwrap();
    let (y, state) = (y.as_slice::<f32>().unwrap(), state[0].as_slice::<f32>().unwrap());
    assert!(y[6..15].iter().all(|v| *v == 0.0));
    assert_eq!((&y[3..6], &y[27..30]), (&state[0..3], &state[3..6]));
}

/// The sign of the first of eight numbers must be remembered to the end.
#[test]
fn an_lstm_learns_to_remember() {
    let g = Scope::new();
    g.set_random_seed(11);
    let x = g.random_normal(&[32, 8, 1], 0.0, 1.0, 3);
    let first = g.reshape(g.slice(&x, &[0, 0, 0], &[-1, 1, -1]), &[-1, 1]);
    let label = g.cast(g.greater(&first, g.constant(0f32)), DataType::Float);
    let (_, state) = dynamic_rnn(&g, &Lstm::new(8), &Sequence::new(&x));
    let logits = thalweg::train::layers::Dense::new(1).apply(&g, &state[1]);
    let loss = thalweg::train::losses::sigmoid_cross_entropy(&g, &label, &logits, None);
    let train = Adam::new(0.05).minimize(&g, &loss, None).unwrap();
    let session = Session::new(&g).unwrap();
    session.run(&g.init(), &[]).unwrap();
    let mut lowest = f32::MAX;
    // Every batch is new; with some initial weights the loss stays flat for a while.
    for _ in 0..600 {
        lowest = lowest.min(session.run(&(&loss, &train), &[]).unwrap().0.to_scalar::<f32>().unwrap());
        if lowest < 0.1 {
            return;
        }
    }
    panic!("the lowest loss was {lowest}");
}
