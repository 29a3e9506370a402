//! `SparseCross`, `SparseCrossV2`, `SparseCrossHashed`: all combinations of the features of a row, joined as text or hashed.

use super::coordinates::example;
use super::cross::{Crosses, Hash, columns};
use crate::prelude::*;
use crate::string::mapped::words;

pub static OPS: &[&Op] = &[&SPARSE_CROSS, &SPARSE_CROSS_V2, &SPARSE_CROSS_HASHED];

const SPARSE_CROSS: Op = Op {
    name: "SparseCross",
    doc: "For each row, every combination of one feature of each input (first the sparse, then the dense), as texts joined by _X_ or as hashes.",
    inputs: &["indices: N * int64", "values: sparse_types", "shapes: N * int64", "dense_inputs: dense_types"],
    outputs: &["output_indices: int64", "output_values: out_type", "output_shape: int64"],
    attrs: &[
        "N: int >= 0",
        "hashed_output: bool",
        "num_buckets: int >= 0",
        "hash_key: int",
        "sparse_types: list({int64, string}) >= 0",
        "dense_types: list({int64, string}) >= 0",
        "out_type: {int64, string}",
        "internal_type: {int64, string}",
    ],
    shape: |_| {
        let rows = [-1, 2].into_iter().collect();
        Ok(vec![rows, PartialShape::vector(-1), PartialShape::vector(2)])
    },
    grad: Stops,
    kernels: cpu!(make prepare),
    cases: |r| {
        let mut case = |out: DataType| {
            mixed_case(r, [])
                .attr("hashed_output", out == DataType::Int64)
                .attr("num_buckets", 1000)
                .attr("hash_key", DEFAULT_KEY)
                .attr("out_type", out)
                .attr("internal_type", DataType::Int64)
        };
        vec![case(DataType::Int64), case(DataType::String)]
    },
    ..Op::PURE
};

const SPARSE_CROSS_V2: Op = Op {
    name: "SparseCrossV2",
    doc: "For each row, every combination of one feature of each input (first the sparse, then the dense), as texts joined by sep.",
    inputs: &[
        "indices: N * int64",
        "values: sparse_types",
        "shapes: N * int64",
        "dense_inputs: dense_types",
        "sep: string",
    ],
    outputs: &["output_indices: int64", "output_values: string", "output_shape: int64"],
    attrs: &[
        "N: int >= 0",
        "sparse_types: list({int64, string}) >= 0",
        "dense_types: list({int64, string}) >= 0",
    ],
    kernels: cpu!(joined),
    cases: |r| vec![mixed_case(r, [Tensor::string("-")])],
    ..SPARSE_CROSS
};

static SPARSE_CROSS_HASHED: Op = Op {
    name: "SparseCrossHashed",
    doc: "For each row, every combination of one feature of each input (first the sparse, then the dense), hashed; strongly with salt as key if asked.",
    inputs: &[
        "indices: N * int64",
        "values: sparse_types",
        "shapes: N * int64",
        "dense_inputs: dense_types",
        "num_buckets: int64",
        "strong_hash: bool",
        "salt: int64",
    ],
    outputs: &["output_indices: int64", "output_values: int64", "output_shape: int64"],
    kernels: cpu!(hashed),
    cases: |r| {
        // Strong hashes of numbers end TensorFlow's process.
        let hash = |buckets: i64, strong: bool| {
            let salt = Tensor::vector(&[7i64, -9]).into_iter();
            [Tensor::scalar(buckets), Tensor::scalar(strong)].into_iter().chain(salt)
        };
        let text = [words(&[2, 1], &["a", "b"])].into_iter().chain(hash(0, true)).collect();
        let strong = Case::new(text)
            .attr("N", 0)
            .attr("sparse_types", Attr::types(&[]))
            .attr("dense_types", Attr::types(&[DataType::String]));
        vec![mixed_case(r, hash(1000, false)), strong]
    },
    ..SPARSE_CROSS_V2
};

/// A sparse and a dense input, then `more`.
fn mixed_case(r: &mut CaseGen, more: impl IntoIterator<Item = Tensor>) -> Case {
    let sparse = example(&[0, 0, 0, 1, 2, 0], words(&[3], &["a", "b", "c"]), &[3, 2]);
    let dense = r.ints(&[3, 2], 0, 9);
    let dense = dense.to_i64s().and_then(|v| Tensor::from_slice(dense.shape().clone(), &v));
    Case::new(sparse.into_iter().chain(dense).chain(more).collect())
        .attr("N", 1)
        .attr("sparse_types", Attr::types(&[DataType::String]))
        .attr("dense_types", Attr::types(&[DataType::Int64]))
}

