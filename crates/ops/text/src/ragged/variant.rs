//! `RaggedTensorToVariant`, `RaggedTensorFromVariant`, `RaggedTensorToVariantGradient`: ragged tensors in variants, so that they
//! can be elements of datasets, lists and batches.

use super::splits::{arguments, checked, tensor_of};
use crate::held::Ragged;
use crate::prelude::*;
use crate::rows::join;
use std::borrow::Cow;

pub static OPS: &[&Op] =
    &[&RAGGED_TENSOR_TO_VARIANT, &RAGGED_TENSOR_FROM_VARIANT, &RAGGED_TENSOR_TO_VARIANT_GRADIENT];

static RAGGED_TENSOR_TO_VARIANT: Op = Op {
    name: "RaggedTensorToVariant",
    doc: "A ragged tensor in a variant, or each of its rows in one of a vector of variants.",
    inputs: &["rt_nested_splits: RAGGED_RANK * Tsplits", "rt_dense_values: Tvalues"],
    outputs: &["encoded_ragged: variant"],
    attrs: &[
        "RAGGED_RANK: int >= 0",
        "Tvalues: type",
        "Tsplits: {int32, int64} = DT_INT64",
        "batched_input: bool",
    ],
    shape: |c| {
        let splits = c.arg(0).len();
        for i in 0..splits {
            c.rank(i, 1)?;
        }
        let values = c.rank_at_least(splits, splits.min(1))?;
        if !c.attrs.bool("batched_input")? {
            return shape_call::scalar(c);
        }
        let rows = match splits {
            0 => values.dim(0),
            _ => c.input(0).dim(0).saturating_sub(1),
        };
        Ok(vec![PartialShape::vector(rows)])
    },
    grad: Rule(|g| {
        let (Some((values, splits)), dy) = (g.x.split_last(), g.dy()?) else {
            return Err(internal("no values"));
        };
        let (values, first, mut all) = (*values, splits.first().copied(), vec![Grad::None; splits.len()]);
        let rows = match first {
            Some(splits) => splits,
            None => g.constant(int_vector(&[0]))?,
        };
        let shape = g.shape_of(values)?;
        let dtype = [("Tvalues", Attr::Type(g.graph.dtype(values)))];
        let dvalues =
            g.op("RaggedTensorToVariantGradient", [dy.into(), rows.into(), shape.into()], &dtype)?;
        all.push(dvalues.into());
        Ok(all)
    }),
    kernels: cpu!(make to_variant),
    ..Op::PURE
};

static RAGGED_TENSOR_FROM_VARIANT: Op = Op {
    name: "RaggedTensorFromVariant",
    doc: "The ragged tensors in a tensor of variants, as one; the dimensions of the input come first.",
    inputs: &["encoded_ragged: variant"],
    outputs: &["output_nested_splits: output_ragged_rank * Tsplits", "output_dense_values: Tvalues"],
    attrs: &[
        "input_ragged_rank: int >= -1",
        "output_ragged_rank: int >= 0",
        "Tvalues: type",
        "Tsplits: {int32, int64} = DT_INT64",
    ],
    shape: |c| {
        let mut all = vec![PartialShape::vector(-1); c.outputs.saturating_sub(1)];
        all.push(PartialShape::unknown());
        Ok(all)
    },
    grad: Rule(|g| {
        let (encoded, last) = (g.x[0], g.y.len() - 1);
        let batched = match g.graph.shape(encoded).rank() {
            Some(rank @ (0 | 1)) => rank == 1,
            None => last > 0,
            Some(_) => {
                return Err(unimplemented(
                    "Unable to compute gradient: RaggedTensorToVariant can currently only generate 0D or 1D output.",
                ));
            }
        };
        let (splits, dy) = (g.y[..last].to_vec(), g.dy_or_zeros(last)?);
        let mut attrs = vec![("RAGGED_RANK", Attr::Int(last as i64)), ("batched_input", Attr::Bool(batched))];
        attrs.push(("Tsplits", Attr::Type(g.attrs.dtype("Tsplits")?)));
        Ok(vec![g.op("RaggedTensorToVariant", [splits.into(), dy.into()], &attrs)?.into()])
    }),
    kernels: cpu!(make from_variant),
    ..Op::PURE
};

static RAGGED_TENSOR_TO_VARIANT_GRADIENT: Op = Op {
    name: "RaggedTensorToVariantGradient",
    doc: "The gradient of RaggedTensorToVariant by the values, from that of the variants; variants without a value are zeros.",
    inputs: &["encoded_ragged_grad: variant", "row_splits: Tsplits", "dense_values_shape: int32"],
    outputs: &["dense_values_grad: Tvalues"],
    attrs: &["Tvalues: type", "Tsplits: {int32, int64} = DT_INT64"],
    shape: |c| Ok(vec![c.as_shape(2)?]),
    kernels: cpu!(gradient),
    ..Op::PURE
};

