//! `CompressElement`, `UncompressElement`: the components of an element as one compressed variant.
//!
//! The variant is TensorFlow's message `CompressedElement`: the bytes of all components one after another, compressed as one snappy
//! block, and of each component its type, its shape, and its lengths in bytes: of strings that of each, of others one.

use super::get_next::declared;
use crate::parsing::wire::{Field, Fields, Malformed, Wire, for_varints};
use crate::prelude::*;
use bytes::Bytes;
use thalweg_core::tensor::EncodedVariant;
use thalweg_io::message::decode;
use thalweg_io::wire::{shape_from_proto, shape_to_proto, tensor_from_proto, tensor_to_proto};
use thalweg_io::{snappy, varint};
use thalweg_proto::{TensorProto, TensorShapeProto, encode};

pub static COMPRESS_ELEMENT: Op = Op {
    name: "CompressElement",
    doc: "Tensors compressed to one variant.",
    inputs: &["components: input_types"],
    outputs: &["compressed: variant"],
    attrs: &["input_types: list(type) >= 1"],
    shape: shape_call::scalar,
    grad: Missing,
    kernels: cpu!(compress),
    cases: |r| {
        let inputs = vec![r.tensor(&[2, 3]), Tensor::string("text")];
        vec![Case::new(inputs).attr("input_types", Attr::types(&[DataType::Float, DataType::String]))]
    },
    ..Op::PURE
};

pub static UNCOMPRESS_ELEMENT: Op = Op {
    name: "UncompressElement",
    doc: "The tensors in a variant that CompressElement made.",
    inputs: &["compressed: variant"],
    outputs: &["components: output_types"],
    attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
    shape: |c| {
        c.scalar(0)?;
        declared(c)
    },
    grad: Missing,
    kernels: cpu!(uncompress),
    ..Op::PURE
};

const TYPE_NAME: &str = "tensorflow.data.CompressedElement";

/// Tags of fields of the message and of `CompressedComponentMetadata`: number and kind.
const DATA: u64 = 1 << 3 | 2;
const COMPONENT: u64 = 2 << 3 | 2;
const DTYPE: u64 = 1 << 3;
const SHAPE: u64 = 2 << 3 | 2;
const LENGTHS: u64 = 4 << 3 | 2;

fn compress(c: &mut OpCall<'_>) -> Result<()> {
    let (mut contents, mut components) = (Vec::new(), Vec::new());
    for i in 0..c.inputs.len() {
        let t = c.input(i)?;
        let lengths = append(&mut contents, t)?;
        let mut about = Vec::new();
        varint::put(&mut about, DTYPE);
        varint::put(&mut about, t.dtype().wire() as u64);
        put_bytes(&mut about, SHAPE, &encode(&shape_to_proto(t.shape())))?;
        put_bytes(&mut about, LENGTHS, &lengths)?;
        put_bytes(&mut components, COMPONENT, &about)?;
    }
    let mut message = Vec::new();
    put_bytes(&mut message, DATA, &snappy::compress(&contents)?)?;
    reserve::extend(&mut message, &components)?;
    let held =
        EncodedVariant { type_name: TYPE_NAME.into(), metadata: Bytes::from(message), tensors: vec![] };
    c.set(0, Tensor::from_object(Variant::new(held)));
    Ok(())
}

fn put_bytes(out: &mut Vec<u8>, tag: u64, bytes: &[u8]) -> Result<()> {
    reserve::room(out, bytes.len().saturating_add(2 * varint::MAX_LEN))?;
    varint::put(out, tag);
    varint::put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
    Ok(())
}

/// Appends the bytes of a tensor; their lengths as varints.
fn append(contents: &mut Vec<u8>, t: &Tensor) -> Result<Vec<u8>> {
    let mut lengths = Vec::new();
    let mut put = |bytes: &[u8]| {
        reserve::room(&mut lengths, varint::MAX_LEN)?;
        varint::put(&mut lengths, bytes.len() as u64);
        reserve::extend(contents, bytes)
    };
    match t.dtype() {
        DataType::String => t.strings()?.iter().try_for_each(|s| put(s))?,
        DataType::Variant | DataType::Resource => put(&encode(&tensor_to_proto(t)?))?,
        _ => put(t.bytes()?)?,
    }
    Ok(lengths)
}

