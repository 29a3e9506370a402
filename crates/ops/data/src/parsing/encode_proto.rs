//! `EncodeProto`: serialized messages of tensors.

use super::descriptor::{Descriptors, Kind};
use super::proto_value::raw;
use super::samples::{string_list, strings};
use crate::prelude::*;
use bytes::Bytes;
use std::sync::OnceLock;
use thalweg_io::varint;

pub static ENCODE_PROTO: Op = Op {
    name: "EncodeProto",
    doc: "Serialized messages whose fields `field_names` have the first `sizes` of `values`.",
    inputs: &["sizes: int32", "values: Tinput_types"],
    outputs: &["bytes: string"],
    attrs: &[
        "field_names: list(string)",
        "message_type: string",
        "descriptor_source: string = 'local://'",
        "Tinput_types: list(type) >= 1",
    ],
    shape: |c| {
        let sizes = c.rank_at_least(0, 1)?;
        Ok(vec![match sizes.dims() {
            Some([batch @ .., _]) => PartialShape::new(batch)?,
            _ => PartialShape::unknown(),
        }])
    },
    grad: Stops,
    kernels: cpu!(make encoder),
    cases: |_| {
        let ints = |shape: &[usize], values: &[i32]| {
            let shape = Shape::new(shape).unwrap_or_else(|_| Shape::scalar());
            Tensor::from_slice(shape, values).unwrap_or_else(|_| Tensor::scalar(0i32))
        };
        let texts = Shape::new(&[2, 1]).and_then(|shape| strings(&["a", "b"]).reshape(shape));
        let texts = texts.unwrap_or_else(|_| strings(&[]));
        vec![
            Case::new(vec![ints(&[2, 2], &[2, 1, 0, 1]), ints(&[2, 2], &[-1, 300, 0, 0]), texts])
                .attr("field_names", string_list(&["int_val", "tensor_content"]))
                .attr("message_type", "tensorflow.TensorProto"),
        ]
    },
    expensive: true,
    ..Op::PURE
};

/// A field to encode.
struct Given {
    /// Which of the values it is.
    slot: usize,
    number: u32,
    kind: Kind,
    packed: bool,
}

fn encoder(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    if node.attrs.list("field_names")?.len() != node.attrs.types("Tinput_types")?.len() {
        return Err(invalid!("Length of inputs list must match field_names"));
    }
    // The descriptors may be in a file, which only a step may read.
    let plan: OnceLock<Vec<Given>> = OnceLock::new();
    Ok(Box::new(move |c: &mut OpCall<'_>| match plan.get() {
        Some(given) => run(c, given),
        None => {
            let given = given(c)?;
            run(c, plan.get_or_init(|| given))
        }
    }))
}

/// The fields, by number.
fn given(c: &OpCall<'_>) -> Result<Vec<Given>> {
    let attrs = c.attrs();
    let name = attrs.bytes("message_type")?;
    let set = Descriptors::of(c, attrs.bytes("descriptor_source")?)?;
    let message = set
        .message(name)
        .ok_or_else(|| invalid!("No descriptor found for message type {}", name.escape_ascii()))?;
    let mut given = Vec::new();
    for (slot, (field, dtype)) in
        attrs.strs("field_names")?.into_iter().zip(attrs.types("Tinput_types")?).enumerate()
    {
        let shown = field.escape_ascii();
        let Some(field) = message.field(field) else {
            return Err(invalid!("Unknown field: {shown} in message type {}", name.escape_ascii()));
        };
        if !field.kind.fits(dtype) {
            return Err(invalid!(
                "Incompatible type for field {shown}. Saw dtype: {dtype} but field type is: {}",
                field.kind.name()
            ));
        }
        let (number, kind, packed) = (field.number, field.kind, field.packed);
        reserve::push(&mut given, Given { slot, number, kind, packed })?;
    }
    given.sort_unstable_by_key(|g| (g.number, g.slot));
    Ok(given)
}

fn run(c: &mut OpCall<'_>, given: &[Given]) -> Result<()> {
    let fields = given.len();
    let batch = checked_batch(c, fields)?;
    let sizes = c.slice::<i32>(0)?;
    let mut out = reserve::with_capacity(batch.elements())?;
    for row in 0..batch.elements() {
        let mut message = Vec::new();
        for g in given {
            let n = sizes.get(row * fields + g.slot).map_or(0, |n| usize::try_from(*n).unwrap_or(0));
            let values = c.input(1 + g.slot)?;
            let width = values.shape().dims().last().copied().unwrap_or(0);
            put_field(&mut message, g, values, row * width..row * width + n)?;
        }
        out.push(Bytes::from(message));
    }
    let out = Tensor::from_objects(batch, out)?;
    c.set(0, out);
    Ok(())
}

