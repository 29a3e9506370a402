//! Maps of tensors: immutable values.

mod map;

use crate::by_value::ByValue;
use crate::prelude::*;
use crate::rows::stack;
use map::TensorMap;

pub static OPS: &[&Op] = &[
    &EMPTY_TENSOR_MAP,
    &TENSOR_MAP_INSERT,
    &TENSOR_MAP_LOOKUP,
    &TENSOR_MAP_ERASE,
    &TENSOR_MAP_HAS_KEY,
    &TENSOR_MAP_SIZE,
    &TENSOR_MAP_STACK_KEYS,
];

static EMPTY_TENSOR_MAP: Op = Op {
    name: "EmptyTensorMap",
    doc: "A map without keys.",
    outputs: &["handle: variant"],
    shape: shape_call::scalar,
    grad: Stops,
    kernels: cpu!(empty),
    ..Op::PURE
};

static TENSOR_MAP_INSERT: Op = Op {
    name: "TensorMapInsert",
    doc: "The map with a value for a key, in place of an earlier one.",
    inputs: &["input_handle: variant", "key: key_dtype", "value: value_dtype"],
    outputs: &["output_handle: variant"],
    attrs: &["key_dtype: type", "value_dtype: type"],
    shape: shape_call::scalar,
    grad: Rule(grad_of_insert),
    kernels: cpu!(insert),
    ..Op::PURE
};

static TENSOR_MAP_LOOKUP: Op = Op {
    name: "TensorMapLookup",
    doc: "The value of a key, which the map must have.",
    inputs: &["input_handle: variant", "key: key_dtype"],
    outputs: &["value: value_dtype"],
    attrs: &["key_dtype: type", "value_dtype: type"],
    grad: Rule(|g| {
        let (key, dvalue) = (g.x[1], g.dy()?);
        Ok(vec![single(g, key, dvalue)?.into(), Grad::None])
    }),
    kernels: cpu!(lookup),
    ..Op::PURE
};

static TENSOR_MAP_ERASE: Op = Op {
    name: "TensorMapErase",
    doc: "The map without a key, which it must have.",
    inputs: &["input_handle: variant", "key: key_dtype"],
    outputs: &["output_handle: variant"],
    attrs: &["key_dtype: type", "value_dtype: type"],
    shape: shape_call::scalar,
    grad: Rule(|g| Ok(vec![g.dy()?.into(), Grad::None])),
    kernels: cpu!(erase),
    ..Op::PURE
};

static TENSOR_MAP_HAS_KEY: Op = Op {
    name: "TensorMapHasKey",
    doc: "Whether the map has a key.",
    inputs: &["input_handle: variant", "key: key_dtype"],
    outputs: &["has_key: bool"],
    attrs: &["key_dtype: type"],
    shape: shape_call::scalar,
    grad: Stops,
    kernels: cpu!(has_key),
    ..Op::PURE
};

static TENSOR_MAP_SIZE: Op = Op {
    name: "TensorMapSize",
    doc: "The number of keys.",
    inputs: &["input_handle: variant"],
    outputs: &["size: int32"],
    shape: shape_call::scalar,
    grad: Stops,
    kernels: cpu!(size),
    ..Op::PURE
};

static TENSOR_MAP_STACK_KEYS: Op = Op {
    name: "TensorMapStackKeys",
    doc: "The keys, which have one type and shape, stacked along a new first dimension.",
    inputs: &["input_handle: variant"],
    outputs: &["keys: key_dtype"],
    attrs: &["key_dtype: type"],
    grad: Stops,
    kernels: cpu!(stack_keys),
    ..Op::PURE
};

/// The map of one key.
fn single(g: &mut GradCall<'_>, key: Output, value: Output) -> Result<Output> {
    let empty = g.op("EmptyTensorMap", [], &[])?;
    g.op("TensorMapInsert", [empty.into(), key.into(), value.into()], &[])
}

