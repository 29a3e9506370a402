//! `DecodeRaw`: bytes reinterpreted as numbers.

use super::mapped::words;
use crate::prelude::*;

pub static DECODE_RAW: Op = Op {
    name: "DecodeRaw",
    doc: "The bytes of each string read as elements of `out_type`, along a new last dimension.",
    inputs: &["bytes: string"],
    outputs: &["output: out_type"],
    attrs: &[
        "out_type: {half, float, double, int32, uint16, uint8, int16, int8, int64, complex64, complex128, bool, bfloat16}",
        "little_endian: bool = true",
    ],
    shape: |c| Ok(vec![c.input(0).concat(&PartialShape::vector(-1))]),
    grad: Stops,
    kernels: cpu!(run),
    cases: |_| {
        let text = words(&[2], &["abcd", "\u{1}\u{2}\u{3}\u{4}"]);
        vec![
            Case::new(vec![text.clone()]).attr("out_type", DataType::Int16),
            Case::new(vec![text]).attr("out_type", DataType::Int32).attr("little_endian", false),
        ]
    },
    ..Op::PURE
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let (dtype, little) = (c.output_type(0)?, c.attrs().bool("little_endian")?);
    let strings = c.input(0)?.strings()?;
    let len = strings.first().map_or(0, |s| s.len());
    if let Some((i, odd)) = strings.iter().enumerate().find(|(_, s)| s.len() != len) {
        return Err(invalid!(
            "DecodeRaw requires input strings to all be the same size, but element {i} has size {len} != {}",
            odd.len()
        ));
    }
    let size = dtype.size().max(1);
    if len % size != 0 {
        return Err(invalid!(
            "Input to DecodeRaw has length {len} that is not a multiple of {size}, the size of {dtype}"
        ));
    }
    let shape = Shape::new(&[c.shape(0)?.dims(), &[len / size]].concat())?;
    let mut bytes = reserve::join(strings.iter().map(|s| &s[..]), b"")?;
    if little != cfg!(target_endian = "little") {
        let part = if dtype.is_complex() { size / 2 } else { size };
        bytes.chunks_exact_mut(part).for_each(<[u8]>::reverse);
    }
    let out = Tensor::from_bytes(dtype, shape, &bytes)?;
    c.set(0, out);
    Ok(())
}