/// The shape of the batch, which all inputs have before their last dimension.
fn checked_batch(c: &OpCall<'_>, fields: usize) -> Result<Shape> {
    let names = c.attrs().strs("field_names")?;
    let mut batch: Option<&[usize]> = None;
    for i in 0..fields {
        let dims = c.shape(1 + i)?.dims();
        let [before @ .., _] = dims else { return Err(no_matrix(names.get(i), c.shape(1 + i)?)) };
        if before.is_empty() {
            return Err(no_matrix(names.get(i), c.shape(1 + i)?));
        }
        if *batch.get_or_insert(before) != before {
            return Err(invalid!("Values must match up to the last dimension"));
        }
    }
    let batch = batch.unwrap_or_default();
    let expected = Shape::new(&[batch, &[fields]].concat())?;
    if *c.shape(0)? != expected {
        return Err(invalid!(
            "sizes should be batch_size + [len(field_names)]. Saw: {} but expected: {expected}",
            c.shape(0)?
        ));
    }
    for (at, n) in c.slice::<i32>(0)?.iter().enumerate() {
        let (row, field) = (at / fields, at % fields);
        let width = c.shape(1 + field)?.dims().last().copied().unwrap_or(0);
        if i64::from(*n) > width as i64 {
            return Err(invalid!(
                "Size to write must not be larger than value tensor; but saw: {n} > {width} at message {row} field {field}"
            ));
        }
    }
    Shape::new(batch)
}

fn no_matrix(name: Option<&&Bytes>, shape: &Shape) -> Error {
    let name = name.map(|n| n.escape_ascii().to_string()).unwrap_or_default();
    invalid!("Invalid shape for field {name}. Saw shape {shape} but it should be at least a matrix.")
}

fn put_field(out: &mut Vec<u8>, g: &Given, values: &Tensor, range: std::ops::Range<usize>) -> Result<()> {
    let tag = |wire: u32| u64::from(g.number) << 3 | u64::from(wire);
    if let Ok(items) = values.strings() {
        for item in items.get(range).unwrap_or_default() {
            reserve::room(out, item.len().saturating_add(2 * varint::MAX_LEN))?;
            varint::put(out, tag(g.kind.wire_type()));
            if g.kind != Kind::Group {
                varint::put(out, item.len() as u64);
            }
            out.extend_from_slice(item);
            if g.kind == Kind::Group {
                varint::put(out, tag(4));
            }
        }
        return Ok(());
    }
    let (dtype, size) = (values.dtype(), values.dtype().size().clamp(1, 8));
    let bytes = values.bytes()?.get(range.start * size..range.end * size).unwrap_or_default();
    let numbers = bytes.chunks_exact(size).map(|b| raw(g.kind, dtype, bits(b, dtype)));
    if !g.packed {
        reserve::room(out, numbers.len().saturating_mul(2 * varint::MAX_LEN))?;
        for number in numbers {
            varint::put(out, tag(g.kind.wire_type()));
            number.put(g.kind, out);
        }
    } else if numbers.len() > 0 {
        let mut packed = reserve::with_capacity(numbers.len().saturating_mul(varint::MAX_LEN))?;
        numbers.for_each(|number| number.put(g.kind, &mut packed));
        reserve::room(out, packed.len().saturating_add(2 * varint::MAX_LEN))?;
        varint::put(out, tag(2));
        varint::put(out, packed.len() as u64);
        out.extend_from_slice(&packed);
    }
    Ok(())
}

/// The bits of an element; integers have their sign.
fn bits(element: &[u8], dtype: DataType) -> u64 {
    let mut whole = [0; 8];
    whole.iter_mut().zip(element).for_each(|(to, from)| *to = *from);
    if cfg!(target_endian = "big")
        && let Some(part) = whole.get_mut(..element.len())
    {
        part.reverse();
    }
    let bits = u64::from_le_bytes(whole);
    if dtype == DataType::Int32 { i64::from(bits as i32) as u64 } else { bits }
}
