//! `DecodeProtoV2`: fields of serialized messages as tensors.

use super::descriptor::{Descriptors, Kind};
use super::proto_value::{Default, Raw, default_of, element, for_packed};
use super::samples::{message_list, string_list};
use super::wire::{Field, Fields, Malformed, Wire};
use crate::prelude::*;
use bytes::Bytes;
use std::sync::OnceLock;

pub static DECODE_PROTO_V2: Op = Op {
    name: "DecodeProtoV2",
    doc: "The fields `field_names` of serialized messages: how often each is there, and its values, padded to the longest.",
    inputs: &["bytes: string"],
    outputs: &["sizes: int32", "values: output_types"],
    attrs: &[
        "message_type: string",
        "field_names: list(string)",
        "output_types: list(type) >= 0",
        "descriptor_source: string = 'local://'",
        "message_format: string = 'binary'",
        "sanitize: bool = false",
    ],
    shape: |c| {
        let types = c.attrs.types("output_types")?.len();
        let with = |last| c.input(0).concat(&PartialShape::vector(last));
        let sizes = std::iter::once(with(c.attrs.list("field_names")?.len() as i64));
        Ok(sizes.chain((0..types).map(|_| with(-1))).collect())
    },
    grad: Stops,
    kernels: cpu!(make decoder),
    cases: |_| {
        let call = |messages: Tensor| {
            Case::new(vec![messages])
                .attr("message_type", "tensorflow.TensorProto")
                .attr("field_names", string_list(&["string_val", "dtype", "float_val", "tensor_shape"]))
                .attr(
                    "output_types",
                    Attr::types(&[DataType::String, DataType::Int32, DataType::Double, DataType::String]),
                )
        };
        vec![call(message_list()), call(Tensor::string(""))]
    },
    expensive: true,
    ..Op::PURE
};

fn decoder(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    if node.attrs.list("field_names")?.len() != node.attrs.types("output_types")?.len() {
        return Err(invalid!("field_names and output_types attributes must have the same length"));
    }
    match node.attrs.bytes("message_format")?.as_ref() {
        b"binary" => {}
        b"text" => return Err(unimplemented("DecodeProtoV2 of messages in text format; binary is there")),
        _ => return Err(invalid!("format must be one of binary or text")),
    }
    if node.attrs.bool("sanitize")? {
        return Err(unimplemented("DecodeProtoV2 with sanitize"));
    }
    // The descriptors may be in a file, which only a step may read.
    let plan: OnceLock<Vec<Wanted>> = OnceLock::new();
    Ok(Box::new(move |c: &mut OpCall<'_>| match plan.get() {
        Some(wanted) => run(c, wanted),
        None => {
            let wanted = wanted(c)?;
            run(c, plan.get_or_init(|| wanted))
        }
    }))
}

/// A field to decode.
struct Wanted {
    /// Which of the outputs it is.
    slot: usize,
    number: u32,
    kind: Kind,
    repeated: bool,
    dtype: DataType,
    default: Default,
}

/// The fields, by number.
fn wanted(c: &OpCall<'_>) -> Result<Vec<Wanted>> {
    let attrs = c.attrs();
    let name = attrs.bytes("message_type")?;
    let set = Descriptors::of(c, attrs.bytes("descriptor_source")?)?;
    let message = set
        .message(name)
        .ok_or_else(|| invalid!("No descriptor found for message type {}", name.escape_ascii()))?;
    let mut wanted = Vec::new();
    for (slot, (field, dtype)) in
        attrs.strs("field_names")?.into_iter().zip(attrs.types("output_types")?).enumerate()
    {
        let (shown, of) = (field.escape_ascii(), name.escape_ascii());
        let Some(field) = message.field(field) else {
            return Err(invalid!("Unknown field: {shown} in message type {of}"));
        };
        if !field.kind.fits(dtype) {
            return Err(invalid!(
                "Unexpected output type for {of}.{shown}: {} to {dtype}",
                field.kind.name()
            ));
        }
        let default = default_of(&set, &field, dtype)?;
        let (number, kind, repeated) = (field.number, field.kind, field.repeated);
        reserve::push(&mut wanted, Wanted { slot, number, kind, repeated, dtype, default })?;
    }
    wanted.sort_unstable_by_key(|w| (w.number, w.slot));
    Ok(wanted)
}

