//! TensorProto, in all its encodings: raw content, typed fields, and typed fields truncated where the last value repeats.

use super::shape::{partial_shape_from_proto, partial_shape_to_proto, shape_from_proto, shape_to_proto};
use crate::message::decode;
use crate::varint;
use bytes::Bytes;
use thalweg_core::dtype::{Complex32, ComplexDouble, DataType, Element, bf16, f16};
use thalweg_core::error::Result;
use thalweg_core::invalid;
use thalweg_core::memory;
use thalweg_core::reserve;
use thalweg_core::resource::ResourceHandle;
use thalweg_core::shape::Shape;
use thalweg_core::tensor::{EncodedVariant, Tensor, Variant};
use thalweg_proto::resource_handle_proto::DtypeAndShape;
use thalweg_proto::{Message, ResourceHandleProto, TensorProto, VariantTensorDataProto, encode};

pub fn tensor_from_proto(p: &TensorProto) -> Result<Tensor> {
    let dtype = DataType::from_wire(p.dtype).ok_or_else(|| {
        invalid!("a tensor cannot have the data type number {} (unknown, or a reference)", p.dtype)
    })?;
    let shape = shape_from_proto(p.tensor_shape.as_ref())?;
    if !p.tensor_content.is_empty() {
        return from_content(dtype, shape, &p.tensor_content);
    }
    match dtype {
        DataType::Float => fill(shape, &p.float_val, |v| *v),
        DataType::Double => fill(shape, &p.double_val, |v| *v),
        DataType::Int32 => fill(shape, &p.int_val, |v| *v),
        DataType::Int16 => fill(shape, &p.int_val, |v| *v as i16),
        DataType::Int8 => fill(shape, &p.int_val, |v| *v as i8),
        DataType::Uint8 => fill(shape, &p.int_val, |v| *v as u8),
        DataType::Uint16 => fill(shape, &p.int_val, |v| *v as u16),
        DataType::Int64 => fill(shape, &p.int64_val, |v| *v),
        DataType::Uint32 => fill(shape, &p.uint32_val, |v| *v),
        DataType::Uint64 => fill(shape, &p.uint64_val, |v| *v),
        DataType::Bool => fill(shape, &p.bool_val, |v| *v),
        DataType::Half => fill(shape, &p.half_val, |v| f16::from_bits(*v as u16)),
        DataType::Bfloat16 => fill(shape, &p.half_val, |v| bf16::from_bits(*v as u16)),
        DataType::Complex64 => fill(shape, &pairs(&p.scomplex_val)?, |v| Complex32::new(v.0, v.1)),
        DataType::Complex128 => fill(shape, &pairs(&p.dcomplex_val)?, |v| ComplexDouble::new(v.0, v.1)),
        DataType::Qint8 => fill(shape, &p.int_val, |v| *v as i8)?.bitcast_same_size(dtype),
        DataType::Quint8 => fill(shape, &p.int_val, |v| *v as u8)?.bitcast_same_size(dtype),
        DataType::Qint16 => fill(shape, &p.int_val, |v| *v as i16)?.bitcast_same_size(dtype),
        DataType::Quint16 => fill(shape, &p.int_val, |v| *v as u16)?.bitcast_same_size(dtype),
        DataType::Qint32 => fill(shape, &p.int_val, |v| *v)?.bitcast_same_size(dtype),
        DataType::Int4 | DataType::Uint4 | DataType::Int2 | DataType::Uint2 => {
            let mask = !(u8::MAX << dtype.narrow_bits().unwrap_or(8));
            fill(shape, &p.int_val, |v| *v as u8 & mask)?.bitcast_same_size(dtype)
        }
        DataType::Float8E5m2
        | DataType::Float8E4m3fn
        | DataType::Float8E4m3fnuz
        | DataType::Float8E4m3b11fnuz
        | DataType::Float8E5m2fnuz
        | DataType::Float4E2m1fn => fill(shape, &p.float8_val, |v| *v)?.bitcast_same_size(dtype),
        DataType::String => fill_strings(shape, &p.string_val),
        DataType::Resource => {
            let handles = reserve::try_collect(p.resource_handle_val.iter().map(handle_from_proto))?;
            Tensor::from_objects(shape, handles)
        }
        DataType::Variant => {
            let given = fitting(&p.variant_val, &shape)?;
            let mut values = reserve::try_collect(given.iter().map(variant_from_proto))?;
            reserve::room(&mut values, shape.elements() - given.len())?;
            values.resize_with(shape.elements(), Variant::default);
            Tensor::from_objects(shape, values)
        }
    }
}