/// The gradient of the map may not have the key. With zeros added to it, it does.
fn grad_of_insert(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (key, value, dmap) = (g.x[1], g.x[2], g.dy()?);
    let zeros = g.unary("ZerosLike", value)?;
    let zeros = single(g, key, zeros)?;
    let dmap = g.op("AddN", [vec![dmap, zeros].into()], &[])?;
    let dtype = [("value_dtype", Attr::Type(g.graph.dtype(value)))];
    let dvalue = g.op("TensorMapLookup", [dmap.into(), key.into()], &dtype)?;
    let dmap = g.op("TensorMapErase", [dmap.into(), key.into()], &dtype)?;
    Ok(vec![dmap.into(), Grad::None, dvalue.into()])
}

fn empty(c: &mut OpCall<'_>) -> Result<()> {
    c.set(0, TensorMap::default().into_tensor());
    Ok(())
}

fn insert(c: &mut OpCall<'_>) -> Result<()> {
    let (key, value) = (c.take(1)?, c.take(2)?);
    let mut map = TensorMap::take(c, 0)?;
    map.insert(key, value)?;
    c.set(0, map.into_tensor());
    Ok(())
}

fn lookup(c: &mut OpCall<'_>) -> Result<()> {
    let (key, dtype) = (c.input(1)?, c.output_type(0)?);
    let value = TensorMap::look(c, 0, |map| map.value(key, "lookup non-existent key").cloned())?;
    if value.dtype() != dtype {
        return Err(invalid!("Type mismatch: actual {} vs. expect {dtype}", value.dtype()));
    }
    c.set(0, value);
    Ok(())
}

fn erase(c: &mut OpCall<'_>) -> Result<()> {
    let key = c.take(1)?;
    let mut map = TensorMap::take(c, 0)?;
    map.erase(&key)?;
    c.set(0, map.into_tensor());
    Ok(())
}

fn has_key(c: &mut OpCall<'_>) -> Result<()> {
    let key = c.input(1)?;
    let has = TensorMap::look(c, 0, |map| map.has(key))?;
    c.set(0, Tensor::scalar(has));
    Ok(())
}

fn size(c: &mut OpCall<'_>) -> Result<()> {
    let n = TensorMap::look(c, 0, |map| Ok(map.len()))?;
    c.set(0, Tensor::scalar(i32::try_from(n).unwrap_or(i32::MAX)));
    Ok(())
}

