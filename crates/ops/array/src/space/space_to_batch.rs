//! `SpaceToBatchND`, `BatchToSpaceND`, `SpaceToBatch`, `BatchToSpace`: spatial blocks moved to the batch dimension; inverse.

use crate::moving::Block;
use crate::paddings::{padded_size, paddings};
use crate::prelude::*;
use crate::strides::steps_inside;
use thalweg_math::parallel::Parallel;

pub static SPACE_TO_BATCH_ND: Op = Op {
    name: "SpaceToBatchND",
    doc: "Pads the dimensions after the first, splits them into blocks, and moves the positions in a block to the batch dimension.",
    inputs: &["input: T", "block_shape: Tblock_shape", "paddings: Tpaddings"],
    outputs: &["output: T"],
    attrs: &["T: type", "Tblock_shape: {int32, int64} = DT_INT32", "Tpaddings: {int32, int64} = DT_INT32"],
    shape: |c| shape_nd(c, Direction::ToBatch),
    grad: Rule(|g| other_nd(g, "BatchToSpaceND")),
    kernels: cpu!(to_batch_nd),
    cases: |r| {
        vec![
            case(r.tensor(&[1, 4, 2, 1]), &[2, 2], &[0, 0, 0, 0]),
            case(r.tensor(&[2, 3, 2]), &[2], &[1, 2]),
            case(r.tensor(&[2, 3, 3]), &[2, 3], &[1, 0, 2, 1]),
        ]
    },
    host_inputs: &["block_shape", "paddings"],
    ..Op::PURE
};

pub static BATCH_TO_SPACE_ND: Op = Op {
    name: "BatchToSpaceND",
    doc: "The reverse of SpaceToBatchND: moves batches back into blocks, and crops.",
    inputs: &["input: T", "block_shape: Tblock_shape", "crops: Tcrops"],
    attrs: &["T: type", "Tblock_shape: {int32, int64} = DT_INT32", "Tcrops: {int32, int64} = DT_INT32"],
    shape: |c| shape_nd(c, Direction::ToSpace),
    grad: Rule(|g| other_nd(g, "SpaceToBatchND")),
    kernels: cpu!(to_space_nd),
    cases: |r| {
        vec![
            case(r.tensor(&[4, 2, 1, 1]), &[2, 2], &[0, 0, 0, 0]),
            case(r.tensor(&[4, 3, 2]), &[2], &[1, 2]),
            case(r.tensor(&[12, 2, 2]), &[2, 3], &[1, 0, 2, 1]),
        ]
    },
    host_inputs: &["block_shape", "crops"],
    ..SPACE_TO_BATCH_ND
};

pub static SPACE_TO_BATCH: Op = Op {
    name: "SpaceToBatch",
    doc: "SpaceToBatchND for images and square blocks.",
    inputs: &["input: T", "paddings: Tpaddings"],
    attrs: &["T: type", "Tpaddings: {int32, int64} = DT_INT32", "block_size: int >= 2"],
    shape: |c| shape_square(c, Direction::ToBatch),
    grad: Rule(|g| other_square(g, "BatchToSpace")),
    kernels: cpu!(make prepare_to_batch),
    cases: |r| square_cases(r.tensor(&[1, 3, 4, 2]), &[0, 1, 1, 1]),
    host_inputs: &["paddings"],
    ..SPACE_TO_BATCH_ND
};

pub static BATCH_TO_SPACE: Op = Op {
    name: "BatchToSpace",
    doc: "BatchToSpaceND for images and square blocks.",
    inputs: &["input: T", "crops: Tidx"],
    attrs: &["T: type", "block_size: int >= 2", "Tidx: {int32, int64} = DT_INT32"],
    shape: |c| shape_square(c, Direction::ToSpace),
    grad: Rule(|g| other_square(g, "SpaceToBatch")),
    kernels: cpu!(make prepare_to_space),
    cases: |r| square_cases(r.tensor(&[4, 2, 3, 2]), &[0, 1, 1, 1]),
    host_inputs: &["crops"],
    ..SPACE_TO_BATCH_ND
};

fn case(x: Tensor, block: &[i32], paddings: &[i32]) -> Case {
    let rows = int_vector(paddings).reshape(Shape::new(&[block.len(), 2]).unwrap_or_default());
    Case::new(vec![x, int_vector(block)].into_iter().chain(rows).collect())
}

fn square_cases(x: Tensor, paddings: &[i32]) -> Vec<Case> {
    let rows = int_vector(paddings).reshape(Shape::new(&[2, 2]).unwrap_or_default()).into_iter();
    rows.map(|p| Case::new(vec![x.clone(), p]).attr("block_size", 2)).collect()
}

#[derive(Clone, Copy, PartialEq)]
enum Direction {
    ToBatch,
    ToSpace,
}

fn shape_nd(c: &ShapeCall<'_>, direction: Direction) -> Result<Vec<PartialShape>> {
    let n = c.rank(1, 1)?.dim(0);
    let rows = c.rank(2, 2)?;
    merge_dim(n, rows.dim(0))?;
    merge_dim(2, rows.dim(1))?;
    let blocks = c.ints(1);
    let n = if n < 0 { blocks.as_ref().map_or(0, Vec::len) } else { n as usize };
    let x = c.rank_at_least(0, n + 1)?;
    infer(&x, blocks, c.ints(2), direction)
}