fn to_variant(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let batched = node.attrs.bool("batched_input")?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let inputs = arguments(c, 0)?;
        let values = c.input(inputs.len())?.clone();
        let mut all = Vec::new();
        for (i, splits) in inputs.iter().enumerate() {
            let end = inputs.get(i + 1).map(|next| next.elements().saturating_sub(1));
            let end = end.or(values.shape().first().copied());
            reserve::push(&mut all, checked(splits, end).map_err(|e| e.context("Invalid ragged splits"))?)?;
        }
        if !batched {
            let splits = reserve::collect(inputs.into_iter().cloned())?;
            c.set(0, Tensor::from_object(Variant::new(Ragged { splits, values })));
            return Ok(());
        }
        let Some(first) = values.shape().first().copied() else {
            return Err(invalid!("Can't unbatch rank-0 tensor."));
        };
        let rows = all.first().map_or(first, |s| s.len() - 1);
        let dtype = inputs.first().map_or(DataType::Int64, |t| t.dtype());
        let each = (0..rows).map(|row| Ok(Variant::new(row_of(&all, &values, row, dtype)?)));
        let each = reserve::try_collect(each)?;
        c.set(0, Tensor::from_objects(Shape::vector(rows), each)?);
        Ok(())
    }))
}

/// A row of a ragged tensor, with one dimension less.
fn row_of(splits: &[Vec<i64>], values: &Tensor, row: usize, dtype: DataType) -> Result<Ragged> {
    let Some((outer, inner)) = splits.split_first() else {
        return Ok(Ragged { splits: Vec::new(), values: crate::rows::row(values, row)? });
    };
    let (mut start, mut end) = (outer[row] as usize, outer[row + 1] as usize);
    let mut own = Vec::new();
    for splits in inner {
        let from = splits[start];
        let shifted = reserve::collect(splits[start..=end].iter().map(|s| s - from))?;
        reserve::push(&mut own, tensor_of(dtype, &shifted)?)?;
        (start, end) = (splits[start] as usize, splits[end] as usize);
    }
    Ok(Ragged { splits: own, values: values.rows(start, end - start)? })
}

fn from_variant(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let (input, output) = (node.attrs.int("input_ragged_rank")?, node.attrs.int("output_ragged_rank")?);
    let (dtype, splits) = (node.attrs.dtype("Tvalues")?, node.attrs.dtype("Tsplits")?);
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let encoded = c.input(0)?;
        let dims = encoded.rank() as i64;
        let rank = input_rank(input, output, dims)?;
        let parts = components(encoded, rank, dtype, splits)?;
        let whole = match (dims, output) {
            (0, _) => parts.first().map(|one| Ok((reserve::copied(&one.splits)?, one.values.clone()))),
            // Tensors of one shape, stacked.
            (_, 0) => Some(stacked(&parts, dtype).map(|values| (Vec::new(), values))),
            _ => Some(nested(encoded.shape(), &parts, rank, dtype, splits)),
        };
        let (splits, values) = whole.unwrap_or_else(|| Err(internal("a scalar without an element")))?;
        let last = splits.len();
        for (i, s) in splits.into_iter().enumerate() {
            c.set(i, s);
        }
        c.set(last, values);
        Ok(())
    }))
}

/// The ragged rank of the components, inferred if it is given as -1; -1 if they are stacked.
fn input_rank(input: i64, output: i64, dims: i64) -> Result<i64> {
    let inferred = output - dims;
    if input == -1 {
        if inferred < 0 && output > 0 {
            return Err(invalid!(
                "Inferred input_ragged_rank (output_ragged_rank - encoded_variant.dims()) must be >= 0, found \
                 output_ragged_rank: {output}, encoded_variant.dims(): {dims}, inferred input_ragged_rank: {inferred}"
            ));
        }
        return Ok(inferred.max(-1));
    }
    if input != inferred {
        return Err(invalid!(
            "output_ragged_rank must be equal to input_ragged_rank + encoded_ragged.dims(); output_ragged_rank: \
             {output}, input_ragged_rank: {input}, encoded_variant.dims(): {dims}."
        ));
    }
    Ok(input)
}