/// The default hash key of TensorFlow's feature columns.
const DEFAULT_KEY: i64 = 0x00DE_CAFC_AFFE;

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let buckets = node.attrs.int("num_buckets")?;
    if buckets < 0 {
        return Err(invalid!("num_buckets must not be negative, got {buckets}"));
    }
    let key = node.attrs.int("hash_key")? as u64;
    let hashed = node.attrs.dtype("out_type")? == DataType::Int64;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let columns = columns(c)?;
        if columns.is_empty() {
            return Err(invalid!("SparseCross needs at least one input"));
        }
        let found = Crosses::of(&columns)?;
        let values = match hashed {
            true => found.hashes(&columns, Some(key), Hash::Strings, buckets)?,
            false => found.texts(&columns, b"_X_")?,
        };
        output(c, found.places()?, values);
        Ok(())
    }))
}

fn output(c: &mut OpCall<'_>, (indices, shape): (Tensor, Tensor), values: Tensor) {
    c.set(0, indices);
    c.set(1, values);
    c.set(2, shape);
}

/// The input that is argument `arg` of the signature alone.
fn only(c: &OpCall<'_>, arg: usize) -> usize {
    c.arg(arg).start
}

fn joined(c: &mut OpCall<'_>) -> Result<()> {
    let sep = only(c, 4);
    let ([separator], true) = (c.input(sep)?.strings()?, c.shape(sep)?.is_scalar()) else {
        return Err(invalid!("Input separator should be a scalar. Received shape: {}", c.shape(sep)?));
    };
    let columns = columns(c)?;
    let found = Crosses::of(&columns)?;
    let values = found.texts(&columns, separator)?;
    output(c, found.places()?, values);
    Ok(())
}

fn hashed(c: &mut OpCall<'_>) -> Result<()> {
    let (buckets, strong) = (c.scalar::<i64>(only(c, 4))?, c.input(only(c, 5))?.to_scalar::<bool>()?);
    let salt = c.input(only(c, 6))?;
    let &[a, b] = salt.as_slice::<i64>()? else {
        return Err(invalid!("Input \"salt\" must have length 2 but has shape {}", salt.shape()));
    };
    let how = if strong { Hash::Strong([a as u64, b as u64]) } else { Hash::Weak };
    let columns = columns(c)?;
    let found = Crosses::of(&columns)?;
    let values = found.hashes(&columns, None, how, buckets)?;
    output(c, found.places()?, values);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code};

    fn cross(dense: &[Tensor], out: DataType) -> Result<Vec<Tensor>> {
        let types: Vec<DataType> = dense.iter().map(Tensor::dtype).collect();
        call(
            "SparseCross",
            dense,
            &[
                ("N", 0.into()),
                ("hashed_output", (out == DataType::Int64).into()),
                ("num_buckets", 0.into()),
                ("hash_key", super::DEFAULT_KEY.into()),
                ("sparse_types", Attr::types(&[])),
                ("dense_types", Attr::types(&types)),
                ("out_type", out.into()),
                ("internal_type", out.into()),
            ],
        )
    }

    #[test]
    fn combinations_come_with_the_last_input_changing_fastest() {
        let words = crate::string::mapped::words(&[1, 2], &["a", "b"]);
        let numbers = Tensor::from_slice(Shape::new(&[1, 2]).unwrap(), &[7i64, -8]).unwrap();
        let y = cross(&[words, numbers], DataType::String).unwrap();
        let text: Vec<&[u8]> = y[1].strings().unwrap().iter().map(|s| &s[..]).collect();
        assert_eq!(text, [&b"a_X_7"[..], b"a_X_-8", b"b_X_7", b"b_X_-8"]);
        assert_eq!(y[2].as_slice::<i64>().unwrap(), &[1, 4]);
    }

    #[test]
    fn nothing_to_cross_and_rows_that_differ_are_errors() {
        let rows = |n: usize| Tensor::zeros(DataType::Int64, Shape::new(&[n, 1]).unwrap()).unwrap();
        assert_eq!(code(cross(&[], DataType::Int64)), Code::InvalidArgument);
        assert_eq!(code(cross(&[rows(2), rows(3)], DataType::Int64)), Code::InvalidArgument);
        let vector = Tensor::vector(&[1i64]).unwrap();
        assert_eq!(code(cross(&[vector], DataType::Int64)), Code::InvalidArgument);
    }
}
