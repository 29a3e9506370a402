//! Feature crosses: all combinations of one feature of each input, row by row.

use super::coordinates::matrix;
use crate::prelude::*;
use crate::string::hash::{fingerprint, fingerprint_cat, sip};
use bytes::Bytes;

/// One input: its features, and their range in each row.
pub struct Column<'a> {
    pub features: Features<'a>,
    pub rows: Vec<std::ops::Range<usize>>,
    pub is_sparse: bool,
}

/// How features are hashed: numbers as they are; all; strings with a key.
#[derive(Clone, Copy)]
pub enum Hash {
    Strings,
    Weak,
    Strong([u64; 2]),
}

#[derive(Clone, Copy)]
pub enum Features<'a> {
    Strings(&'a [Bytes]),
    Ints(&'a [i64]),
}

impl Column<'_> {
    /// The hash of a feature.
    pub fn hash(&self, at: usize, how: Hash) -> u64 {
        match (self.features, how) {
            (Features::Strings(all), Hash::Strong(key)) => sip(key, &all[at]),
            (Features::Strings(all), _) => fingerprint(&all[at]),
            // As in TensorFlow, the hash of a sparse number is that of its lower half.
            (Features::Ints(all), Hash::Weak | Hash::Strong(_)) if self.is_sparse => {
                fingerprint(&(all[at] as i32).to_le_bytes())
            }
            (Features::Ints(all), _) => all[at] as u64,
        }
    }

    pub fn text(&self, at: usize) -> Bytes {
        match self.features {
            Features::Strings(all) => all[at].clone(),
            Features::Ints(all) => Bytes::from(all[at].to_string()),
        }
    }
}

pub fn features(values: &Tensor) -> Result<Features<'_>> {
    match values.dtype() {
        DataType::String => Ok(Features::Strings(values.strings()?)),
        _ => Ok(Features::Ints(values.as_slice::<i64>()?)),
    }
}

/// The sparse, then the dense inputs, with equal row counts.
pub fn columns<'a>(c: &'a OpCall<'_>) -> Result<Vec<Column<'a>>> {
    let (indices, values, shapes) = (c.arg(0), c.arg(1), c.arg(2));
    if indices.len() != values.len() {
        return Err(invalid!("Expected {} values, got {}", indices.len(), values.len()));
    }
    let sparse = indices.zip(values).zip(shapes).map(|((i, v), s)| sparse_column(c, i, v, s));
    let dense = c.arg(3).map(|i| dense_column(c.input(i)?));
    let all: Vec<Column<'a>> = sparse.chain(dense).collect::<Result<_>>()?;
    check_rows(&all)?;
    Ok(all)
}

/// That all columns have as many rows; returns how many.
pub fn check_rows(all: &[Column<'_>]) -> Result<usize> {
    let rows = all.first().map_or(0, |column| column.rows.len());
    match all.iter().position(|column| column.rows.len() != rows) {
        Some(i) => Err(invalid!("Expected batch size {rows} got {} at input {i}", all[i].rows.len())),
        None => Ok(rows),
    }
}

/// A matrix: its rows are those of the column.
pub fn dense_column(t: &Tensor) -> Result<Column<'_>> {
    let [rows, width] = *t.shape().dims() else {
        return Err(invalid!("Dense inputs should be a matrix but received shape {}", t.shape()));
    };
    let ranges = reserve::collect((0..rows).map(|r| r * width..(r + 1) * width))?;
    Ok(Column { features: features(t)?, rows: ranges, is_sparse: false })
}

pub fn sparse_column<'a>(
    c: &'a OpCall<'_>,
    indices: usize,
    values: usize,
    shape: usize,
) -> Result<Column<'a>> {
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
    Ok(Column { features: features(of)?, rows: ranges, is_sparse: true })
}

/// The combinations found.
pub struct Crosses {
    /// How many each row has.
    pub counts: Vec<usize>,
    /// For each combination, a feature of each column.
    picks: Vec<usize>,
    width: usize,
}

impl Crosses {
    pub fn of(columns: &[Column<'_>]) -> Result<Crosses> {
        let rows = check_rows(columns)?;
        let counts = reserve::with_capacity(rows)?;
        let mut found = Crosses { counts, picks: Vec::new(), width: columns.len() };
        (0..rows).try_for_each(|row| found.add_row(columns, row))?;
        Ok(found)
    }

    /// All combinations of a row; the last column changes fastest.
    fn add_row(&mut self, columns: &[Column<'_>], row: usize) -> Result<()> {
        let sizes = columns.iter().map(|column| column.rows[row].len());
        let count = sizes.clone().try_fold(1usize, |n, size| n.checked_mul(size));
        let count = count.filter(|n| n.checked_mul(self.width.max(2)).is_some());
        let count = count.ok_or_else(|| resource_exhausted("a row has too many combinations"))?;
        reserve::room(&mut self.picks, count * self.width)?;
        self.counts.push(count);
        let mut pick: Vec<usize> = columns.iter().map(|column| column.rows[row].start).collect();
        for _ in 0..count {
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

    /// Row and number of each combination, and the shape around them.
    pub fn places(&self) -> Result<(Tensor, Tensor)> {
        let total = self.picks.len() / self.width.max(1);
        let mut at = reserve::with_capacity(total.saturating_mul(2))?;
        for (row, count) in self.counts.iter().enumerate() {
            (0..*count).for_each(|number| at.extend([row as i64, number as i64]));
        }
        let most = self.counts.iter().max().copied().unwrap_or(0);
        Ok((matrix(total, 2, &at)?, Tensor::vector(&[self.counts.len() as i64, most as i64])?))
    }

    /// A hash of each combination: that of the features, appended to one another and to `first`.
    pub fn hashes(
        &self,
        columns: &[Column<'_>],
        first: Option<u64>,
        how: Hash,
        buckets: i64,
    ) -> Result<Tensor> {
        // Without buckets, hashes drop a bit, to be non-negative.
        let modulus = if buckets > 0 { buckets } else { i64::MAX } as u64;
        let hash = |pick: &[usize]| {
            let each = columns.iter().zip(pick).map(|(c, at)| c.hash(*at, how));
            let mixed = first.into_iter().chain(each).reduce(fingerprint_cat).unwrap_or(0);
            (mixed % modulus) as i64
        };
        Tensor::vector(&reserve::collect(self.each().map(hash))?)
    }

    /// The features of each combination as text, joined.
    pub fn texts(&self, columns: &[Column<'_>], separator: &[u8]) -> Result<Tensor> {
        let join = |pick: &[usize]| {
            let parts: Vec<Bytes> = columns.iter().zip(pick).map(|(c, at)| c.text(*at)).collect();
            Ok(Bytes::from(reserve::join(parts.iter().map(|p| &p[..]), separator)?))
        };
        let all: Vec<Bytes> = reserve::try_collect(self.each().map(join))?;
        Tensor::from_objects(Shape::vector(all.len()), all)
    }

    fn each(&self) -> impl Iterator<Item = &[usize]> {
        self.picks.chunks_exact(self.width.max(1))
    }
}