/// The ragged tensors in variants, of this ragged rank and these types.
fn components(
    encoded: &Tensor,
    rank: i64,
    dtype: DataType,
    splits: DataType,
) -> Result<Vec<Cow<'_, Ragged>>> {
    let each = encoded.variants()?.iter().enumerate().map(|(i, v)| {
        let Some(ragged) = Ragged::of(v) else {
            return Err(invalid!(
                "Input Variant element at index {i} doesn't hold a RaggedTensorVariant: {v:?}"
            ));
        };
        if ragged.splits.len() as i64 != rank.max(0) {
            return Err(invalid!(
                "Encoded input RaggedTensorVariant has ragged_rank={}.  Expected ragged_rank={}.",
                ragged.splits.len(),
                rank.max(0)
            ));
        }
        if ragged.values.dtype() != dtype {
            return Err(invalid!("Expected values Tensor dtype: {dtype}, found: {}", ragged.values.dtype()));
        }
        if ragged.values.rank() == 0 && rank >= 0 && encoded.rank() > 0 {
            return Err(invalid!("Ragged values must have rank >= 1; encoded scalar element at index {i}"));
        }
        if let Some(odd) = ragged.splits.iter().find(|s| s.dtype() != splits) {
            return Err(invalid!("Expected row_splits Tensor dtype: {splits}, found: {}", odd.dtype()));
        }
        Ok(ragged)
    });
    reserve::try_collect(each)
}