fn shape_square(c: &ShapeCall<'_>, direction: Direction) -> Result<Vec<PartialShape>> {
    let rows = c.rank(1, 2)?;
    merge_dim(2, rows.dim(0))?;
    merge_dim(2, rows.dim(1))?;
    let block = c.attrs.int("block_size")?;
    infer(&c.rank(0, 4)?, Some(vec![block; 2]), c.ints(1), direction)
}

fn infer(
    x: &PartialShape,
    blocks: Option<Vec<i64>>,
    rows: Option<Vec<i64>>,
    direction: Direction,
) -> Result<Vec<PartialShape>> {
    let Some(dims) = x.dims() else { return Ok(vec![PartialShape::unknown()]) };
    let Some(blocks) = blocks else { return Ok(vec![PartialShape::unknown_of_rank(dims.len())]) };
    let product = block_elements(&blocks)? as i64;
    let rows = rows.map(|rows| paddings(&rows, blocks.len())).transpose()?;
    let mut out = dims.to_vec();
    if dims[0] >= 0 {
        out[0] = batch_size(dims[0] as usize, product as usize, direction)? as i64;
    }
    for (i, block) in blocks.iter().enumerate() {
        out[i + 1] = match (&rows, dims[i + 1]) {
            (Some(rows), d @ 0..) => space_size(d as usize, *block as usize, rows[i], direction)? as i64,
            _ => -1,
        };
    }
    Ok(vec![out.into_iter().collect()])
}

/// Elements in a block.
fn block_elements(blocks: &[i64]) -> Result<usize> {
    if let Some(b) = blocks.iter().find(|b| **b < 1) {
        return Err(invalid!("All values in block_shape must be positive, got value, {b}"));
    }
    Ok(Shape::from_i64(blocks)?.elements())
}

fn batch_size(batch: usize, places: usize, direction: Direction) -> Result<usize> {
    match direction {
        Direction::ToBatch => batch
            .checked_mul(places)
            .ok_or_else(|| invalid!("a batch of {batch} times {places} is too large")),
        Direction::ToSpace if batch.is_multiple_of(places) => Ok(batch / places),
        Direction::ToSpace => Err(invalid!(
            "Input batch dimension ({batch}) is not divisible by product of block sizes ({places})"
        )),
    }
}

fn space_size(
    size: usize,
    block: usize,
    (before, after): (usize, usize),
    direction: Direction,
) -> Result<usize> {
    match direction {
        Direction::ToBatch => {
            let padded = padded_size(size, before, after)?;
            if padded % block != 0 {
                return Err(invalid!("padded_shape={padded} is not divisible by block_shape={block}"));
            }
            Ok(padded / block)
        }
        Direction::ToSpace => {
            size.checked_mul(block).and_then(|n| n.checked_sub(before)?.checked_sub(after)).ok_or_else(|| {
                invalid!("cropped size of {size} * {block} - {before} - {after} must be non-negative")
            })
        }
    }
}

fn other_nd(g: &mut GradCall<'_>, op: &str) -> Result<Vec<Grad>> {
    let (block, rows, dy) = (g.x[1], g.x[2], g.dy()?);
    let dx = g.op(op, [dy.into(), block.into(), rows.into()], &[])?;
    Ok(vec![dx.into(), Grad::None, Grad::None])
}

fn other_square(g: &mut GradCall<'_>, op: &str) -> Result<Vec<Grad>> {
    let (rows, dy, block) = (g.x[1], g.dy()?, g.attrs.int("block_size")?);
    let dx = g.op(op, [dy.into(), rows.into()], &[("block_size", block.into())])?;
    Ok(vec![dx.into(), Grad::None])
}

fn to_batch_nd(c: &mut OpCall<'_>) -> Result<()> {
    run_nd(c, Direction::ToBatch)
}

fn to_space_nd(c: &mut OpCall<'_>) -> Result<()> {
    run_nd(c, Direction::ToSpace)
}

fn run_nd(c: &mut OpCall<'_>, direction: Direction) -> Result<()> {
    let blocks = c.int_vector(1)?;
    let out = moved(c, &blocks, 2, direction)?;
    c.set(0, out);
    Ok(())
}

fn prepare_to_batch(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    prepare(node, Direction::ToBatch)
}

fn prepare_to_space(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    prepare(node, Direction::ToSpace)
}

fn prepare(node: &KernelNode, direction: Direction) -> Result<Box<dyn Kernel>> {
    let block = node.attrs.int("block_size")?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        if c.shape(0)?.rank() != 4 {
            return Err(invalid!("Input rank should be: 4 instead of: {}", c.shape(0)?.rank()));
        }
        let out = moved(c, &[block; 2], 1, direction)?;
        c.set(0, out);
        Ok(())
    }))
}

