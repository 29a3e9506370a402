//! `SerializeSparse`, `SerializeManySparse`, `DeserializeSparse`, `DeserializeManySparse`: sparse tensors as three strings
//! (TensorProtos) or variants each: indices, values and shape.

use super::coordinates::{check_sparse, example};
use super::entries::{Entries, check_ranks, sparse_shape};
use super::minibatch::{Stacked, split, stack};
use crate::held::Held;
use crate::prelude::*;
use bytes::Bytes;
use thalweg_io::message::decode;
use thalweg_io::varint;
use thalweg_io::wire::{shape_to_proto, tensor_from_proto, tensor_to_proto};
use thalweg_proto::{Message, TensorProto};

pub static OPS: &[&Op] =
    &[&SERIALIZE_SPARSE, &SERIALIZE_MANY_SPARSE, &DESERIALIZE_SPARSE, &DESERIALIZE_MANY_SPARSE];

const SERIALIZE_SPARSE: Op = Op {
    name: "SerializeSparse",
    doc: "A sparse tensor as three strings (TensorProtos) or variants: indices, values, shape.",
    inputs: &["sparse_indices: int64", "sparse_values: T", "sparse_shape: int64"],
    outputs: &["serialized_sparse: out_type"],
    attrs: &["T: type", "out_type: {string, variant} = DT_STRING"],
    shape: |c| {
        check_sparse(c, 0)?;
        Ok(vec![PartialShape::vector(3)])
    },
    grad: Missing,
    kernels: cpu!(make serialize),
    cases: |r| vec![Case::new(example(&[0, 1, 1, 0, 1, 2], r.tensor(&[3]), &[2, 3]))],
    ..Op::PURE
};

const SERIALIZE_MANY_SPARSE: Op = Op {
    name: "SerializeManySparse",
    doc: "Each row of a sparse tensor as three strings (TensorProtos) or variants: indices, values, shape.",
    shape: |c| {
        check_sparse(c, 0)?;
        Ok(vec![[c.as_shape(2)?.dim(0), 3].into_iter().collect()])
    },
    kernels: cpu!(make serialize_many),
    ..SERIALIZE_SPARSE
};

const DESERIALIZE_SPARSE: Op = Op {
    name: "DeserializeSparse",
    doc: "Sparse tensors of one rank, as SerializeSparse made them, as one: the dimensions of the input but the last come first.",
    inputs: &["serialized_sparse: Tserialized"],
    outputs: &["sparse_indices: int64", "sparse_values: dtype", "sparse_shape: int64"],
    attrs: &["dtype: type", "Tserialized: {string, variant} = DT_STRING"],
    shape: |c| {
        let last = c.input(0).dims().map(|d| d.last().copied());
        if last.is_some_and(|n| n.is_none_or(|n| merge_dim(n, 3).is_err())) {
            return Err(invalid!("the last dimension must be 3: indices, values, shape; got {}", c.input(0)));
        }
        Ok(sparse_shape(-1))
    },
    grad: Missing,
    kernels: cpu!(make deserialize),
    cases: |r| {
        let parts = example(&[0, 1, 1, 0], r.tensor(&[2]), &[2, 3]);
        let parts: Result<Vec<Bytes>> = parts.iter().map(to_string).collect();
        let of = |dims: &[usize]| Tensor::from_objects(Shape::new(dims)?, parts.clone()?);
        let all = [of(&[3]), of(&[1, 3])].into_iter().flatten();
        all.map(|t| Case::new(vec![t]).attr("dtype", DataType::Float)).collect()
    },
    ..Op::PURE
};

const DESERIALIZE_MANY_SPARSE: Op = Op {
    name: "DeserializeManySparse",
    doc: "Sparse tensors of one rank, as SerializeManySparse made them, as one with a new first dimension.",
    inputs: &["serialized_sparse: string"],
    attrs: &["dtype: type"],
    cases: |r| (DESERIALIZE_SPARSE.cases)(r).into_iter().skip(1).collect(),
    ..DESERIALIZE_SPARSE
};

/// A tensor as a TensorProto whose contents are bytes: of strings, all lengths and then all of them.
fn to_string(t: &Tensor) -> Result<Bytes> {
    let proto = match t.dtype() {
        DataType::String => {
            let total = t.byte_len().saturating_add(t.elements().saturating_mul(varint::MAX_LEN));
            let mut content = reserve::with_capacity(total)?;
            t.strings()?.iter().for_each(|s| varint::put(&mut content, s.len() as u64));
            t.strings()?.iter().for_each(|s| content.extend_from_slice(s));
            TensorProto {
                dtype: t.dtype().wire(),
                tensor_shape: Some(shape_to_proto(t.shape())),
                tensor_content: content.into(),
                ..Default::default()
            }
        }
        _ => tensor_to_proto(t)?,
    };
    let mut bytes = reserve::with_capacity(proto.encoded_len())?;
    proto.encode(&mut bytes).map_err(|_| internal("a message is longer than it said"))?;
    Ok(bytes.into())
}