/// Rejects too many values. TensorFlow's own client sends one for tensors without elements.
fn fitting<'a, V>(values: &'a [V], shape: &Shape) -> Result<&'a [V]> {
    match shape.elements() {
        0 => Ok(&[]),
        n if values.len() > n => {
            Err(invalid!("{} values for a tensor of shape {shape}, which has {n} elements", values.len()))
        }
        _ => Ok(values),
    }
}

/// The values, the last one repeated to the end; zeros if there are none.
fn fill<V, T: Element>(shape: Shape, values: &[V], convert: impl Fn(&V) -> T) -> Result<Tensor> {
    let values = fitting(values, &shape)?;
    let last = values.last().map(&convert).unwrap_or_default();
    Tensor::build(shape, |out: &mut [T]| {
        let (given, rest) = out.split_at_mut(values.len());
        for (o, v) in given.iter_mut().zip(values) {
            *o = convert(v);
        }
        rest.fill(last);
    })
}

fn pairs<T: Copy>(flat: &[T]) -> Result<Vec<(T, T)>> {
    if !flat.len().is_multiple_of(2) {
        return Err(invalid!("complex values come in pairs, got {} numbers", flat.len()));
    }
    reserve::collect(flat.chunks_exact(2).map(|c| (c[0], c[1])))
}

fn fill_strings(shape: Shape, values: &[Bytes]) -> Result<Tensor> {
    let values = fitting(values, &shape)?;
    let last = values.last().cloned().unwrap_or_default();
    let mut all = reserve::with_capacity(shape.elements())?;
    all.extend_from_slice(values);
    all.resize(shape.elements(), last);
    Tensor::from_objects(shape, all)
}

fn from_content(dtype: DataType, shape: Shape, content: &Bytes) -> Result<Tensor> {
    match dtype {
        DataType::String => Tensor::from_objects(shape.clone(), split_content(&shape, content)?),
        DataType::Resource => {
            let parts = split_content(&shape, content)?;
            let handle = |b: Bytes| {
                let p = decode::<ResourceHandleProto>(b)?;
                handle_from_proto(&p.map_err(|e| invalid!("not a resource handle: {e}"))?)
            };
            Tensor::from_objects(shape, reserve::try_collect(parts.into_iter().map(handle))?)
        }
        DataType::Variant => {
            let parts = split_content(&shape, content)?;
            Tensor::from_objects(shape, reserve::try_collect(parts.into_iter().map(variant_from_bytes))?)
        }
        _ => Tensor::from_bytes(dtype, shape, content).map_err(|e| e.context("tensor_content")),
    }
}

/// Strings in `tensor_content`: all lengths as varints, then all bytes.
fn split_content(shape: &Shape, content: &Bytes) -> Result<Vec<Bytes>> {
    let short = || {
        invalid!("tensor_content of {} bytes is too short for {} strings", content.len(), shape.elements())
    };
    let mut rest = &content[..];
    let mut lengths = reserve::with_capacity(shape.elements().min(content.len()))?;
    for _ in 0..shape.elements() {
        lengths.push(varint::take_size(&mut rest).ok_or_else(short)?);
    }
    let mut at = content.len() - rest.len();
    let mut items = reserve::with_capacity(lengths.len())?;
    for length in lengths {
        let end = at.checked_add(length).filter(|e| *e <= content.len()).ok_or_else(short)?;
        items.push(content.slice(at..end));
        at = end;
    }
    if at != content.len() {
        return Err(invalid!(
            "tensor_content has {} bytes more than its {} strings",
            content.len() - at,
            items.len()
        ));
    }
    Ok(items)
}

