//! ResNet-18 (He et al., 2015), for images of 32 x 32: trains on coloured squares and stripes. `resnet18 STEPS`, 3 without.

use thalweg::prelude::*;
use thalweg::train::initializers::he_normal;

const CLASSES: usize = 10;

/// Convolution without bias, then normalization.
fn conv(g: &Scope, x: &Output, filters: usize, kernel: usize, stride: i64, training: bool) -> Output {
    let he = he_normal(None);
    let conv = Conv2D::new(filters, [kernel, kernel])
        .strides([stride, stride])
        .padding(Padding::Same)
        .without_bias()
        .kernel_initializer(&he);
    BatchNormalization::new().momentum(0.9).epsilon(1e-5).apply(g, &conv.apply(g, x), training)
}

/// Two convolutions, added to their input. Where the size changes, the input is projected.
fn block(g: &Scope, x: &Output, filters: usize, stride: i64, training: bool) -> Output {
    let inner = g.relu(conv(g, x, filters, 3, stride, training));
    let residual = conv(g, &inner, filters, 3, 1, training);
    let same = stride == 1 && x.shape().dims().and_then(|d| d.last().copied()) == Some(filters as i64);
    let shortcut = if same { x.clone() } else { conv(g, x, filters, 1, stride, training) };
    g.relu(residual + shortcut)
}

fn resnet18(g: &Scope, images: &Output, training: bool) -> Output {
    let mut x = g.relu(conv(g, images, 64, 3, 1, training));
    for (filters, stride) in [(64, 1), (128, 2), (256, 2), (512, 2)] {
        x = block(g, &x, filters, stride, training);
        x = block(g, &x, filters, 1, training);
    }
    Dense::new(CLASSES).apply(g, &g.reduce_mean(x, &[1, 2]))
}

/// Images whose class decides colour and period of their stripes.
fn stripes(g: &Scope, count: usize) -> Dataset {
    let labels: Vec<i64> = (0..count).map(|i| (i % CLASSES) as i64).collect();
    let mut pixels = Vec::with_capacity(count * 32 * 32 * 3);
    for label in &labels {
        for at in 0..32 * 32 {
            let on = (at % 32) as i64 % (label + 2) == 0;
            pixels.extend((0..3).map(|c| if on && label % 3 == c { 1f32 } else { 0.1 }));
        }
    }
    Dataset::from_tensor_slices(g, ((pixels, [count, 32, 32, 3]), labels))
}

fn main() -> Result<()> {
    let steps: i64 = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(3);
    let g = Scope::new();
    g.set_random_seed(1);
    let batches = stripes(&g, 100).shuffle(100, Some(1)).repeat(None).batch_exact(8).take(steps);
    let trained =
        Trainer::new(Momentum::new(0.05, 0.9)).progress().fit(&g, &batches, |g, batch, training| {
            let logits = resnet18(g, &batch[0], training);
            let right = g.equal(g.argmax(&logits, 1), &batch[1]);
            Fit::new(losses::sparse_softmax_cross_entropy(g, &batch[1], &logits, None))
                .metric("accuracy", g.reduce_mean(g.cast(right, DataType::Float), &[]))
        })?;
    let size = |v: &Variable| v.shape().dims().map_or(0, |d| d.iter().product::<i64>());
    println!("{} parameters", g.trainable_variables().iter().map(size).sum::<i64>());
    let epoch = trained.last()?;
    println!("{} steps, mean loss {:.3}", epoch.steps, epoch.training["loss"]);
    Ok(())
}
