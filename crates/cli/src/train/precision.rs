//! `--precision`: the type of products and convolutions.

use thalweg::prelude::*;

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Precision {
    Float,
    /// Half the memory traffic; results of 8 bits, sums in float
    Bfloat16,
}

impl Precision {
    pub fn name(self) -> &'static str {
        match self {
            Precision::Float => "float",
            Precision::Bfloat16 => "bfloat16",
        }
    }

    /// The end of a line of settings.
    pub fn remark(self) -> &'static str {
        match self {
            Precision::Float => "",
            Precision::Bfloat16 => ", products in bfloat16",
        }
    }

    /// The scope on which a program builds its model.
    pub fn scope(self, g: &Scope) -> Scope {
        match self {
            Precision::Float => g.clone(),
            Precision::Bfloat16 => g.with_product_precision(DataType::Bfloat16),
        }
    }
}
