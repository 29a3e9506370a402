//! `SparseCross`: all combinations of the features of a row, joined as text or hashed.

use super::coordinates::{example, matrix};
use crate::prelude::*;
use crate::string::hash::{fingerprint, fingerprint_cat};
use crate::string::mapped::words;
use bytes::Bytes;

pub static SPARSE_CROSS: Op = Op {
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
            let sparse = example(&[0, 0, 0, 1, 2, 0], words(&[3], &["a", "b", "c"]), &[3, 2]);
            let dense = r.ints(&[3, 2], 0, 9);
            let dense = dense.to_i64s().and_then(|v| Tensor::from_slice(dense.shape().clone(), &v));
            Case::new(sparse.into_iter().chain(dense).collect())
                .attr("N", 1)
                .attr("hashed_output", out == DataType::Int64)
                .attr("num_buckets", 1000)
                .attr("hash_key", DEFAULT_KEY)
                .attr("sparse_types", Attr::types(&[DataType::String]))
                .attr("dense_types", Attr::types(&[DataType::Int64]))
                .attr("out_type", out)
                .attr("internal_type", DataType::Int64)
        };
        vec![case(DataType::Int64), case(DataType::String)]
    },
    ..Op::PURE
};

/// The default hash key of TensorFlow's feature columns.
const DEFAULT_KEY: i64 = 0x00DE_CAFC_AFFE;

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let buckets = node.attrs.int("num_buckets")?;
    // Without buckets, hashes drop a bit, to be non-negative.
    let modulus = u64::try_from(if buckets > 0 { buckets } else { i64::MAX })
        .map_err(|_| invalid!("num_buckets must not be negative, got {buckets}"))?;
    let key = node.attrs.int("hash_key")? as u64;
    let hashed = node.attrs.dtype("out_type")? == DataType::Int64;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let columns = columns(c)?;
        let rows = columns.first().map(|column| column.rows.len());
        let rows = rows.ok_or_else(|| invalid!("SparseCross needs at least one input"))?;
        let mut found = Crosses { at: Vec::new(), most: 0, picks: Vec::new(), width: columns.len() };
        (0..rows).try_for_each(|row| found.add_row(&columns, row))?;
        let count = Shape::vector(found.at.len() / 2);
        let values = if hashed {
            let hash = |pick: &[usize]| {
                let mixed = columns.iter().zip(pick).fold(key, |h, (c, at)| fingerprint_cat(h, c.hash(*at)));
                (mixed % modulus) as i64
            };
            Tensor::from_slice(count, &reserve::collect(found.each().map(hash))?)?
        } else {
            let join = |pick: &[usize]| {
                let parts: Vec<Bytes> = columns.iter().zip(pick).map(|(c, at)| c.text(*at)).collect();
                Ok(Bytes::from(reserve::join(parts.iter().map(|p| &p[..]), b"_X_")?))
            };
            Tensor::from_objects(count, reserve::try_collect(found.each().map(join))?)?
        };
        c.set(0, matrix(found.at.len() / 2, 2, &found.at)?);
        c.set(1, values);
        c.set(2, Tensor::vector(&[rows as i64, found.most as i64])?);
        Ok(())
    }))
}

/// One input: its features, and their range in each row.
struct Column<'a> {
    features: Features<'a>,
    rows: Vec<std::ops::Range<usize>>,
}

enum Features<'a> {
    Strings(&'a [Bytes]),
    Ints(&'a [i64]),
}

impl Column<'_> {
    fn hash(&self, at: usize) -> u64 {
        match self.features {
            Features::Strings(all) => fingerprint(&all[at]),
            Features::Ints(all) => all[at] as u64,
        }
    }

    fn text(&self, at: usize) -> Bytes {
        match self.features {
            Features::Strings(all) => all[at].clone(),
            Features::Ints(all) => Bytes::from(all[at].to_string()),
        }
    }
}

fn features(values: &Tensor) -> Result<Features<'_>> {
    match values.dtype() {
        DataType::String => Ok(Features::Strings(values.strings()?)),
        _ => Ok(Features::Ints(values.as_slice::<i64>()?)),
    }
}

