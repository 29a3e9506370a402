//! The precision of matrix products and convolutions.

use crate::build::OpBuilder;
use crate::output::Output;
use crate::scope::Scope;
use std::borrow::Borrow;
use thalweg_core::dtype::DataType;

impl Scope {
    /// Products and convolutions of `float` tensors that are made on the scope returned, and their gradients, are computed in this type:
    /// `bfloat16` halves the memory they read, and rounds their operands and results to 8 bits. Sums within a product are `float`. Variables,
    /// all other ops and the types that callers see stay `float`.
    ///
    /// ```
    /// use thalweg_client::{DataType, Scope, Session};
    ///
    /// let g = Scope::new().with_product_precision(DataType::Bfloat16);
    /// let x = g.constant([[1f32, 2.0]]);
    /// let y = g.matmul(&x, g.constant([[1f32], [0.001]]));
    /// assert_eq!(y.dtype(), DataType::Float);
    /// // 1.002 has no bfloat16: the next one is 1.
    /// assert_eq!(Session::new(&g)?.run(&[y], &[])?[0].as_slice::<f32>()?, [1.0]);
    /// # Ok::<(), thalweg_client::Error>(())
    /// ```
    pub fn with_product_precision(&self, dtype: DataType) -> Scope {
        self.with(|defaults| defaults.product_precision = Some(dtype))
    }

    /// Op `MatMul`.
    #[track_caller]
    pub fn matmul(&self, x: impl Borrow<Output>, y: impl Borrow<Output>) -> Output {
        self.product(self.op("MatMul"), x.borrow(), y.borrow())
    }

    /// Op `BatchMatMulV2`.
    #[track_caller]
    pub fn batch_matmul(&self, x: impl Borrow<Output>, y: impl Borrow<Output>) -> Output {
        self.product(self.op("BatchMatMulV2"), x.borrow(), y.borrow())
    }

    /// A product of two tensors by this op, which has its attrs but no inputs yet, in the precision of products.
    #[track_caller]
    pub fn product(&self, op: OpBuilder<'_>, x: &Output, y: &Output) -> Output {
        match self.defaults.product_precision {
            Some(dtype) if x.dtype() == DataType::Float && y.dtype() == DataType::Float => {
                let (x, y) = (self.cast(x, dtype), self.cast(y, dtype));
                self.cast(op.input(&x).input(&y).output(), DataType::Float)
            }
            _ => op.input(x).input(y).output(),
        }
    }
}
