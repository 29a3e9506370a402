//! `Equal` and `NotEqual`.

use crate::elementwise::binary_strings;
use crate::prelude::*;
use thalweg_core::shape_call::broadcast_shapes;

pub static OPS: &[&Op] = &[&EQUAL, &NOT_EQUAL];

static EQUAL: Op = Op {
    name: "Equal",
    doc: "Whether x is equal to y, elementwise; shapes broadcast.",
    inputs: &["x: T", "y: T"],
    outputs: &["z: bool"],
    attrs: &["T: type", "incompatible_shape_error: bool = true"],
    shape,
    grad: Stops,
    kernels: KERNELS,
    cases: |r| {
        vec![
            Case::new(vec![r.ints(&[2, 3], 0, 3), r.ints(&[3], 0, 3)]),
            Case::new(vec![r.bools(&[4]), r.bools(&[])]),
            Case::new(vec![r.tensor(&[2]), r.tensor(&[3])]).attr("incompatible_shape_error", false),
        ]
    },
    commutative: true,
    ..Op::PURE
};

static NOT_EQUAL: Op =
    Op { name: "NotEqual", doc: "Whether x differs from y, elementwise; shapes broadcast.", ..EQUAL };

const KERNELS: &[KernelRow] = join_rows!(
    cpu!(make prepare: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, bool, Complex32, ComplexDouble),
    &[cpu_row!([("T", DataType::String)], Make::Prepared(prepare_strings))],
);

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    match broadcast_shapes(&c.input(0), &c.input(1)) {
        Err(_) if !c.attrs.bool("incompatible_shape_error")? => Ok(vec![PartialShape::scalar()]),
        // Compatibility of the shapes is unknown: the result may be a scalar.
        Ok(s) if !s.is_fully_known() && !c.attrs.bool("incompatible_shape_error")? => {
            Ok(vec![PartialShape::unknown()])
        }
        other => Ok(vec![other?]),
    }
}

fn prepare<T: Element>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    if node.op == "Equal" {
        comparison(node, |c| binary(c, |x: T, y: T| x == y))
    } else {
        comparison(node, |c| binary(c, |x: T, y: T| x != y))
    }
}

fn prepare_strings(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let wanted = node.op == "Equal";
    comparison(node, move |c| {
        let (shape, equal) = binary_strings(c, |x, y| Ok((x == y) == wanted))?;
        c.set(0, Tensor::from_slice(shape, &equal)?);
        Ok(())
    })
}

/// Incompatible shapes are an error or, by attr, compare as different.
fn comparison(
    node: &KernelNode,
    compare: impl Fn(&mut OpCall<'_>) -> Result<()> + Send + Sync + 'static,
) -> Result<Box<dyn Kernel>> {
    let strict = node.attrs.bool("incompatible_shape_error")?;
    let differ = node.op != "Equal";
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        if !strict && crate::broadcast::broadcast_shape(c.shape(0)?, c.shape(1)?).is_err() {
            c.set(0, Tensor::scalar(differ));
            return Ok(());
        }
        compare(c)
    }))
}

#[cfg(test)]
mod tests {
    use crate::testing::*;
    use thalweg_core::attr::Attr;
    use thalweg_core::error::Code;
    use thalweg_core::tensor::Tensor;

    #[test]
    fn strings_compare_by_their_bytes() {
        let s = call("Equal", &[Tensor::string("a"), Tensor::string("b")], &[]).unwrap();
        assert!(!s[0].to_scalar::<bool>().unwrap());
        let s = call("NotEqual", &[Tensor::string("a"), Tensor::string("b")], &[]).unwrap();
        assert!(s[0].to_scalar::<bool>().unwrap());
    }

    #[test]
    fn shapes_that_do_not_fit_are_an_error_or_a_difference() {
        let inputs = [ints(&[2], &[1, 1]), ints(&[3], &[1, 1, 1])];
        assert_eq!(code(call("Equal", &inputs, &[])), Code::InvalidArgument);
        let lenient = [("incompatible_shape_error", Attr::Bool(false))];
        assert!(!call("Equal", &inputs, &lenient).unwrap()[0].to_scalar::<bool>().unwrap());
        assert!(call("NotEqual", &inputs, &lenient).unwrap()[0].to_scalar::<bool>().unwrap());
    }
}