/// The sparse, then the dense inputs, with equal row counts.
fn columns<'a>(c: &'a OpCall<'_>) -> Result<Vec<Column<'a>>> {
    let (indices, values, shapes) = (c.arg(0), c.arg(1), c.arg(2));
    if indices.len() != values.len() {
        return Err(invalid!("Expected {} values, got {}", indices.len(), values.len()));
    }
    let sparse = indices.zip(values).zip(shapes).map(|((i, v), s)| sparse_column(c, i, v, s));
    let dense = c.arg(3).map(|i| {
        let t = c.input(i)?;
        let [rows, width] = *t.shape().dims() else {
            return Err(invalid!("Dense inputs should be a matrix but received shape {}", t.shape()));
        };
        let ranges = reserve::collect((0..rows).map(|r| r * width..(r + 1) * width))?;
        Ok(Column { features: features(t)?, rows: ranges })
    });
    let all: Vec<Column<'a>> = sparse.chain(dense).collect::<Result<_>>()?;
    let rows = all.first().map_or(0, |column| column.rows.len());
    match all.iter().position(|column| column.rows.len() != rows) {
        Some(i) => Err(invalid!("Expected batch size {rows} got {} at input {i}", all[i].rows.len())),
        None => Ok(all),
    }
}

fn sparse_column<'a>(c: &'a OpCall<'_>, indices: usize, values: usize, shape: usize) -> Result<Column<'a>> {
    let (at, of, dims) = (c.input(indices)?, c.input(values)?, c.int_vector(shape)?);
    let [rows, _] = dims[..] else {
        return Err(invalid!("Shape should have two elements but received {}", dims.len()));
    };
    if of.rank() != 1 || at.shape().dims() != [of.elements(), 2] {
        return Err(invalid!(
            "Expected a matrix of two indices for each of a vector of values, got shapes {} and {}",
            at.shape(),
            of.shape()
        ));
    }
    let rows = usize::try_from(rows).map_err(|_| invalid!("a shape has {rows} rows"))?;
    let at = at.as_slice::<i64>()?;
    // Features are sorted by row; those after one out of order are ignored.
    let mut seen = 0;
    let mut ranges = reserve::with_capacity(rows)?;
    for row in 0..rows {
        let start = seen;
        while at.get(seen * 2) == Some(&(row as i64)) {
            seen += 1;
        }
        ranges.push(start..seen);
    }
    Ok(Column { features: features(of)?, rows: ranges })
}

/// The combinations found so far.
struct Crosses {
    /// Row and column of each.
    at: Vec<i64>,
    /// The largest number of combinations in a row.
    most: usize,
    /// For each combination, a feature of each column.
    picks: Vec<usize>,
    width: usize,
}

impl Crosses {
    /// All combinations of a row; the last column changes fastest.
    fn add_row(&mut self, columns: &[Column<'_>], row: usize) -> Result<()> {
        let sizes = columns.iter().map(|column| column.rows[row].len());
        let count = sizes.clone().try_fold(1usize, |n, size| n.checked_mul(size));
        let count = count.filter(|n| n.checked_mul(self.width.max(2)).is_some());
        let count = count.ok_or_else(|| resource_exhausted("a row has too many combinations"))?;
        reserve::room(&mut self.at, count * 2)?;
        reserve::room(&mut self.picks, count * self.width)?;
        self.most = self.most.max(count);
        let mut pick: Vec<usize> = columns.iter().map(|column| column.rows[row].start).collect();
        for number in 0..count {
            self.at.extend([row as i64, number as i64]);
            self.picks.extend_from_slice(&pick);
            for (at, column) in pick.iter_mut().zip(columns).rev() {
                *at += 1;
                if *at < column.rows[row].end {
                    break;
                }
                *at = column.rows[row].start;
            }
        }
        Ok(())
    }

    fn each(&self) -> impl Iterator<Item = &[usize]> {
        self.picks.chunks_exact(self.width)
    }
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
