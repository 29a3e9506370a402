//! An LSTM language model predicts the next word in sentences of a small grammar, better than a unigram model.

use thalweg::prelude::*;
use thalweg::train::layers::{Dense, Embedding};
use thalweg::train::losses;
use thalweg::train::optimizers::{Adam, Minimize};
use thalweg::train::rnn::{Lstm, Sequence, dynamic_rnn};

const WORDS: [&str; 12] =
    ["the", "a", "cat", "dog", "bird", "sees", "hears", "who", "sings", "sleeps", "and", "."];
const LENGTH: usize = 12;

/// `length` words: sentences such as "the cat sees a bird who sings ."
fn text(length: usize, mut seed: u32) -> Vec<i32> {
    let mut pick = |n: u32| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 16) % n
    };
    let mut words = Vec::new();
    while words.len() < length {
        words.extend([pick(2), 2 + pick(3), 5 + pick(2), pick(2), 2 + pick(3)]);
        if pick(3) == 0 {
            words.extend([7, 8 + pick(2)]);
        }
        words.push(if pick(4) == 0 { 10 } else { 11 });
    }
    words.truncate(length);
    words.into_iter().map(|w| w as i32).collect()
}

/// Windows of words, and the same shifted by one.
fn windows(words: &[i32]) -> Result<[Tensor; 2]> {
    let starts: Vec<usize> = (0..words.len() - LENGTH).step_by(LENGTH).collect();
    let rows = |shift: usize| {
        let all: Vec<i32> =
            starts.iter().flat_map(|s| words[s + shift..s + shift + LENGTH].iter().copied()).collect();
        Tensor::from_slice(Shape::new(&[starts.len(), LENGTH])?, &all)
    };
    Ok([rows(0)?, rows(1)?])
}

/// The perplexity of a unigram model.
fn unigram(train: &[i32], test: &[i32]) -> f64 {
    let mut counts = [1.0f64; WORDS.len()];
    train.iter().for_each(|w| counts[*w as usize] += 1.0);
    let total: f64 = counts.iter().sum();
    let surprise: f64 = test.iter().map(|w| -(counts[*w as usize] / total).ln()).sum();
    (surprise / test.len() as f64).exp()
}

fn main() -> Result<()> {
    let g = Scope::new();
    g.set_random_seed(1);
    let x = g.placeholder(DataType::Int32, &[-1, LENGTH as i64]);
    let next = g.placeholder(DataType::Int32, &[-1, LENGTH as i64]);
    let inputs = Embedding::new(WORDS.len(), 16).apply(&g, &x);
    let (outputs, _) = dynamic_rnn(&g, &Lstm::new(32), &Sequence::new(&inputs));
    let logits = Dense::new(WORDS.len()).apply(&g, &g.reshape(&outputs, &[-1, 32]));
    let loss = losses::sparse_softmax_cross_entropy(&g, &g.reshape(&next, &[-1]), &logits, None);
    let train = Adam::new(0.02).minimize(&g, &loss, None)?;
    let (known, held_out) = (text(1200, 1), text(600, 2));
    let [given, follows] = windows(&known)?;
    let session = Session::new(&g)?;
    session.run(&g.init(), &[])?;
    for _ in 0..150 {
        session.run(&train, &[feed(&x, &given), feed(&next, &follows)])?;
    }
    let [given, follows] = windows(&held_out)?;
    let loss = session.run(&loss, &[feed(&x, &given), feed(&next, &follows)])?.to_scalar::<f32>()?;
    println!("perplexity {:.2}, counting words {:.2}", loss.exp(), unigram(&known, &held_out));
    Ok(())
}
