//! `Cast`: values in another type.

use crate::convert::{loop_for, truncate};
use crate::elementwise::{GRAIN, for_chunks_of};
use crate::prelude::*;

pub static OPS: &[&Op] = &[&CAST];

static CAST: Op = Op {
    name: "Cast",
    doc: "x in another type: floats to integers round towards zero, anything but 0 becomes true, complex numbers drop the imaginary part.",
    inputs: &["x: SrcT"],
    outputs: &["y: DstT"],
    attrs: &["SrcT: type", "DstT: type", "Truncate: bool = false"],
    shape: same_as_input,
    grad: Rule(grad),
    kernels: cpu!(make prepare),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 3])]).attr("DstT", DataType::Int32),
            Case::new(vec![r.tensor(&[4])]).attr("DstT", DataType::Double),
            Case::new(vec![r.tensor(&[4])]).attr("DstT", DataType::Bfloat16).attr("Truncate", true),
            Case::new(vec![r.ints(&[2], -3, 3)]).attr("DstT", DataType::Bool),
            Case::new(vec![r.bools(&[3])]).attr("DstT", DataType::Complex64),
        ]
    },
    partial_value: Some(partial_value::same_as_input),
    ..Op::PURE
};

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (x, dy) = (g.x[0], g.dy()?);
    let has_gradient = |t: DataType| t.is_float() || t.is_complex();
    let (from, to) = (g.graph.dtype(x), g.graph.dtype(g.y[0]));
    if !has_gradient(from) || !has_gradient(to) {
        return Ok(vec![Grad::None]);
    }
    Ok(vec![crate::gradients::cast(g, dy, x)?.into()])
}

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let (from, to) = (node.attrs.dtype("SrcT")?, node.attrs.dtype("DstT")?);
    if from == to {
        return Ok(Box::new(|c: &mut OpCall<'_>| {
            let x = c.take(0)?;
            c.set(0, x);
            Ok(())
        }));
    }
    let convert = loop_for(from, to)
        .ok_or_else(|| unimplemented(format_args!("Cast {from} to {to} is not supported")))?;
    let truncation = if node.attrs.bool("Truncate")? { truncate(from, to) } else { None };
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let mut x = c.take(0)?;
        if let Some(truncate) = truncation {
            truncate(&mut x)?;
        }
        let mut y = Tensor::uninit(to, x.shape().clone())?;
        let bytes = x.bytes()?;
        for_chunks_of(c.par(), y.bytes_mut()?, to.size(), GRAIN, &|r, out| {
            convert(&bytes[r.start * from.size()..r.end * from.size()], out)
        });
        c.set(0, y);
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::*;

    fn cast(x: &[f32], to: DataType) -> Tensor {
        call("Cast", &[floats(&[x.len()], x)], &[("DstT", Attr::Type(to))]).unwrap().remove(0)
    }

    #[test]
    fn floats_past_an_integer_type_have_defined_values() {
        let x = [f32::NAN, 1e30, -1e30, 300.7, -1.5, 3e9];
        let min = i32::MIN;
        assert_eq!(cast(&x, DataType::Int32).as_slice::<i32>().unwrap(), &[min, min, min, 300, -1, min]);
        let min = i64::MIN;
        assert_eq!(
            cast(&x, DataType::Int64).as_slice::<i64>().unwrap(),
            &[min, min, min, 300, -1, 3_000_000_000]
        );
        assert_eq!(cast(&x, DataType::Uint8).as_slice::<u8>().unwrap(), &[0, 0, 0, 44, 255, 0]);
        assert_eq!(
            cast(&x, DataType::Uint32).as_slice::<u32>().unwrap(),
            &[0, 0, 0, 300, u32::MAX, 3_000_000_000]
        );
        let top = 1u64 << 63;
        assert_eq!(
            cast(&x, DataType::Uint64).as_slice::<u64>().unwrap(),
            &[top, top, top, 300, u64::MAX, 3_000_000_000]
        );
        assert_eq!(cast(&x[..2], DataType::Bool).as_slice::<bool>().unwrap(), &[true, true]);
    }

    #[test]
    fn truncation_drops_bits_instead_of_rounding() {
        let x = [floats(&[1], &[1.999_999_9])];
        let to = ("DstT", Attr::Type(DataType::Bfloat16));
        let y = call("Cast", &x, &[to.clone(), ("Truncate", Attr::Bool(true))]).unwrap();
        assert_eq!(y[0].as_slice::<bf16>().unwrap()[0].to_f32(), 1.9921875);
        let y = call("Cast", &x, &[to]).unwrap();
        assert_eq!(y[0].as_slice::<bf16>().unwrap()[0].to_f32(), 2.0);
    }

    #[test]
    fn complex_numbers_are_truncated_too() {
        let x = [Tensor::scalar(ComplexDouble::new(160.463935, 1.0))];
        let to = ("DstT", Attr::Type(DataType::Half));
        let y = call("Cast", &x, &[to, ("Truncate", Attr::Bool(true))]).unwrap();
        assert_eq!(y[0].to_scalar::<f16>().unwrap().to_f32(), 160.375);
    }

    /// Values of TensorFlow 2.21.
    #[test]
    fn quantised_and_narrow_types_wrap_and_floats_of_eight_bits_round() {
        let round_trip = |x: &[f32], through: DataType| {
            let there = cast(x, through);
            let back = call("Cast", &[there], &[("DstT", Attr::Type(DataType::Float))]).unwrap();
            back[0].as_slice::<f32>().unwrap().to_vec()
        };
        assert_eq!(round_trip(&[1.0, -2.0, 300.0], DataType::Qint8), [1.0, -2.0, 44.0]);
        assert_eq!(round_trip(&[1.0, -2.0, 300.0], DataType::Quint8), [1.0, 254.0, 44.0]);
        assert_eq!(round_trip(&[9.0, -1.0, 7.0, -8.0], DataType::Int4), [-7.0, -1.0, 7.0, -8.0]);
        assert_eq!(cast(&[9.0, -1.0, 20.0], DataType::Int4).bytes().unwrap(), [9, 15, 4]);
        assert_eq!(round_trip(&[9.0, -1.0, 20.0], DataType::Uint4), [9.0, 15.0, 4.0]);
        let x = [1.6, -3.2, 100.7, 5.0];
        assert_eq!(round_trip(&x, DataType::Float8E5m2), [1.5, -3.0, 96.0, 5.0]);
        assert_eq!(round_trip(&x, DataType::Float8E4m3fn), [1.625, -3.25, 104.0, 5.0]);
    }

    #[test]
    fn every_pair_of_number_types_converts() {
        use DataType::*;
        let without = [
            String,
            Resource,
            Variant,
            Float8E4m3fnuz,
            Float8E4m3b11fnuz,
            Float8E5m2fnuz,
            Int2,
            Uint2,
            Float4E2m1fn,
        ];
        let types: Vec<DataType> = DataType::all().filter(|t| !without.contains(t)).collect();
        assert_eq!(types.len(), 24);
        for from in &types {
            let x = cast(&[0.0, 1.0, 3.0], *from);
            for to in &types {
                let y = call("Cast", std::slice::from_ref(&x), &[("DstT", Attr::Type(*to))]).unwrap();
                let back = call("Cast", &y, &[("DstT", Attr::Type(DataType::Float))]).unwrap();
                let three = if *from == DataType::Bool || *to == DataType::Bool { 1.0 } else { 3.0 };
                assert_eq!(back[0].as_slice::<f32>().unwrap(), &[0.0, 1.0, three], "{from} to {to}");
            }
        }
    }
}
