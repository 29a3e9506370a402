//! The epilogues of `fused_ops` that gemm supports.

use crate::prelude::*;

/// An epilogue of a product of floats.
pub struct FusedEpilogue {
    /// The addend may be a vector, broadcast over rows.
    pub broadcasts: bool,
    /// The addend may have the product's shape: a bias not.
    pub whole: bool,
    pub relu: bool,
}

impl FusedEpilogue {
    /// From `fused_ops`, if gemm supports them.
    pub fn read(node: &KernelNode) -> Result<Option<FusedEpilogue>> {
        let names = node.attrs.list("fused_ops")?;
        let names: Vec<&[u8]> =
            names.iter().map(|n| if let Attr::Str(n) = n { &n[..] } else { b"" }).collect();
        let is_sum = |name: &[u8]| matches!(name, b"BiasAdd" | b"Add" | b"AddV2" | b"AddN");
        let after = |sum: &[u8], relu| {
            Some(FusedEpilogue { broadcasts: sum != b"AddN", whole: sum != b"BiasAdd", relu })
        };
        Ok(match names[..] {
            _ if node.attrs.dtype("T")? != DataType::Float => None,
            [b"Relu"] => after(b"", true),
            [sum] if is_sum(sum) => after(sum, false),
            [sum, b"Relu"] if is_sum(sum) => after(sum, true),
            _ => None,
        })
    }
}
