//! Two convolutions and two dense layers classify digits: `mnist_cnn FOLDER` those of MNIST's files, gzipped or not; without a
//! folder, synthetic seven-segment digits, with noise.

use std::path::PathBuf;
use thalweg::prelude::*;

/// The segments of each digit: top, upper left, upper right, middle, lower left, lower right, bottom.
const STROKES: [u8; 10] = [0x77, 0x24, 0x5d, 0x6d, 0x2e, 0x6b, 0x7b, 0x25, 0x7f, 0x6f];

/// Whether a segment of a digit covers a pixel of a 28 x 28 image.
fn inked(digit: usize, row: usize, column: usize) -> bool {
    let (left, right) = ((8..11).contains(&column), (17..20).contains(&column));
    let (upper, lower) = ((4..14).contains(&row), (14..24).contains(&row));
    let across = |from: usize| (from..from + 3).contains(&row) && (8..20).contains(&column);
    let strokes =
        [across(4), left && upper, right && upper, across(13), left && lower, right && lower, across(21)];
    strokes.iter().enumerate().any(|(i, on)| *on && STROKES[digit] >> i & 1 == 1)
}

/// Synthetic digits in MNIST's form: uint8 images and labels.
fn drawn(g: &Scope) -> Result<Dataset> {
    let labels: Vec<u8> = (0..600).map(|i| (i % 10) as u8).collect();
    let mut noise = 1u32;
    let mut pixels = Vec::with_capacity(labels.len() * 784);
    for label in &labels {
        for at in 0..784 {
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let ink = if inked(usize::from(*label), at / 28, at % 28) { 150 } else { 0 };
            pixels.push(ink + (noise >> 24) as u8 % 100);
        }
    }
    let images = Tensor::from_slice(Shape::new(&[labels.len(), 28, 28])?, &pixels)?;
    Ok(Dataset::from_tensor_slices(g, (images, Tensor::vector(&labels)?)))
}

fn main() -> Result<()> {
    let g = Scope::new();
    g.set_random_seed(1);
    let (digits, steps) = match std::env::args().nth(1).map(PathBuf::from) {
        Some(dir) => {
            let file = |name: &str| dir.join(name);
            let (images, labels) = (file("train-images-idx3-ubyte"), file("train-labels-idx1-ubyte"));
            (Dataset::idx(&g, images, labels), 1000)
        }
        None => (drawn(&g)?, 50),
    };
    // Files that are not there, or no digits.
    g.check()?;
    let batch = digits.shuffle(10_000, Some(1)).repeat(None).batch(50);
    let next = batch.one_shot_iterator(&g).get_next();
    let (images, labels) = (&next[0], g.cast(&next[1], DataType::Int32));
    let x = g.reshape(&(g.cast(images, DataType::Float) / 255f32), &[-1, 28, 28, 1]);
    let mut image = x;
    for filters in [8, 16] {
        let conv = Conv2D::new(filters, [5, 5]).padding(Padding::Same).activation(Activation::Relu);
        image = max_pooling2d(&g, &conv.apply(&g, &image), [2, 2], [2, 2], Padding::Valid);
    }
    let hidden = Dense::new(64).activation(Activation::Relu).apply(&g, &flatten(&g, &image));
    let logits = Dense::new(10).apply(&g, &hidden);
    let loss = losses::sparse_softmax_cross_entropy(&g, &labels, &logits, None);
    let right = g.equal(g.cast(g.argmax(&logits, 1), DataType::Int32), &labels);
    let accuracy = g.reduce_mean(g.cast(&right, DataType::Float), &[]);
    let train = Adam::new(0.003).minimize(&g, &loss, None)?;
    let session = Session::new(&g)?;
    session.run(&g.init(), &[])?;
    for step in 1..=steps {
        let (loss, accuracy, ()) = session.run(&(&loss, &accuracy, &train), &[])?;
        if step % (steps / 10) == 0 {
            println!("{step:4}  loss {loss:.4}  accuracy {accuracy:.2}");
        }
    }
    Ok(())
}
