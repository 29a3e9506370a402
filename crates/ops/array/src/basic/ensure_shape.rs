//! `EnsureShape`: checks the shape of its input.

use super::identity::IDENTITY;
use crate::prelude::*;

pub static ENSURE_SHAPE: Op = Op {
    name: "EnsureShape",
    doc: "The input; an error if its shape is incompatible with attr `shape`.",
    attrs: &["shape: shape", "T: type"],
    shape: |c| Ok(vec![c.input(0).merge(c.attrs.shape("shape")?)?]),
    kernels: cpu!(make prepare),
    cases: |r| {
        let partly = [-1, 3].into_iter().collect::<PartialShape>();
        vec![Case::new(vec![r.tensor(&[2, 3])]).attr("shape", partly)]
    },
    identity: false,
    partial_value: None,
    ..IDENTITY
};

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let wanted = node.attrs.shape("shape")?.clone();
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let x = c.take(0)?;
        if !wanted.allows(x.shape()) {
            return Err(invalid!(
                "Shape of tensor {} is not compatible with expected shape {wanted}",
                x.shape()
            ));
        }
        c.set(0, x);
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, floats};

    #[test]
    fn another_shape_is_refused() {
        let x = floats(&[2], &[1.0, 2.0]);
        let wanted = [("shape", Attr::Shape(PartialShape::vector(3)))];
        assert_eq!(code(call("EnsureShape", &[x], &wanted)), Code::InvalidArgument);
    }
}
