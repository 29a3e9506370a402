//! Functions applied to each unit of a layer.

use thalweg_client::{Output, Scope};

/// The activation function of a layer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Activation {
    /// x
    #[default]
    Linear,
    /// max(x, 0)
    Relu,
    /// min(max(x, 0), 6)
    Relu6,
    /// max(x, 0.2 x)
    LeakyRelu,
    /// x if x > 0, else exp(x) - 1
    Elu,
    /// Elu, scaled so that activations keep mean 0 and variance 1.
    Selu,
    /// log(1 + exp(x))
    Softplus,
    /// x / (1 + |x|)
    Softsign,
    /// 1 / (1 + exp(-x))
    Sigmoid,
    /// The hyperbolic tangent.
    Tanh,
    /// exp(x) divided by its sum over the last dimension.
    Softmax,
}

impl Activation {
    /// The node that applies it to `x`; `x` itself for `Linear`.
    #[track_caller]
    pub fn apply(self, g: &Scope, x: &Output) -> Output {
        let op = match self {
            Activation::Linear => return x.clone(),
            Activation::Relu => "Relu",
            Activation::Relu6 => "Relu6",
            Activation::LeakyRelu => "LeakyRelu",
            Activation::Elu => "Elu",
            Activation::Selu => "Selu",
            Activation::Softplus => "Softplus",
            Activation::Softsign => "Softsign",
            Activation::Sigmoid => "Sigmoid",
            Activation::Tanh => "Tanh",
            Activation::Softmax => "Softmax",
        };
        g.op(op).input(x).output()
    }
}