fn from_string(s: &Bytes) -> Result<Tensor> {
    let proto =
        decode::<TensorProto>(s.clone())?.map_err(|_| invalid!("Could not parse serialized proto"))?;
    tensor_from_proto(&proto).map_err(|e| e.context("Could not construct tensor from proto"))
}

/// Serialised tensors, as `dtype`.
fn output(dtype: DataType, shape: Shape, all: Vec<Tensor>) -> Result<Tensor> {
    match dtype {
        DataType::String => Tensor::from_objects(shape, reserve::try_collect(all.iter().map(to_string))?),
        _ => Tensor::from_objects(shape, reserve::collect(all.into_iter().map(|t| Variant::new(Held(t))))?),
    }
}

fn serialize(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let dtype = node.attrs.dtype("out_type")?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let parts = vec![c.take(0)?, c.take(1)?, c.take(2)?];
        if let [indices, values, shape] = &parts[..] {
            check_ranks(indices, values, shape)?;
        }
        c.set(0, output(dtype, Shape::vector(3), parts)?);
        Ok(())
    }))
}

fn serialize_many(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let dtype = node.attrs.dtype("out_type")?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let rows = split(Entries::of(c, 0)?)?;
        let shape = Shape::new(&[rows.len(), 3])?;
        let mut all = reserve::with_capacity(rows.len().saturating_mul(3))?;
        rows.into_iter().for_each(|row| all.extend(row));
        c.set(0, output(dtype, shape, all)?);
        Ok(())
    }))
}

fn deserialize(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let dtype = node.attrs.dtype("dtype")?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let input = c.input(0)?;
        let Some((last, outer)) = input.shape().split_last() else {
            return Err(invalid!("Serialized sparse should have non-zero rank {}", input.shape()));
        };
        if *last != 3 {
            return Err(invalid!("Serialized sparse should have 3 as the last dimension {}", input.shape()));
        }
        if input.elements() == 0 {
            return Err(invalid!(
                "Serialized sparse should have at least 1 serialized tensor, but has a zero dimension {}",
                input.shape()
            ));
        }
        let parts = match input.dtype() {
            DataType::String => reserve::try_collect(input.strings()?.iter().map(from_string))?,
            _ => reserve::try_collect(input.variants()?.iter().map(|v| {
                Held::of(v).ok_or_else(|| {
                    invalid!(
                        "Could not get a tensor from the variant {v:?}: it was not made by SerializeSparse"
                    )
                })
            }))?,
        };
        let outer = reserve::collect(outer.iter().map(|n| *n as i64))?;
        let Stacked { indices, values, shape } = stack(dtype, &outer, &parts)?;
        c.set(0, indices);
        c.set(1, values);
        c.set(2, shape);
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{call, code, floats};

    #[test]
    fn strings_and_variants_come_back() {
        let inputs = example(&[0, 1, 1, 0], floats(&[2], &[5.0, 6.0]), &[2, 3]);
        for kind in [DataType::String, DataType::Variant] {
            let parts = call("SerializeSparse", &inputs, &[("out_type", kind.into())]).unwrap();
            let back = |dtype: DataType| call("DeserializeSparse", &parts, &[("dtype", dtype.into())]);
            let y = back(DataType::Float).unwrap();
            assert!(y.iter().zip(&inputs).all(|(y, x)| y.same_bits(x)));
            assert_eq!(code(back(DataType::Int32)), Code::InvalidArgument);
        }
    }

    #[test]
    fn the_bytes_are_those_of_tensor_protos_with_contents() {
        let text =
            Tensor::from_objects(Shape::vector(2), vec![Bytes::from("a"), Bytes::from("bcd")]).unwrap();
        let y = call("SerializeSparse", &example(&[0, 1, 1, 1], text, &[2, 3]), &[]).unwrap();
        assert_eq!(&y[0].strings().unwrap()[1][..], b"\x08\x07\x12\x04\x12\x02\x08\x02\"\x06\x01\x03abcd");
        let junk = Tensor::from_objects(Shape::vector(3), vec![Bytes::from("x"); 3]).unwrap();
        assert_eq!(
            code(call("DeserializeSparse", &[junk], &[("dtype", DataType::Float.into())])),
            Code::InvalidArgument
        );
    }
}