fn stack_keys(c: &mut OpCall<'_>) -> Result<()> {
    let (keys, dtype) = (TensorMap::look(c, 0, TensorMap::keys)?, c.output_type(0)?);
    let Some(first) = keys.first() else {
        return Err(invalid!("TensorMapStackKeys cannot be called on empty map."));
    };
    if keys.iter().any(|key| key.dtype() != dtype) {
        return Err(invalid!("Key does not match requested dtype."));
    }
    if keys.iter().any(|key| key.shape() != first.shape()) {
        return Err(invalid!("Keys must all have the same shape."));
    }
    c.set(0, stack(dtype, first.shape(), &keys)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{call, code};
    use crate::variants;

    fn one(op: &str, inputs: &[Tensor], attrs: &[(&'static str, Attr)]) -> Result<Tensor> {
        Ok(call(op, inputs, attrs)?.remove(0))
    }

    fn insert(map: Tensor, key: Tensor, value: f32) -> Tensor {
        one("TensorMapInsert", &[map, key, Tensor::scalar(value)], &[]).unwrap()
    }

    fn lookup(map: &Tensor, key: Tensor) -> Result<f32> {
        let dtype = [("value_dtype", Attr::Type(DataType::Float))];
        one("TensorMapLookup", &[map.clone(), key], &dtype)?.to_scalar()
    }

    fn empty() -> Tensor {
        one("EmptyTensorMap", &[], &[]).unwrap()
    }

    fn size(map: &Tensor) -> i32 {
        one("TensorMapSize", &[map.clone()], &[]).unwrap().to_scalar().unwrap()
    }

    #[test]
    fn a_map_is_a_value() {
        let of_word = Tensor::string("one");
        let first = insert(empty(), Tensor::scalar(1i32), 10.0);
        let second = insert(first.clone(), of_word.clone(), 20.0);
        let third = insert(second.clone(), Tensor::scalar(1i32), 30.0);
        assert_eq!([&first, &second, &third].map(size), [1, 2, 2]);
        assert_eq!(lookup(&second, Tensor::scalar(1i32)).unwrap(), 10.0);
        assert_eq!(lookup(&third, Tensor::scalar(1i32)).unwrap(), 30.0);
        assert_eq!(lookup(&third, of_word.clone()).unwrap(), 20.0);
        let dtype = [("value_dtype", Attr::Type(DataType::Float))];
        let erased = one("TensorMapErase", &[third.clone(), of_word.clone()], &dtype).unwrap();
        assert_eq!([&erased, &third].map(size), [1, 2]);
        let has = |map: &Tensor| one("TensorMapHasKey", &[map.clone(), of_word.clone()], &[]).unwrap();
        assert_eq!([&erased, &third].map(|m| has(m).to_scalar::<bool>().unwrap()), [false, true]);
    }

    #[test]
    fn keys_of_one_shape_are_stacked() {
        let keys = |map: &Tensor, dtype| {
            one("TensorMapStackKeys", &[map.clone()], &[("key_dtype", Attr::Type(dtype))])
        };
        let mut map = empty();
        assert_eq!(keys(&map, DataType::Int32).unwrap_err().code(), Code::InvalidArgument);
        for key in [3i32, 1, 2, 3] {
            map = insert(map, Tensor::scalar(key), 0.0);
        }
        assert_eq!(keys(&map, DataType::Int32).unwrap().as_slice::<i32>().unwrap(), [1, 2, 3]);
        assert_eq!(keys(&map, DataType::Int64).unwrap_err().code(), Code::InvalidArgument);
        let other = insert(map, Tensor::vector(&[1i32]).unwrap(), 0.0);
        assert_eq!(keys(&other, DataType::Int32).unwrap_err().code(), Code::InvalidArgument);
    }

    #[test]
    fn what_is_not_there_or_no_map_is_an_error() {
        let map = insert(empty(), Tensor::scalar(1i64), 1.0);
        assert_eq!(lookup(&map, Tensor::scalar(1i32)).unwrap_err().code(), Code::InvalidArgument);
        let int = [("value_dtype", Attr::Type(DataType::Int32))];
        let wrong = [map.clone(), Tensor::scalar(1i64)];
        assert_eq!(code(call("TensorMapLookup", &wrong, &int)), Code::InvalidArgument);
        let wrong = [map.clone(), Tensor::scalar(2i64)];
        assert_eq!(code(call("TensorMapErase", &wrong, &int)), Code::InvalidArgument);
        let none = Tensor::zeros(DataType::Variant, Shape::scalar()).unwrap();
        assert_eq!(code(call("TensorMapSize", &[none], &[])), Code::InvalidArgument);
        let key_in_key = [map.clone(), map.clone(), Tensor::scalar(1i64)];
        assert_eq!(code(call("TensorMapInsert", &key_in_key, &[])), Code::Unimplemented);
        let several = Tensor::zeros(DataType::Variant, Shape::vector(2)).unwrap();
        assert_eq!(code(call("TensorMapSize", &[several], &[])), Code::InvalidArgument);
    }

    #[test]
    fn maps_are_added_by_key() {
        let (one, two) = (|| Tensor::scalar(1i32), || Tensor::scalar(2i32));
        let a = insert(insert(empty(), one(), 1.0), two(), 2.0);
        let b = insert(empty(), two(), 5.0);
        let sum = variants::sum(a.clone(), b, 0).unwrap();
        assert_eq!([one(), two()].map(|k| lookup(&sum, k).unwrap()), [1.0, 7.0]);
        assert_eq!(size(&variants::zeros_like(&a, 0).unwrap()), 0);
    }
}
