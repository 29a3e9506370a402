//! Layers: a few ops and the variables they need.
//!
//! Each is a builder of settings, made by `new` and applied to an input: `Dense::new(10).activation(Activation::Relu).apply(&g, &x)`.
//! Variables are named as TensorFlow's layers name them: `dense/kernel`, `dense_1/bias`, .. A layer that is applied again, on the same graph,
//! shares its variables.

mod activation;
mod conv;
mod conv_transpose;
mod dense;
mod dropout;
mod embedding;
mod normalization;
mod pooling;
mod separable;
mod weights;

pub use activation::Activation;
pub use conv::Conv2D;
pub use conv_transpose::Conv2DTranspose;
pub use dense::Dense;
pub use dropout::dropout;
pub use embedding::Embedding;
pub use normalization::{BatchNormalization, LayerNormalization};
pub use pooling::{average_pooling2d, max_pooling2d};
pub use separable::SeparableConv2D;

use thalweg_client::{Output, Scope};

/// Padding of the edges of images.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Padding {
    /// No padding: only windows that lie inside.
    #[default]
    Valid,
    /// Zero padding, so that the output has `ceil(size / stride)` windows.
    Same,
}

impl Padding {
    /// The value of the attr `padding`.
    pub fn name(self) -> &'static str {
        match self {
            Padding::Valid => "VALID",
            Padding::Same => "SAME",
        }
    }
}

/// Reshapes to two dimensions; the first one stays.
#[track_caller]
pub fn flatten(g: &Scope, x: &Output) -> Output {
    let size = x.shape().dims().map(|d| d.iter().skip(1).product::<i64>()).filter(|n| *n >= 0);
    let size = size.and_then(|n| i32::try_from(n).ok()).unwrap_or(-1);
    match x.shape().dims().and_then(|d| d.first().copied()) {
        // Only one unknown size can be inferred.
        Some(rows) if size == -1 && rows >= 0 => g.reshape(x, &[rows as i32, -1]),
        _ => g.reshape(x, &[-1, size]),
    }
}

/// The size of the last dimension, which a layer's variables depend on.
#[track_caller]
fn last_dim(g: &Scope, layer: &str, x: &Output) -> usize {
    if !x.dtype().is_float() {
        let text = format!(
            "{layer}: '{}' is {}, but a layer needs floats; cast it (Scope::cast), or look it up in an Embedding",
            x.name(),
            x.dtype()
        );
        g.mistake(thalweg_client::Error::new(thalweg_client::Code::InvalidArgument, text));
    }
    let last = x.shape().dims().and_then(|d| d.last().copied());
    match last.and_then(|n| usize::try_from(n).ok()) {
        Some(n) => n,
        None => {
            let text = format!(
                "{layer}: the last dimension of '{}' must be known to make its variables, but its shape is {}; give the \
                 placeholder a shape, or reshape it before",
                x.name(),
                x.shape()
            );
            g.mistake(thalweg_client::Error::new(thalweg_client::Code::InvalidArgument, text));
            1
        }
    }
}