fn run(c: &mut OpCall<'_>, wanted: &[Wanted]) -> Result<()> {
    let (shape, messages) = (c.shape(0)?.clone(), c.input(0)?.strings()?);
    if messages.is_empty() {
        return Err(invalid!("Bufs argument must contain at least one value"));
    }
    let fields = wanted.len();
    let mut sizes = Tensor::zeros(DataType::Int32, Shape::new(&[shape.dims(), &[fields]].concat())?)?;
    let mut longest = reserve::filled(fields, 1usize)?;
    let counts = sizes.as_mut_slice::<i32>()?;
    if fields > 0 {
        let mut row = reserve::filled(fields, 0usize)?;
        for (message, counts) in messages.iter().zip(counts.chunks_exact_mut(fields)) {
            row.fill(0);
            count(message, wanted, &mut row).map_err(|_| malformed())?;
            for ((w, n), longest) in wanted.iter().zip(&row).zip(&mut longest) {
                let n = if w.repeated { *n } else { (*n).min(1) };
                *longest = (*longest).max(n);
                counts[w.slot] =
                    i32::try_from(n).map_err(|_| invalid!("a field has more than 2^31 values"))?;
            }
        }
    } else {
        messages.iter().try_for_each(|m| count(m, wanted, &mut [])).map_err(|_| malformed())?;
    }
    let mut columns = reserve::with_capacity(fields)?;
    for (w, longest) in wanted.iter().zip(longest) {
        columns.push(Column::new(w, longest, messages.len())?);
    }
    for (row, message) in messages.iter().enumerate() {
        columns.iter_mut().for_each(|column| column.begin(row));
        fill(message, wanted, &mut columns)?;
    }
    let mut outputs = reserve::with_capacity(fields)?;
    for (w, column) in wanted.iter().zip(columns) {
        outputs.push((w.slot, column.into_tensor(w.dtype, &shape)?));
    }
    c.set(0, sizes);
    outputs.into_iter().for_each(|(slot, t)| c.set(1 + slot, t));
    Ok(())
}

fn malformed() -> Error {
    data_loss("a message is malformed: failed to consume entire buffer")
}

/// Where a field is among those wanted. Of those with the same number the first has the values, as in TensorFlow.
fn position(wanted: &[Wanted], number: u32) -> Option<usize> {
    let at = wanted.partition_point(|w| w.number < number);
    wanted.get(at).filter(|w| w.number == number).map(|_| at)
}

