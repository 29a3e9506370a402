//! `Conv2DTranspose`: the transpose of a 2-D convolution, which makes images larger.

use super::weights::Weights;
use super::{Activation, Padding, last_dim};
use crate::initializers::{Zeros, glorot_uniform};
use thalweg_client::{Attr, Initializer, Output, PartialShape, Scope, VariableOptions};

/// A transposed 2-D convolution over images `[batch, height, width, channels]`.
pub struct Conv2DTranspose<'a> {
    filters: usize,
    kernel: [usize; 2],
    strides: [i64; 2],
    padding: Padding,
    activation: Activation,
    use_bias: bool,
    kernel_initializer: Option<&'a dyn Initializer>,
    bias_initializer: &'a dyn Initializer,
    name: Option<&'a str>,
    weights: Weights,
}

impl<'a> Conv2DTranspose<'a> {
    /// `filters` output channels, each input spread over a window of `[height, width]`; stride 1, no padding.
    pub fn new(filters: usize, kernel: [usize; 2]) -> Self {
        Conv2DTranspose {
            filters,
            kernel,
            strides: [1, 1],
            padding: Padding::Valid,
            activation: Activation::Linear,
            use_bias: true,
            kernel_initializer: None,
            bias_initializer: &Zeros,
            name: None,
            weights: Weights::default(),
        }
    }

    /// The strides, `[height, width]`: how much larger the result is.
    pub fn strides(self, strides: [i64; 2]) -> Self {
        Conv2DTranspose { strides, ..self }
    }

    /// `Valid` by default.
    pub fn padding(self, padding: Padding) -> Self {
        Conv2DTranspose { padding, ..self }
    }

    /// The activation function; none by default.
    pub fn activation(self, activation: Activation) -> Self {
        Conv2DTranspose { activation, ..self }
    }

    /// Leaves the bias out.
    pub fn without_bias(self) -> Self {
        Conv2DTranspose { use_bias: false, ..self }
    }

    /// Glorot's uniform distribution by default.
    pub fn kernel_initializer(self, initializer: &'a dyn Initializer) -> Self {
        Conv2DTranspose { kernel_initializer: Some(initializer), ..self }
    }

    /// Zeros by default.
    pub fn bias_initializer(self, initializer: &'a dyn Initializer) -> Self {
        Conv2DTranspose { bias_initializer: initializer, ..self }
    }

    /// The variable scope; `conv2d_transpose` with a number by default.
    pub fn name(self, name: &'a str) -> Self {
        Conv2DTranspose { name: Some(name), ..self }
    }

    /// The size of the result along one dimension of size `n`; -1 if that is unknown.
    fn size(&self, n: i64, along: usize) -> i64 {
        let (stride, kernel) = (self.strides[along], i64::try_from(self.kernel[along]).unwrap_or(i64::MAX));
        match self.padding {
            _ if n < 0 => -1,
            Padding::Same => n.saturating_mul(stride),
            Padding::Valid => n.saturating_mul(stride).saturating_add(kernel.saturating_sub(stride).max(0)),
        }
    }

    /// Makes the variables `kernel` and `bias` and applies the layer. Height, width and channels of `x` must be known.
    #[track_caller]
    pub fn apply(&self, g: &Scope, x: &Output) -> Output {
        let g = self.weights.scope(g, self.name, "conv2d_transpose");
        let channels = last_dim(&g, "conv2d_transpose", x);
        let options = VariableOptions { dtype: x.dtype(), trainable: true };
        let glorot = glorot_uniform(None);
        let initializer = self.kernel_initializer.unwrap_or_else(|| g.initializer_or(&glorot));
        let [height, width] = self.kernel;
        let kernel =
            g.get_variable_with("kernel", &[height, width, self.filters, channels], initializer, options);
        let shape = x.shape();
        let known = |at: usize| shape.dims().and_then(|d| d.get(at).copied()).unwrap_or(-1);
        let sizes = [self.size(known(1), 0), self.size(known(2), 1)];
        let narrow = |n: i64| i32::try_from(n).unwrap_or(i32::MAX);
        let filters = narrow(i64::try_from(self.filters).unwrap_or(i64::MAX));
        let batch = g.slice(g.shape(x), &[0], &[1]);
        let rest = g.constant(vec![narrow(sizes[0]), narrow(sizes[1]), filters]);
        let result = g
            .op("Conv2DBackpropInput")
            .name("conv2d_transpose")
            .input(g.concat(&[batch, rest], 0))
            .input(&kernel.value)
            .input(x)
            .attr("strides", Attr::ints(&[1, self.strides[0], self.strides[1], 1]))
            .attr("padding", self.padding.name())
            .output();
        let shape: PartialShape = [known(0), sizes[0], sizes[1], i64::from(filters)].into_iter().collect();
        let mut y = result.with_shape(&shape);
        if self.use_bias {
            let bias = g.get_variable_with("bias", &[self.filters], self.bias_initializer, options);
            y = g.bias_add(y, &bias.value);
        }
        self.activation.apply(&g, &y)
    }
}
