//! `Conv2D`: 2-D convolution of images (batch, height, width, channels).

use super::weights::Weights;
use super::{Activation, Padding, last_dim};
use crate::initializers::{Zeros, glorot_uniform};
use thalweg_client::{Attr, Initializer, Output, Scope, VariableOptions};

/// A 2-D convolution over images `[batch, height, width, channels]`.
pub struct Conv2D<'a> {
    filters: usize,
    kernel: [usize; 2],
    strides: [i64; 2],
    padding: Padding,
    activation: Activation,
    use_bias: bool,
    trainable: bool,
    kernel_initializer: Option<&'a dyn Initializer>,
    bias_initializer: &'a dyn Initializer,
    name: Option<&'a str>,
    weights: Weights,
}

impl<'a> Conv2D<'a> {
    /// `filters` output channels, from windows of `[height, width]`; stride 1, no padding.
    pub fn new(filters: usize, kernel: [usize; 2]) -> Self {
        Conv2D {
            filters,
            kernel,
            strides: [1, 1],
            padding: Padding::Valid,
            activation: Activation::Linear,
            use_bias: true,
            trainable: true,
            kernel_initializer: None,
            bias_initializer: &Zeros,
            name: None,
            weights: Weights::default(),
        }
    }

    /// The strides, `[height, width]`.
    pub fn strides(self, strides: [i64; 2]) -> Self {
        Conv2D { strides, ..self }
    }

    /// `Valid` by default.
    pub fn padding(self, padding: Padding) -> Self {
        Conv2D { padding, ..self }
    }

    /// The activation function; none by default.
    pub fn activation(self, activation: Activation) -> Self {
        Conv2D { activation, ..self }
    }

    /// Whether optimizers change the variables; they do by default.
    pub fn trainable(self, trainable: bool) -> Self {
        Conv2D { trainable, ..self }
    }

    /// Leaves the bias out.
    pub fn without_bias(self) -> Self {
        Conv2D { use_bias: false, ..self }
    }

    /// Glorot's uniform distribution by default.
    pub fn kernel_initializer(self, initializer: &'a dyn Initializer) -> Self {
        Conv2D { kernel_initializer: Some(initializer), ..self }
    }

    /// Zeros by default.
    pub fn bias_initializer(self, initializer: &'a dyn Initializer) -> Self {
        Conv2D { bias_initializer: initializer, ..self }
    }

    /// The variable scope; `conv2d` with a number by default.
    pub fn name(self, name: &'a str) -> Self {
        Conv2D { name: Some(name), ..self }
    }

    /// Makes the variables `kernel` and `bias` and applies the layer. The number of channels of `x` must be known.
    #[track_caller]
    pub fn apply(&self, g: &Scope, x: &Output) -> Output {
        let g = self.weights.scope(g, self.name, "conv2d");
        let channels = last_dim(&g, "conv2d", x);
        let options = VariableOptions { dtype: x.dtype(), trainable: self.trainable };
        let glorot = glorot_uniform(None);
        let initializer = self.kernel_initializer.unwrap_or_else(|| g.initializer_or(&glorot));
        let [height, width] = self.kernel;
        let dims = [height, width, channels, self.filters];
        let kernel = g.get_variable_with("kernel", &dims, initializer, options);
        let strides = Attr::ints(&[1, self.strides[0], self.strides[1], 1]);
        let padding = self.padding.name();
        let convolve = g.op("Conv2D").attr("strides", strides).attr("padding", padding);
        let mut y = g.product(convolve, x, &kernel.value);
        if self.use_bias {
            let bias = g.get_variable_with("bias", &[self.filters], self.bias_initializer, options);
            y = g.bias_add(y, &bias.value);
        }
        self.activation.apply(&g, &y)
    }
}
