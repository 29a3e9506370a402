//! What follows a product, where the product itself can do it.

use crate::prelude::*;

/// What a product of floats can do on its way to memory.
pub struct After {
    /// What is added may be a vector, for each row.
    pub broadcasts: bool,
    /// It may be as large as the product: a bias may not.
    pub whole: bool,
    pub relu: bool,
}

impl After {
    /// From the names of the ops, if they are such.
    pub fn read(node: &KernelNode) -> Result<Option<After>> {
        let names = node.attrs.list("fused_ops")?;
        let names: Vec<&[u8]> =
            names.iter().map(|n| if let Attr::Str(n) = n { &n[..] } else { b"" }).collect();
        let is_sum = |name: &[u8]| matches!(name, b"BiasAdd" | b"Add" | b"AddV2" | b"AddN");
        let after =
            |sum: &[u8], relu| Some(After { broadcasts: sum != b"AddN", whole: sum != b"BiasAdd", relu });
        Ok(match names[..] {
            _ if node.attrs.dtype("T")? != DataType::Float => None,
            [b"Relu"] => after(b"", true),
            [sum] if is_sum(sum) => after(sum, false),
            [sum, b"Relu"] if is_sum(sum) => after(sum, true),
            _ => None,
        })
    }
}