fn uncompress(c: &mut OpCall<'_>) -> Result<()> {
    let input = c.input(0)?;
    let held = match input.variants()? {
        [v] if input.rank() == 0 => v.get::<EncodedVariant>().filter(|held| held.type_name == TYPE_NAME),
        _ => None,
    };
    let Some(held) = held else {
        return Err(invalid!(
            "Input does not contain a compressed element. Instead got {:?}",
            input.variants()?.first()
        ));
    };
    let (contents, components) = parts(&held.metadata)?;
    let types: Vec<DataType> = c.attrs().types("output_types")?;
    if types.len() != components.len() {
        return Err(failed_precondition(format_args!(
            "Expected {} outputs from uncompress, but got {}",
            types.len(),
            components.len()
        )));
    }
    let mut rest = contents;
    for (i, (component, dtype)) in components.iter().zip(types).enumerate() {
        if component.dtype != dtype {
            return Err(failed_precondition(format_args!(
                "Expected a tensor of type {dtype} but got a tensor of type {}",
                component.dtype
            )));
        }
        let t = component.take(&mut rest)?;
        c.set(i, t);
    }
    match rest.is_empty() {
        true => Ok(()),
        false => Err(damaged()),
    }
}

struct Component {
    dtype: DataType,
    shape: Shape,
    lengths: Vec<usize>,
}

fn damaged() -> Error {
    data_loss("a compressed element is damaged")
}

/// The uncompressed bytes, and what they are.
fn parts(message: &Bytes) -> Result<(Bytes, Vec<Component>)> {
    let (mut data, mut components) = (&[][..], Vec::new());
    let mut fields = Fields(message);
    while let Some((number, field)) = fields.next().map_err(|Malformed| damaged())? {
        match (number, field) {
            (1, Field::Bytes(bytes)) => data = bytes,
            (2, Field::Bytes(bytes)) => reserve::push(&mut components, component(bytes)?)?,
            _ => {}
        }
    }
    let contents = if data.is_empty() { Vec::new() } else { snappy::decompress(data)? };
    Ok((Bytes::from(contents), components))
}

fn component(bytes: &[u8]) -> Result<Component> {
    let (mut dtype, mut shape, mut lengths) = (None, None, Vec::new());
    let mut packed: Vec<&[u8]> = Vec::new();
    let mut read = || -> Wire<Result<()>> {
        let mut fields = Fields(bytes);
        while let Some((number, field)) = fields.next()? {
            let kept = match (number, field) {
                (1, Field::Varint(n)) => {
                    dtype = i32::try_from(n).ok().and_then(DataType::from_wire);
                    Ok(())
                }
                (2, Field::Bytes(bytes)) => {
                    shape = Some(bytes);
                    Ok(())
                }
                (4, Field::Bytes(bytes)) => reserve::push(&mut packed, bytes),
                _ => Ok(()),
            };
            if kept.is_err() {
                return Ok(kept);
            }
        }
        Ok(Ok(()))
    };
    read().map_err(|Malformed| damaged())??;
    for bytes in packed {
        // A varint has a byte at least.
        reserve::room(&mut lengths, bytes.len())?;
        for_varints(bytes, |n| lengths.push(usize::try_from(n).unwrap_or(usize::MAX)))
            .map_err(|Malformed| damaged())?;
    }
    let shape = decode::<TensorShapeProto>(Bytes::from(reserve::copied(shape.unwrap_or_default())?))?;
    let shape = shape_from_proto(Some(&shape.map_err(|_| damaged())?))?;
    Ok(Component { dtype: dtype.ok_or_else(damaged)?, shape, lengths })
}

impl Component {
    /// The tensor at the front of the bytes, which are shortened by it.
    fn take(&self, rest: &mut Bytes) -> Result<Tensor> {
        let mut next = |n: usize| if n <= rest.len() { Ok(rest.split_to(n)) } else { Err(damaged()) };
        if self.dtype == DataType::String {
            if self.lengths.len() != self.shape.elements() {
                return Err(damaged());
            }
            let all = reserve::try_collect(self.lengths.iter().map(|n| next(*n)))?;
            return Tensor::from_objects(self.shape.clone(), all);
        }
        let [length] = self.lengths[..] else { return Err(damaged()) };
        let bytes = next(length)?;
        match self.dtype {
            DataType::Variant | DataType::Resource => {
                let proto = decode::<TensorProto>(bytes)?.map_err(|_| damaged())?;
                let t = tensor_from_proto(&proto)?;
                if t.dtype() == self.dtype { Ok(t) } else { Err(damaged()) }
            }
            _ => Tensor::from_bytes(self.dtype, self.shape.clone(), &bytes),
        }
    }
}
