//! `PaddedBatchDataset`, `PaddedBatchDatasetV2`: elements padded to one shape and stacked.

use super::batch::{Batches, batch_size, batches};
use super::context::Context;
use super::sequence::{DATASET, Dataset, DatasetRef, Iter, Tuple, emit, input};
use crate::moving::Block;
use crate::prelude::*;
use thalweg_math::parallel::Serial;

pub static PADDED_BATCH_DATASET: Op = Op {
    name: "PaddedBatchDataset",
    doc: "As BatchDataset, with elements padded at their ends to one shape.",
    inputs: &[
        "input_dataset: variant",
        "batch_size: int64",
        "padded_shapes: N * int64",
        "padding_values: Toutput_types",
    ],
    attrs: &[
        "Toutput_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "N: int >= 1",
        "metadata: string = ''",
    ],
    kernels: cpu!(run),
    ..DATASET
};

pub static PADDED_BATCH_DATASET_V2: Op = Op {
    name: "PaddedBatchDatasetV2",
    doc: "As BatchDatasetV2, with elements padded at their ends to one shape.",
    inputs: &[
        "input_dataset: variant",
        "batch_size: int64",
        "padded_shapes: N * int64",
        "padding_values: Toutput_types",
        "drop_remainder: bool",
    ],
    attrs: &[
        "parallel_copy: bool = false",
        "Toutput_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "N: int >= 1",
        "metadata: string = ''",
    ],
    ..PADDED_BATCH_DATASET
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let (input, size) = (input(c, 0)?, batch_size(c.scalar(1)?)?);
    let (shapes, values) = (c.arg(2), c.arg(3));
    if shapes.len() != values.len() {
        return Err(invalid!("{} padded shapes for {} padding values", shapes.len(), values.len()));
    }
    let pads: Vec<Pad> = shapes
        .zip(values.clone())
        .map(|(s, v)| Ok(Pad { sizes: c.int_vector(s)?, value: padding(c.input(v)?)? }))
        .collect::<Result<_>>()?;
    for (i, (pad, dtype)) in pads.iter().zip(&input.types).enumerate() {
        if pad.value.dtype() != *dtype {
            return Err(invalid!(
                "Mismatched type between padding value {i} and input dataset's component {i}: {} vs. {dtype}",
                pad.value.dtype()
            ));
        }
    }
    let drop_remainder = match c.arg(4).next() {
        Some(i) => c.scalar(i)?,
        None => false,
    };
    emit(c, &[&input], PaddedBatch { input: input.clone(), size, drop_remainder, pads: pads.into() })
}

fn padding(value: &Tensor) -> Result<Tensor> {
    if value.shape().is_scalar() {
        Ok(value.clone())
    } else {
        Err(invalid!("All padding values must be scalars, got shape {}", value.shape()))
    }
}

struct PaddedBatch {
    input: DatasetRef,
    size: usize,
    drop_remainder: bool,
    pads: Arc<[Pad]>,
}

struct Pad {
    /// Sizes to pad to; -1 for the largest of the batch.
    sizes: Vec<i64>,
    value: Tensor,
}

impl Dataset for PaddedBatch {
    fn iterator(&self, c: &Context) -> Result<Box<dyn Iter>> {
        let pads = self.pads.clone();
        let make =
            move |batch: Vec<Tuple>| pads.iter().enumerate().map(|(i, p)| p.stack(&batch, i)).collect();
        let input = Some(self.input.iterator(c)?);
        Ok(Box::new(Batches { input, size: self.size, drop_remainder: self.drop_remainder, make }))
    }
    fn cardinality(&self) -> i64 {
        batches(self.input.cardinality(), self.size, self.drop_remainder)
    }
}

impl Pad {
    fn stack(&self, batch: &[Tuple], i: usize) -> Result<Tensor> {
        let rows = reserve::collect(batch.iter().filter_map(|t| t.get(i)))?;
        if rows.len() != batch.len() {
            return Err(invalid!("an element has no component {i} to pad"));
        }
        let each = self.size_of(&rows, i)?;
        let shape = Shape::new(&[&[rows.len()], each.dims()].concat())?;
        let mut out = Tensor::uninit(self.value.dtype(), shape)?;
        Block::at(0, 0).dim(out.elements(), 0, 1).copy(&Serial, &self.value, &mut out)?;
        for (n, row) in rows.iter().enumerate() {
            Block::at(0, n * each.elements())
                .part(row.shape(), row.shape(), &each)
                .copy(&Serial, row, &mut out)?;
        }
        Ok(out)
    }

    /// The padded shape of all rows.
    fn size_of(&self, rows: &[&Tensor], i: usize) -> Result<Shape> {
        let mut each: Vec<usize> = self.sizes.iter().map(|s| usize::try_from(*s).unwrap_or(0)).collect();
        for row in rows {
            if row.dtype() != self.value.dtype() {
                return Err(invalid!(
                    "component {i} of an element is {}, its padding {}",
                    row.dtype(),
                    self.value.dtype()
                ));
            }
            if row.rank() != each.len() {
                return Err(invalid!(
                    "All elements in a batch must have the same rank as the padded shape for component{i}: \
                     expected rank {} but got element with rank {}",
                    each.len(),
                    row.rank()
                ));
            }
            for ((size, want), got) in each.iter_mut().zip(&self.sizes).zip(row.shape().iter()) {
                if *want < 0 {
                    *size = (*size).max(*got);
                } else if got > size {
                    return Err(data_loss(format_args!(
                        "Attempted to pad to a smaller size than the input element: {got} to {size} in component {i}."
                    )));
                }
            }
        }
        Shape::new(&each)
    }
}
