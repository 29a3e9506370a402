//! Pooling: the largest, or the mean, of each window of an image.

use super::Padding;
use thalweg_client::{Attr, Output, Scope};

/// The maximum of each window; `size` and `strides` are `[height, width]`.
#[track_caller]
pub fn max_pooling2d(g: &Scope, x: &Output, size: [i64; 2], strides: [i64; 2], padding: Padding) -> Output {
    pool(&g.name_scope("max_pooling2d"), "MaxPool", x, size, strides, padding)
}

/// The mean of each window; `size` and `strides` are `[height, width]`.
#[track_caller]
pub fn average_pooling2d(
    g: &Scope,
    x: &Output,
    size: [i64; 2],
    strides: [i64; 2],
    padding: Padding,
) -> Output {
    pool(&g.name_scope("average_pooling2d"), "AvgPool", x, size, strides, padding)
}

fn pool(g: &Scope, op: &str, x: &Output, size: [i64; 2], strides: [i64; 2], padding: Padding) -> Output {
    let along = |[height, width]: [i64; 2]| Attr::ints(&[1, height, width, 1]);
    g.op(op)
        .input(x)
        .attr("ksize", along(size))
        .attr("strides", along(strides))
        .attr("padding", padding.name())
        .output()
}