/// The result; paddings or crops are input `rows`.
fn moved(c: &OpCall<'_>, blocks: &[i64], rows: usize, direction: Direction) -> Result<Tensor> {
    let (x, rows) = (c.input(0)?, c.input(rows)?);
    if x.rank() < blocks.len() + 1 {
        return Err(invalid!("input rank should be >= {} instead of {}", blocks.len() + 1, x.rank()));
    }
    if rows.shape().dims() != [blocks.len(), 2] {
        return Err(invalid!(
            "paddings or crops should have shape [{}, 2] instead of {}",
            blocks.len(),
            rows.shape()
        ));
    }
    let rows = paddings(&rows.to_i64s()?, blocks.len())?;
    let places = block_elements(blocks)?;
    let blocks: Vec<usize> = blocks.iter().map(|b| *b as usize).collect();
    let mut dims = x.shape().to_vec();
    dims[0] = batch_size(dims[0], places, direction)?;
    for (i, block) in blocks.iter().enumerate() {
        dims[i + 1] = space_size(dims[i + 1], *block, rows[i], direction)?;
    }
    let mut out = Tensor::zeros(x.dtype(), Shape::new(&dims)?)?;
    if out.elements() == 0 || x.elements() == 0 {
        return Ok(out);
    }
    let (space, batch) = match direction {
        Direction::ToBatch => (x.shape().clone(), out.shape().clone()),
        Direction::ToSpace => (out.shape().clone(), x.shape().clone()),
    };
    let grid =
        Grid { space: &space, batch: &batch, blocks: &blocks, before: rows.iter().map(|r| r.0).collect() };
    for place in 0..places {
        grid.copy(place, direction, c.par(), x, &mut out)?;
    }
    Ok(out)
}

/// The two layouts: `space` is not padded, `batch` has a batch per position in a block.
struct Grid<'a> {
    space: &'a Shape,
    batch: &'a Shape,
    blocks: &'a [usize],
    before: Vec<usize>,
}

impl Grid<'_> {
    /// Copies the elements at one position of all blocks.
    fn copy(
        &self,
        place: usize,
        direction: Direction,
        par: &dyn Parallel,
        x: &Tensor,
        out: &mut Tensor,
    ) -> Result<()> {
        let (wide, narrow) = (self.space.strides(), self.batch.strides());
        let mut in_block = vec![0; self.blocks.len()];
        let mut rest = place;
        for (i, block) in self.blocks.iter().enumerate().rev() {
            in_block[i] = rest % block;
            rest /= block;
        }
        // Count, stride in space, stride in batch layout.
        let mut dims = vec![(self.space[0], wide[0], narrow[0])];
        let (mut at, mut slot) = (0, place * self.space[0] * narrow[0]);
        for (i, block) in self.blocks.iter().enumerate() {
            let d = i + 1;
            let start = in_block[i] as isize - self.before[i] as isize;
            let (first, count) = steps_inside(self.batch[d], start, *block, self.space[d]);
            if count == 0 {
                return Ok(());
            }
            at += (start + (first * block) as isize) as usize * wide[d];
            slot += first * narrow[d];
            dims.push((count, block * wide[d], narrow[d]));
        }
        dims.extend((dims.len()..self.space.rank()).map(|d| (self.space[d], wide[d], narrow[d])));
        let mut copy =
            if direction == Direction::ToBatch { Block::at(at, slot) } else { Block::at(slot, at) };
        for (count, space, batch) in dims {
            copy = match direction {
                Direction::ToBatch => copy.dim(count, space as isize, batch as isize),
                Direction::ToSpace => copy.dim(count, batch as isize, space as isize),
            };
        }
        copy.copy(par, x, out)
    }
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, floats, ints};

    #[test]
    fn blocks_that_do_not_fit_are_refused() {
        let run = |op: &str, dims: &[usize], block: &[i32], rows: &[i32]| {
            let x = floats(dims, &vec![1.0; dims.iter().product()]);
            call(op, &[x, ints(&[block.len()], block), ints(&[rows.len() / 2, 2], rows)], &[])
        };
        for op in ["SpaceToBatchND", "BatchToSpaceND"] {
            assert_eq!(code(run(op, &[1, 3], &[2], &[0, 0])), Code::InvalidArgument);
            assert_eq!(code(run(op, &[1, 3], &[0], &[0, 0])), Code::InvalidArgument);
            assert_eq!(code(run(op, &[1, 3], &[-1], &[0, 0])), Code::InvalidArgument);
            assert_eq!(code(run(op, &[1, 3], &[1], &[-1, 0])), Code::InvalidArgument);
            assert_eq!(code(run(op, &[1, 3], &[1, 1], &[0; 4])), Code::InvalidArgument);
            assert_eq!(code(run(op, &[1, 3], &[1], &[0; 4])), Code::InvalidArgument);
        }
        assert_eq!(code(run("BatchToSpaceND", &[2, 3], &[2], &[4, 3])), Code::InvalidArgument);
        let most = i32::MAX;
        let r = run("SpaceToBatchND", &[1, 0, 0], &[most, most], &[0, most, 0, most]);
        assert_eq!(code(r), Code::ResourceExhausted);
    }
}