fn stacked(parts: &[Cow<'_, Ragged>], dtype: DataType) -> Result<Tensor> {
    let each = parts.first().map_or_else(Shape::scalar, |p| p.values.shape().clone());
    if let Some((i, odd)) = parts.iter().enumerate().find(|(_, p)| p.values.shape() != &each) {
        return Err(invalid!(
            "All flat_values must have compatible shapes.  Shape at index 0: {each}.  Shape at index {i}: {}",
            odd.values.shape()
        ));
    }
    let values = reserve::collect(parts.iter().map(|p| p.values.clone()))?;
    crate::rows::stack(dtype, &each, &values)
}

/// Ragged tensors as rows of one; `outer` is the shape of the variants.
fn nested(
    outer: &Shape,
    parts: &[Cow<'_, Ragged>],
    rank: i64,
    dtype: DataType,
    split_type: DataType,
) -> Result<(Vec<Tensor>, Tensor)> {
    let mut all = Vec::new();
    for pair in outer.windows(2) {
        let splits = reserve::collect((0..=pair[0]).map(|i| (i * pair[1]) as i64))?;
        reserve::push(&mut all, tensor_of(split_type, &splits)?)?;
    }
    let rows_of = |p: &Ragged| match p.splits.first() {
        Some(splits) => splits.elements().saturating_sub(1),
        None => p.values.shape().first().copied().unwrap_or(0),
    };
    let mut rows = reserve::with_capacity(parts.len() + 1)?;
    rows.push(0i64);
    let mut end = 0;
    for part in parts {
        end += rows_of(part) as i64;
        rows.push(end);
    }
    reserve::push(&mut all, tensor_of(split_type, &rows)?)?;
    for d in 0..rank.max(0) as usize {
        let mut splits = reserve::collect([0i64])?;
        let mut end = 0;
        for part in parts.iter().filter_map(|p| p.splits.get(d)) {
            let own = part.to_i64s()?;
            reserve::room(&mut splits, own.len())?;
            splits.extend(own.iter().skip(1).map(|s| s + end));
            end += own.last().copied().unwrap_or(0);
        }
        reserve::push(&mut all, tensor_of(split_type, &splits)?)?;
    }
    Ok((all, concatenated(parts, dtype)?))
}

/// The values of all, along the first dimension.
fn concatenated(parts: &[Cow<'_, Ragged>], dtype: DataType) -> Result<Tensor> {
    let Some(first) = parts.first().map(|p| p.values.shape()) else {
        return Tensor::zeros(dtype, Shape::vector(0));
    };
    let mut rows = 0usize;
    for (i, part) in parts.iter().enumerate() {
        let shape = part.values.shape();
        if shape.rank() != first.rank() {
            return Err(invalid!(
                "Rank of values must match for all components; values shape at index 0: {first}, values shape at \
                 index {i}: {shape}"
            ));
        }
        if shape[1..] != first[1..] {
            return Err(invalid!(
                "All flat_values must have compatible shapes.  Shape at index 0: {first}.  Shape at index {i}: {shape}"
            ));
        }
        rows = rows.saturating_add(shape[0]);
    }
    let values = reserve::collect(parts.iter().map(|p| p.values.clone()))?;
    join(dtype, first.with(0, rows)?, &values)
}

fn gradient(c: &mut OpCall<'_>) -> Result<()> {
    let dtype = c.output_type(0)?;
    let (encoded, splits) = (c.input(0)?, c.input(1)?.to_i64s()?);
    let shape = Shape::from_i64(&c.int_vector(2)?)?;
    let width = shape.without(0).elements();
    let mut parts = reserve::with_capacity(encoded.elements())?;
    let mut total = 0usize;
    for (i, v) in encoded.variants()?.iter().enumerate() {
        let part = match Ragged::of(v) {
            Some(ragged) => ragged.values.clone(),
            None => {
                let rows =
                    splits.get(i..i + 2).and_then(|ends| usize::try_from(ends[1].checked_sub(ends[0])?).ok());
                let rows =
                    rows.ok_or_else(|| invalid!("row_splits has no row {i}, whose gradient is missing"))?;
                Tensor::zeros(dtype, shape.with(0, rows)?)?
            }
        };
        if part.dtype() != dtype {
            return Err(invalid!("Expected values Tensor dtype: {dtype}, found: {}", part.dtype()));
        }
        total = total.saturating_add(part.elements());
        parts.push(part);
    }
    let out = match &parts[..] {
        [one] => one.clone(),
        _ if total == shape.elements() => join(dtype, shape, &parts)?,
        _ => {
            return Err(invalid!(
                "gradients of {total} values do not make dense_values_shape {shape}, with {width} to a row"
            ));
        }
    };
    c.set(0, out);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, floats};

    fn encode(splits: &[&[i64]], values: Tensor, batched: bool) -> Result<Tensor> {
        let mut inputs: Vec<Tensor> = splits.iter().map(|s| Tensor::vector(s).unwrap()).collect();
        inputs.push(values);
        let attrs = [("RAGGED_RANK", (splits.len() as i64).into()), ("batched_input", batched.into())];
        Ok(call("RaggedTensorToVariant", &inputs, &attrs)?.remove(0))
    }

    fn decode(t: Tensor, input: i64, output: i64) -> Result<Vec<Tensor>> {
        let attrs = [
            ("input_ragged_rank", input.into()),
            ("output_ragged_rank", output.into()),
            ("Tvalues", DataType::Float.into()),
        ];
        call("RaggedTensorFromVariant", &[t], &attrs)
    }

    #[test]
    fn ragged_tensors_come_back_whole_and_by_rows() {
        let values = floats(&[4], &[1.0, 2.0, 3.0, 4.0]);
        let splits: [&[i64]; 2] = [&[0, 2, 3], &[0, 1, 3, 4]];
        for (batched, input) in [(false, 2), (true, 1), (true, -1)] {
            let y = decode(encode(&splits, values.clone(), batched).unwrap(), input, 2).unwrap();
            assert_eq!(y[0].as_slice::<i64>().unwrap(), splits[0]);
            assert_eq!(y[1].as_slice::<i64>().unwrap(), splits[1]);
            assert!(y[2].same_bits(&values));
        }
        let rows = encode(&[], floats(&[2, 2], &[1.0, 2.0, 3.0, 4.0]), true).unwrap();
        assert_eq!(decode(rows.clone(), -1, 0).unwrap()[0].shape().dims(), &[2, 2]);
        let flat = decode(rows.clone(), 0, 1).unwrap();
        assert_eq!(flat[0].as_slice::<i64>().unwrap(), &[0, 2, 4]);
        assert_eq!(code(decode(rows.clone(), 1, 2)), Code::InvalidArgument);
        assert_eq!(code(decode(rows, 0, 2)), Code::InvalidArgument);
    }

    #[test]
    fn splits_that_do_not_fit_are_refused() {
        for splits in [&[0i64, 5][..], &[1, 3], &[0, 2, 1, 3], &[], &[0, 2]] {
            for batched in [false, true] {
                let y = encode(&[splits], floats(&[3], &[1.0; 3]), batched);
                assert_eq!(y.unwrap_err().code(), Code::InvalidArgument, "{splits:?}");
            }
        }
        assert_eq!(encode(&[], floats(&[], &[1.0]), true).unwrap_err().code(), Code::InvalidArgument);
    }

    #[test]
    fn missing_gradients_are_zeros() {
        let some = encode(&[], floats(&[2], &[5.0, 6.0]), false).unwrap();
        let some = some.variants().unwrap()[0].clone();
        let both = Tensor::from_objects(Shape::vector(2), vec![some, Variant::default()]).unwrap();
        let splits = Tensor::vector(&[0i64, 2, 3]).unwrap();
        let run = |n: i32| {
            let inputs = [both.clone(), splits.clone(), Tensor::vector(&[n]).unwrap()];
            call("RaggedTensorToVariantGradient", &inputs, &[("Tvalues", DataType::Float.into())])
        };
        assert_eq!(run(3).unwrap()[0].as_slice::<f32>().unwrap(), &[5.0, 6.0, 0.0]);
        assert_eq!(code(run(4)), Code::InvalidArgument);
    }
}
