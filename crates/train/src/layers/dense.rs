//! `Dense`: a fully connected layer.

use super::weights::Weights;
use super::{Activation, last_dim};
use crate::initializers::{Zeros, glorot_uniform};
use thalweg_client::{Initializer, Output, Scope, VariableOptions};

/// A fully connected layer: `activation(x kernel + bias)`.
///
/// ```
/// use thalweg_client::{DataType, Scope};
/// use thalweg_train::layers::{Activation, Dense};
///
/// let g = Scope::new();
/// let x = g.placeholder(DataType::Float, &[-1, 784]);
/// let hidden = Dense::new(128).activation(Activation::Relu).apply(&g, &x);
/// let logits = Dense::new(10).name("logits").apply(&g, &hidden);
/// assert_eq!(logits.shape().to_string(), "[?,10]");
/// let names: Vec<String> = g.trainable_variables().iter().map(|v| v.name()).collect();
/// assert_eq!(names, ["dense/kernel", "dense/bias", "logits/kernel", "logits/bias"]);
/// g.check()?;
/// # Ok::<(), thalweg_client::Error>(())
/// ```
pub struct Dense<'a> {
    units: usize,
    activation: Activation,
    use_bias: bool,
    trainable: bool,
    kernel_initializer: Option<&'a dyn Initializer>,
    bias_initializer: &'a dyn Initializer,
    name: Option<&'a str>,
    weights: Weights,
}

impl<'a> Dense<'a> {
    /// With so many outputs.
    pub fn new(units: usize) -> Self {
        Dense {
            units,
            activation: Activation::Linear,
            use_bias: true,
            trainable: true,
            kernel_initializer: None,
            bias_initializer: &Zeros,
            name: None,
            weights: Weights::default(),
        }
    }

    /// The activation function; none by default.
    pub fn activation(self, activation: Activation) -> Self {
        Dense { activation, ..self }
    }

    /// Whether optimizers change the variables; they do by default.
    pub fn trainable(self, trainable: bool) -> Self {
        Dense { trainable, ..self }
    }

    /// Leaves the bias out.
    pub fn without_bias(self) -> Self {
        Dense { use_bias: false, ..self }
    }

    /// Glorot's uniform distribution if none is given.
    pub fn kernel_initializer(self, initializer: &'a dyn Initializer) -> Self {
        Dense { kernel_initializer: Some(initializer), ..self }
    }

    /// Zeros by default.
    pub fn bias_initializer(self, initializer: &'a dyn Initializer) -> Self {
        Dense { bias_initializer: initializer, ..self }
    }

    /// The variable scope, `dense` with a number if none is given.
    pub fn name(self, name: &'a str) -> Self {
        Dense { name: Some(name), ..self }
    }

    /// Makes the variables `kernel` and `bias` and applies the layer to the last dimension of `x`, whose size must be known.
    #[track_caller]
    pub fn apply(&self, g: &Scope, x: &Output) -> Output {
        let g = self.weights.scope(g, self.name, "dense");
        let inputs = last_dim(&g, "dense", x);
        let options = VariableOptions { dtype: x.dtype(), trainable: self.trainable };
        let glorot = glorot_uniform(None);
        let initializer = self.kernel_initializer.unwrap_or_else(|| g.initializer_or(&glorot));
        let kernel = g.get_variable_with("kernel", &[inputs, self.units], initializer, options);
        let mut y = match x.shape().rank() {
            Some(2) | None => g.matmul(x, &kernel.value),
            // Flattens the leading dimensions.
            Some(_) => {
                let rows = g.reshape(x, &[-1, inputs as i32]);
                let y = g.matmul(rows, &kernel.value);
                let mut dims: Vec<i32> =
                    x.shape().dims().unwrap_or_default().iter().map(|d| *d as i32).collect();
                if let Some(last) = dims.last_mut() {
                    *last = self.units as i32;
                }
                match dims.iter().filter(|d| **d < 0).count() {
                    0 | 1 => g.reshape(y, &dims),
                    _ => {
                        let head = g.slice(g.shape(x), &[0], &[dims.len() as i32 - 1]);
                        let shape = g.concat(&[head, g.constant(vec![self.units as i32])], 0);
                        g.reshape_to(y, shape)
                    }
                }
            }
        };
        if self.use_bias {
            let bias = g.get_variable_with("bias", &[self.units], self.bias_initializer, options);
            y = g.bias_add(y, &bias.value);
        }
        self.activation.apply(&g, &y)
    }
}
