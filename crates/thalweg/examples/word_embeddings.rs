//! Word embeddings (skip-gram): each word predicts its neighbours, by a sampled softmax over the vocabulary. Words with similar
//! contexts get similar embeddings.

use thalweg::prelude::*;
use thalweg::train::embedding::PartitionStrategy;
use thalweg::train::initializers::{RandomUniform, Zeros};
use thalweg::train::losses::{Candidates, OutputLayer, sampled_softmax_loss};
use thalweg::train::optimizers::{Adam, Minimize};

const ANIMALS: [&str; 4] = ["cat", "dog", "fox", "hen"];
const TOOLS: [&str; 4] = ["saw", "axe", "pen", "key"];

/// Sentences about animals and tools.
fn text() -> String {
    let mut text = String::new();
    for (animal, tool) in ANIMALS.iter().flat_map(|a| TOOLS.map(|t| (a, t))) {
        text += &format!("hungry {animal} eats warm food then young {animal} sleeps well ");
        text += &format!("old {tool} lies on wooden bench until steel {tool} rusts there ");
    }
    text
}

fn main() -> Result<()> {
    let text = text();
    let mut words: Vec<&str> = Vec::new();
    let ids: Vec<i64> = text
        .split_whitespace()
        .map(|word| {
            words.iter().position(|w| *w == word).unwrap_or_else(|| {
                words.push(word);
                words.len() - 1
            }) as i64
        })
        .collect();
    let pairs = ids.windows(3).flat_map(|w| [(w[1], w[0]), (w[1], w[2])]);
    let (centers, neighbours): (Vec<i64>, Vec<i64>) = pairs.unzip();
    let (size, vocabulary) = (8, words.len());

    let g = Scope::new();
    g.set_random_seed(1);
    let uniform = RandomUniform { low: -0.5, high: 0.5, seed: None };
    let embeddings = g.get_variable("embeddings", &[vocabulary, size], &uniform);
    let weights = g.get_variable("weights", &[vocabulary, size], &uniform);
    let biases = g.get_variable("biases", &[vocabulary], &Zeros);
    let inputs = embeddings.gather(&g, g.constant(centers));
    let labels = g.reshape(g.constant(neighbours), &[-1, 1]);
    let candidates = Candidates::log_uniform(&g, &labels, 8, vocabulary as i64, None);
    let layer =
        OutputLayer { weights: &[weights], biases: &[biases], strategy: PartitionStrategy::default() };
    let loss = g.reduce_mean(sampled_softmax_loss(&g, layer, &labels, &inputs, &candidates), &[]);
    let train = Adam::new(0.05).minimize(&g, &loss, None)?;
    let lengths = g.sqrt(g.reshape(g.reduce_sum(g.square(&embeddings.value), &[1]), &[-1, 1]));
    let directions = &embeddings.value / &lengths;
    let session = Session::new(&g)?;
    session.run(&g.init(), &[])?;
    for step in 1..=300 {
        let (loss, ()) = session.run(&(&loss, &train), &[])?;
        if step % 100 == 0 {
            println!("step {step}, loss {:.3}", loss.to_scalar::<f32>()?);
        }
    }
    let found = session.run(&directions, &[])?;
    let rows: Vec<&[f32]> = found.as_slice::<f32>()?.chunks(size).collect();
    for word in ["cat", "saw"] {
        let of = words.iter().position(|w| *w == word).unwrap_or(0);
        let cosine = |i: usize| rows[i].iter().zip(rows[of]).map(|(a, b)| a * b).sum::<f32>();
        let mut others: Vec<usize> = (0..vocabulary).filter(|i| *i != of).collect();
        others.sort_by(|a, b| cosine(*b).total_cmp(&cosine(*a)));
        let nearest: Vec<&str> = others.iter().take(3).map(|i| words[*i]).collect();
        println!("nearest to {word}: {}", nearest.join(", "));
    }
    Ok(())
}