fn handle_from_proto(p: &ResourceHandleProto) -> Result<ResourceHandle> {
    let mut values = Vec::new();
    for v in &p.dtypes_and_shapes {
        let dtype = DataType::from_wire(v.dtype).ok_or_else(|| invalid!("unknown data type {}", v.dtype))?;
        let shape = v.shape.as_ref().map(partial_shape_from_proto).transpose()?.unwrap_or_default();
        values.push((dtype, shape));
    }
    Ok(ResourceHandle {
        device: p.device.as_str().into(),
        container: p.container.as_str().into(),
        name: p.name.as_str().into(),
        hash_code: p.hash_code,
        type_name: p.maybe_type_name.as_str().into(),
        values,
        target: None,
    })
}

fn handle_to_proto(h: &ResourceHandle) -> ResourceHandleProto {
    ResourceHandleProto {
        device: h.device.to_string(),
        container: h.container.to_string(),
        name: h.name.to_string(),
        hash_code: h.hash_code,
        maybe_type_name: h.type_name.to_string(),
        dtypes_and_shapes: h
            .values
            .iter()
            .map(|(t, s)| DtypeAndShape { dtype: t.wire(), shape: Some(partial_shape_to_proto(s)) })
            .collect(),
    }
}

/// Variants stay encoded: who uses one knows its type. Messages nest no deeper than their decoder allows.
fn variant_from_proto(p: &VariantTensorDataProto) -> Result<Variant> {
    if p.type_name.is_empty() && p.metadata.is_empty() && p.tensors.is_empty() {
        return Ok(Variant::default());
    }
    Ok(Variant::new(EncodedVariant {
        type_name: reserve::text(format_args!("{}", p.type_name))?,
        metadata: p.metadata.clone(),
        tensors: reserve::try_collect(p.tensors.iter().map(tensor_from_proto))?,
    }))
}

/// A variant in `tensor_content`, or in the data of a checkpoint.
pub fn variant_from_bytes(bytes: Bytes) -> Result<Variant> {
    let message = decode::<VariantTensorDataProto>(bytes)?;
    variant_from_proto(&message.map_err(|e| invalid!("not a variant: {e}"))?)
}

/// Variants inside variants that a message may hold.
const MAX_NESTED: usize = 32;

fn variant_to_proto(v: &Variant, depth: usize) -> Result<VariantTensorDataProto> {
    let Some(value) = &v.0 else { return Ok(VariantTensorDataProto::default()) };
    if depth == MAX_NESTED {
        return Err(invalid!(
            "variants inside variants, more than {MAX_NESTED} deep, cannot be put into messages"
        ));
    }
    let EncodedVariant { type_name, metadata, tensors } = value.encode()?;
    let tensors = reserve::try_collect(tensors.iter().map(|t| to_proto(t, depth + 1)))?;
    Ok(VariantTensorDataProto { type_name, metadata, tensors })
}

/// A variant as the bytes of its message.
pub fn variant_to_bytes(v: &Variant) -> Result<Vec<u8>> {
    let message = variant_to_proto(v, 0)?;
    let _room = memory::promise(message.encoded_len())?;
    Ok(encode(&message))
}

/// Encodes with raw content, as TensorFlow sends tensors; strings in `string_val`, which Python needs in attrs and accepts everywhere.
pub fn tensor_to_proto(t: &Tensor) -> Result<TensorProto> {
    to_proto(t, 0)
}

fn to_proto(t: &Tensor, depth: usize) -> Result<TensorProto> {
    let mut p = TensorProto {
        dtype: t.dtype().wire(),
        tensor_shape: Some(shape_to_proto(t.shape())),
        ..Default::default()
    };
    match t.dtype() {
        DataType::String => p.string_val = reserve::copied(t.strings()?)?,
        DataType::Resource => {
            let handles = reserve::collect(t.resources()?.iter().map(|h| encode(&handle_to_proto(h))))?;
            p.tensor_content = join_content(&handles)?;
        }
        DataType::Variant => {
            p.variant_val = reserve::try_collect(t.variants()?.iter().map(|v| variant_to_proto(v, depth)))?;
        }
        _ => p.tensor_content = content(t)?,
    }
    Ok(p)
}

/// The bytes of a plain tensor; large ones are shared, not copied.
fn content(t: &Tensor) -> Result<Bytes> {
    struct Shared(Tensor);
    impl AsRef<[u8]> for Shared {
        fn as_ref(&self) -> &[u8] {
            // Checked below: a plain tensor has bytes.
            self.0.bytes().unwrap_or_default()
        }
    }
    let bytes = t.bytes()?;
    Ok(if bytes.len() <= 1024 { Bytes::copy_from_slice(bytes) } else { Bytes::from_owner(Shared(t.clone())) })
}