/// What a field of the message holds for a wanted one.
enum Found<'a> {
    Number(Raw),
    Packed(&'a [u8]),
    Bytes(&'a [u8]),
}

/// Calls `each` with the values of the wanted fields. Those of another type on the wire are skipped.
fn walk<'a>(
    message: &'a [u8],
    wanted: &[Wanted],
    mut each: impl FnMut(usize, Found<'a>) -> Wire<()>,
) -> Wire<()> {
    let mut fields = Fields(message);
    loop {
        let before = fields.0;
        let Some((number, field)) = fields.next()? else { return Ok(()) };
        let Some(at) = position(wanted, number) else { continue };
        let found = match (field, wanted[at].kind.wire_type()) {
            (Field::Bytes(bytes), 2) => Found::Bytes(bytes),
            // With its tags.
            (Field::Group(_), 3) => Found::Bytes(&before[..before.len() - fields.0.len()]),
            (Field::Bytes(bytes), 0 | 1 | 5) => Found::Packed(bytes),
            (Field::Varint(_), 0) | (Field::Fixed64(_), 1) | (Field::Fixed32(_), 5) => match Raw::of(field) {
                Some(raw) => Found::Number(raw),
                None => continue,
            },
            _ => continue,
        };
        each(at, found)?;
    }
}

fn count(message: &[u8], wanted: &[Wanted], row: &mut [usize]) -> Wire<()> {
    walk(message, wanted, |at, found| {
        let count = row.get_mut(at).ok_or(Malformed)?;
        match found {
            Found::Packed(bytes) => for_packed(wanted[at].kind, bytes, |_| *count += 1),
            _ => {
                *count += 1;
                Ok(())
            }
        }
    })
}

fn fill(message: &Bytes, wanted: &[Wanted], columns: &mut [Column]) -> Result<()> {
    let mut failed = None;
    let walked = walk(message, wanted, |at, found| {
        let (w, column) = (&wanted[at], columns.get_mut(at).ok_or(Malformed)?);
        match found {
            Found::Number(raw) => column.number(w, w.kind, raw),
            // TensorFlow refuses packed numbers, even none, after the last that there is room for.
            Found::Packed(_) if column.next >= column.width => {
                failed = Some(data_loss("a packed field has more entries than allowed"));
                return Err(Malformed);
            }
            Found::Packed(bytes) if w.repeated => {
                // As in TensorFlow, packed int32 that are widened lose their sign.
                let kind = if w.kind == Kind::Int32 { Kind::Uint32 } else { w.kind };
                for_packed(w.kind, bytes, |raw| column.number(w, kind, raw))?;
            }
            // Where there should be one number, it counts packed ones, but does not read them.
            Found::Packed(_) => {}
            Found::Bytes(bytes) => {
                if let Err(e) = column.bytes(w, bytes) {
                    failed = Some(e);
                    return Err(Malformed);
                }
            }
        }
        Ok(())
    });
    match failed {
        Some(e) => Err(e),
        None => walked.map_err(|_| malformed()),
    }
}

/// The values of a field in all messages.
struct Column {
    values: Values,
    /// How many values there are in a row.
    width: usize,
    row: usize,
    /// Where the next value of the row goes.
    next: usize,
}

enum Values {
    /// Elements of a size.
    Numbers(Vec<u8>, usize),
    Strings(Vec<Bytes>),
}

impl Column {
    fn new(w: &Wanted, width: usize, rows: usize) -> Result<Column> {
        let too_many = || resource_exhausted("the values of a field are too many");
        let n = width.checked_mul(rows).ok_or_else(too_many)?;
        let values = match &w.default {
            Default::Number(bits) => {
                let size = w.dtype.size().clamp(1, 8);
                let mut bytes = reserve::filled(n.checked_mul(size).ok_or_else(too_many)?, 0u8)?;
                if *bits != 0 {
                    bytes.chunks_exact_mut(size).for_each(|slot| put(slot, *bits));
                }
                Values::Numbers(bytes, size)
            }
            Default::Bytes(bytes) => {
                Values::Strings(reserve::filled(n, Bytes::from(reserve::copied(bytes)?))?)
            }
        };
        Ok(Column { values, width, row: 0, next: 0 })
    }

    fn begin(&mut self, row: usize) {
        (self.row, self.next) = (row, 0);
    }

    /// The next place: the only one, if the field is not repeated.
    fn place(&mut self, w: &Wanted) -> usize {
        let at = if w.repeated { self.next } else { 0 };
        self.next = at + 1;
        self.row * self.width + at
    }

    fn number(&mut self, w: &Wanted, kind: Kind, raw: Raw) {
        let at = self.place(w);
        if let Values::Numbers(bytes, size) = &mut self.values
            && let Some(slot) = bytes.chunks_exact_mut(*size).nth(at)
        {
            put(slot, element(kind, w.dtype, raw));
        }
    }

    fn bytes(&mut self, w: &Wanted, contents: &[u8]) -> Result<()> {
        let at = self.place(w);
        if let Values::Strings(items) = &mut self.values
            && let Some(slot) = items.get_mut(at)
        {
            *slot = Bytes::from(reserve::copied(contents)?);
        }
        Ok(())
    }

    fn into_tensor(self, dtype: DataType, batch: &Shape) -> Result<Tensor> {
        let shape = Shape::new(&[batch.dims(), &[self.width]].concat())?;
        match self.values {
            Values::Numbers(bytes, _) => Tensor::from_bytes(dtype, shape, &bytes),
            Values::Strings(items) => Tensor::from_objects(shape, items),
        }
    }
}

/// The lowest bytes of a number, in the order of this machine.
fn put(slot: &mut [u8], bits: u64) {
    let bytes = bits.to_le_bytes();
    slot.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
    if cfg!(target_endian = "big") {
        slot.reverse();
    }
}
