//! `SeparableConv2D`: a convolution of each channel, then of the channels at each place.

use super::weights::Weights;
use super::{Activation, Padding, last_dim};
use crate::initializers::{Zeros, glorot_uniform};
use thalweg_client::{Attr, Initializer, Output, Scope, VariableOptions};

/// A depthwise convolution over images `[batch, height, width, channels]`, and a pointwise one.
pub struct SeparableConv2D<'a> {
    filters: usize,
    kernel: [usize; 2],
    strides: [i64; 2],
    padding: Padding,
    multiplier: usize,
    activation: Activation,
    use_bias: bool,
    initializers: [Option<&'a dyn Initializer>; 2],
    name: Option<&'a str>,
    weights: Weights,
}

impl<'a> SeparableConv2D<'a> {
    /// `filters` output channels, from windows of `[height, width]`; stride 1, no padding.
    pub fn new(filters: usize, kernel: [usize; 2]) -> Self {
        SeparableConv2D {
            filters,
            kernel,
            strides: [1, 1],
            padding: Padding::Valid,
            multiplier: 1,
            activation: Activation::Linear,
            use_bias: true,
            initializers: [None, None],
            name: None,
            weights: Weights::default(),
        }
    }

    /// The strides, `[height, width]`.
    pub fn strides(self, strides: [i64; 2]) -> Self {
        SeparableConv2D { strides, ..self }
    }

    /// `Valid` by default.
    pub fn padding(self, padding: Padding) -> Self {
        SeparableConv2D { padding, ..self }
    }

    /// How many channels the depthwise convolution makes of each; one by default.
    pub fn depth_multiplier(self, multiplier: usize) -> Self {
        SeparableConv2D { multiplier, ..self }
    }

    /// The activation function; none by default.
    pub fn activation(self, activation: Activation) -> Self {
        SeparableConv2D { activation, ..self }
    }

    /// Leaves the bias out.
    pub fn without_bias(self) -> Self {
        SeparableConv2D { use_bias: false, ..self }
    }

    /// Of the depthwise and of the pointwise kernel; Glorot's uniform distribution by default.
    pub fn initializers(
        self,
        depthwise: Option<&'a dyn Initializer>,
        pointwise: Option<&'a dyn Initializer>,
    ) -> Self {
        SeparableConv2D { initializers: [depthwise, pointwise], ..self }
    }

    /// The variable scope; `separable_conv2d` with a number by default.
    pub fn name(self, name: &'a str) -> Self {
        SeparableConv2D { name: Some(name), ..self }
    }

    /// Makes the variables `depthwise_kernel`, `pointwise_kernel` and `bias` and applies the layer. The number of channels of `x` must be known.
    #[track_caller]
    pub fn apply(&self, g: &Scope, x: &Output) -> Output {
        let g = self.weights.scope(g, self.name, "separable_conv2d");
        let channels = last_dim(&g, "separable_conv2d", x);
        let options = VariableOptions { dtype: x.dtype(), trainable: true };
        let glorot = glorot_uniform(None);
        let variable = |name: &str, dims: &[usize], own: Option<&dyn Initializer>| {
            let initializer = own.unwrap_or_else(|| g.initializer_or(&glorot));
            g.get_variable_with(name, dims, initializer, options)
        };
        let [height, width] = self.kernel;
        let wide = channels.saturating_mul(self.multiplier);
        let depthwise =
            variable("depthwise_kernel", &[height, width, channels, self.multiplier], self.initializers[0]);
        let pointwise = variable("pointwise_kernel", &[1, 1, wide, self.filters], self.initializers[1]);
        let each = g
            .op("DepthwiseConv2dNative")
            .input(x)
            .input(&depthwise.value)
            .attr("strides", Attr::ints(&[1, self.strides[0], self.strides[1], 1]))
            .attr("padding", self.padding.name())
            .output();
        let across = g.op("Conv2D").input(each).input(&pointwise.value);
        let mut y = across.attr("strides", Attr::ints(&[1, 1, 1, 1])).attr("padding", "VALID").output();
        if self.use_bias {
            let bias = g.get_variable_with("bias", &[self.filters], &Zeros, options);
            y = g.bias_add(y, &bias.value);
        }
        self.activation.apply(&g, &y)
    }
}