fn join_content(items: &[Vec<u8>]) -> Result<Bytes> {
    let bytes: usize = items.iter().map(|item| item.len() + varint::MAX_LEN).sum();
    let mut out = reserve::with_capacity(bytes)?;
    items.iter().for_each(|item| varint::put(&mut out, item.len() as u64));
    items.iter().for_each(|item| out.extend_from_slice(item));
    Ok(out.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::error::Code;
    use thalweg_proto::TensorShapeProto;
    use thalweg_proto::tensor_shape_proto::Dim;

    fn proto(dtype: i32, dims: &[i64]) -> TensorProto {
        let dim = dims.iter().map(|d| Dim { size: *d, ..Default::default() }).collect();
        TensorProto {
            dtype,
            tensor_shape: Some(TensorShapeProto { dim, unknown_rank: false }),
            ..Default::default()
        }
    }

    #[test]
    fn typed_fields_repeat_their_last_value() {
        let mut p = proto(1, &[4]);
        assert_eq!(tensor_from_proto(&p).unwrap().as_slice::<f32>().unwrap(), &[0.0; 4]);
        p.float_val = vec![1.0, 2.0];
        assert_eq!(tensor_from_proto(&p).unwrap().as_slice::<f32>().unwrap(), &[1.0, 2.0, 2.0, 2.0]);
        p.float_val = vec![0.0; 5];
        assert!(tensor_from_proto(&p).is_err());
        // TensorFlow's client writes `tf.zeros([0], tf.string)` with one value.
        let mut empty = proto(7, &[0]);
        empty.string_val = vec![Bytes::new()];
        assert_eq!(tensor_from_proto(&empty).unwrap().shape().dims(), &[0]);
        let mut h = proto(19, &[]);
        h.half_val = vec![0x3c00];
        assert_eq!(tensor_from_proto(&h).unwrap().to_scalar::<f16>().unwrap().to_f32(), 1.0);
    }

    #[test]
    fn strings_in_content_are_lengths_then_bytes() {
        let mut p = proto(7, &[2]);
        p.tensor_content = Bytes::from_static(&[1, 2, 0x78, 0x79, 0x7a]);
        let t = tensor_from_proto(&p).unwrap();
        assert_eq!(t.strings().unwrap(), &[Bytes::from_static(b"x"), Bytes::from_static(b"yz")]);
        assert_eq!(tensor_to_proto(&t).unwrap().string_val, t.strings().unwrap());
        for bad in [&[1u8, 2, 0x78][..], &[1, 2, 1, 2, 3, 4], &[0xff; 30]] {
            p.tensor_content = Bytes::copy_from_slice(bad);
            assert!(tensor_from_proto(&p).is_err());
        }
    }

    #[test]
    fn complex_numbers_come_in_pairs() {
        let mut p = proto(8, &[2]);
        p.scomplex_val = vec![1.0, 2.0, 3.0, 4.0];
        let want = [Complex32::new(1.0, 2.0), Complex32::new(3.0, 4.0)];
        assert_eq!(tensor_from_proto(&p).unwrap().as_slice::<Complex32>().unwrap(), want);
        p.scomplex_val.pop();
        assert!(tensor_from_proto(&p).is_err());
        let mut p = proto(18, &[]);
        p.dcomplex_val = vec![1.0, 2.0];
        let got = tensor_from_proto(&p).unwrap().to_scalar::<ComplexDouble>().unwrap();
        assert_eq!(got, ComplexDouble::new(1.0, 2.0));
        p.dcomplex_val.push(0.0);
        assert!(tensor_from_proto(&p).is_err());
    }

    #[test]
    fn handles_round_trip_in_either_field() {
        let handle = |name: &str| ResourceHandle {
            device: "/job:a/task:0".into(),
            container: "c".into(),
            name: name.into(),
            hash_code: 7,
            type_name: "Var".into(),
            values: vec![(DataType::Float, Default::default()), (DataType::Int64, Default::default())],
            target: None,
        };
        let names = ["v", &"long".repeat(100), ""];
        let handles: Vec<_> = names.iter().map(|n| handle(n)).collect();
        let t = Tensor::from_objects(Shape::vector(3), handles.clone()).unwrap();
        let p = tensor_to_proto(&t).unwrap();
        let mut typed = TensorProto { tensor_content: Bytes::new(), ..p.clone() };
        typed.resource_handle_val = handles.iter().map(handle_to_proto).collect();
        for p in [p, typed] {
            let got = tensor_from_proto(&p).unwrap();
            for (got, want) in got.resources().unwrap().iter().zip(&handles) {
                assert_eq!(format!("{got:?}"), format!("{want:?}"));
            }
        }
    }

    #[test]
    fn variants_are_kept_encoded_and_round_trip() {
        let inner = Tensor::from_object(Variant::new(EncodedVariant {
            type_name: "inner".into(),
            metadata: Bytes::from_static(b"m"),
            tensors: vec![Tensor::scalar(7i64)],
        }));
        let outer = EncodedVariant { type_name: "outer".into(), tensors: vec![inner], ..Default::default() };
        let t =
            Tensor::from_objects(Shape::vector(2), vec![Variant::new(outer), Variant::default()]).unwrap();
        let p = tensor_to_proto(&t).unwrap();
        let back = tensor_from_proto(&p).unwrap();
        assert!(back.variants().unwrap()[1].0.is_none());
        let read = back.variants().unwrap()[0].get::<EncodedVariant>().unwrap();
        let held = read.tensors[0].variants().unwrap()[0].get::<EncodedVariant>().unwrap();
        assert_eq!((held.type_name.as_str(), &held.metadata[..]), ("inner", &b"m"[..]));
        assert_eq!(held.tensors[0].to_scalar::<i64>().unwrap(), 7);
        assert_eq!(tensor_from_proto(&proto(21, &[0])).unwrap().shape().dims(), &[0]);
        let mut p = proto(21, &[]);
        p.tensor_content = Bytes::from_static(&[2, 0xff, 0xff]);
        assert_eq!(tensor_from_proto(&p).unwrap_err().code(), Code::InvalidArgument);
    }

    #[test]
    fn variants_nested_too_deep_are_an_error_not_a_stack_overflow() {
        let mut t = Tensor::scalar(1i64);
        for _ in 0..1000 {
            t = Tensor::from_object(Variant::new(EncodedVariant {
                type_name: "nest".into(),
                tensors: vec![t],
                ..Default::default()
            }));
        }
        assert_eq!(tensor_to_proto(&t).unwrap_err().code(), Code::InvalidArgument);
    }

    #[test]
    fn the_bytes_of_large_tensors_are_shared() {
        for (len, shared) in [(1024, false), (1025, true)] {
            let t = Tensor::zeros(DataType::Uint8, Shape::vector(len)).unwrap();
            let content = tensor_to_proto(&t).unwrap().tensor_content;
            assert_eq!(content.as_ptr() == t.bytes().unwrap().as_ptr(), shared, "{len}");
        }
    }

    #[test]
    fn inconsistent_tensors_are_refused() {
        for (dtype, dims) in [
            (1, vec![1 << 40, 1 << 40]),
            (1, vec![-5]),
            (99, vec![]),
            (101, vec![]),
            (0, vec![]),
            (1, vec![1; 300]),
        ] {
            assert!(tensor_from_proto(&proto(dtype, &dims)).is_err(), "{dtype} {dims:?}");
        }
        let mut p = proto(1, &[3]);
        p.tensor_content = Bytes::from_static(&[0; 11]);
        assert!(tensor_from_proto(&p).is_err());
        assert!(tensor_from_proto(&proto(7, &[1 << 33])).is_err());
    }

    #[test]
    fn every_plain_type_round_trips() {
        for dtype in DataType::all().filter(|t| t.is_plain()) {
            let bytes: Vec<u8> = (0..6 * dtype.size()).map(|i| (i % 2) as u8).collect();
            let t = Tensor::from_bytes(dtype, Shape::new(&[2, 3]).unwrap(), &bytes).unwrap();
            assert!(tensor_from_proto(&tensor_to_proto(&t).unwrap()).unwrap().same_bits(&t), "{dtype}");
        }
    }
}
