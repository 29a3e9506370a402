//! Functions applied to each unit of a layer.

use thalweg_client::{Output, Scope};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Activation {
    #[default]
    Linear,
    Relu,
    Relu6,
    LeakyRelu,
    Elu,
    Selu,
    Softplus,
    Softsign,
    Sigmoid,
    Tanh,
    Softmax,
}

impl Activation {
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
