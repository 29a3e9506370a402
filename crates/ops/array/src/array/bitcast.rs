//! `Bitcast`: the same bytes as another type.

use crate::prelude::*;

pub static BITCAST: Op = Op {
    name: "Bitcast",
    doc: "The bytes of the input as elements of another type; where sizes differ the innermost dimension is removed or added.",
    inputs: &["input: T"],
    outputs: &["output: type"],
    attrs: &[
        "T: {bfloat16, half, float, double, int64, int32, uint8, uint16, uint32, uint64, int8, int16, complex64, complex128, qint8, quint8, qint16, quint16, qint32}",
        "type: {bfloat16, half, float, double, int64, int32, uint8, uint16, uint32, uint64, int8, int16, complex64, complex128, qint8, quint8, qint16, quint16, qint32}",
    ],
    shape,
    grad: Missing,
    kernels: cpu!(run),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 3])]).attr("type", DataType::Int32),
            Case::new(vec![r.tensor(&[2])]).attr("type", DataType::Uint8),
            Case::new(vec![r.tensor(&[3, 2])]).attr("type", DataType::Complex64),
        ]
    },
    ..Op::PURE
};

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let x = c.input(0);
    let Some(dims) = x.dims() else { return Ok(vec![x]) };
    Ok(vec![cast_dims(dims, c.attrs.dtype("T")?, c.attrs.dtype("type")?)?.into_iter().collect()])
}

fn cast_dims(dims: &[i64], from: DataType, to: DataType) -> Result<Vec<i64>> {
    let mut dims = dims.to_vec();
    if from.size() > to.size() {
        dims.push((from.size() / to.size().max(1)) as i64);
    } else if from.size() < to.size() {
        let ratio = (to.size() / from.size().max(1)) as i64;
        if dims.last().is_none_or(|n| *n != ratio && *n != -1) {
            return Err(invalid!(
                "Cannot bitcast from {from} to {to}: the innermost dimension must be {ratio}, the shape is {dims:?}"
            ));
        }
        dims.pop();
    }
    Ok(dims)
}

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let (x, to) = (c.take(0)?, c.output_type(0)?);
    let dims = cast_dims(&x.shape().to_i64(), x.dtype(), to)?;
    let out = if x.dtype().size() == to.size() {
        x.bitcast_same_size(to)?
    } else {
        Tensor::from_bytes(to, Shape::from_i64(&dims)?, x.bytes()?)?
    };
    c.set(0, out);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, floats};

    #[test]
    fn bytes_that_make_no_whole_elements_are_refused() {
        for x in [floats(&[], &[1.0]), floats(&[3], &[1.0; 3])] {
            assert_eq!(
                code(call("Bitcast", &[x], &[("type", DataType::Double.into())])),
                Code::InvalidArgument
            );
        }
    }
}
