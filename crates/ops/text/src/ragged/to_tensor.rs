//! `RaggedTensorToTensor`: a ragged tensor padded, or cut, to a dense one.

use crate::moving::{Block, Scatter, apply};
use crate::prelude::*;

pub static OPS: &[&Op] = &[&RAGGED_TENSOR_TO_TENSOR];

static RAGGED_TENSOR_TO_TENSOR: Op = Op {
    name: "RaggedTensorToTensor",
    doc: "A ragged tensor as a dense one of `shape` (-1: as large as needed), with default_value where there is no value.",
    inputs: &[
        "shape: Tshape",
        "values: T",
        "default_value: T",
        "row_partition_tensors: num_row_partition_tensors * Tindex",
    ],
    outputs: &["result: T"],
    attrs: &[
        "T: type",
        "Tindex: {int64, int32}",
        "Tshape: {int64, int32}",
        "num_row_partition_tensors: int >= 1",
        "row_partition_types: list(string)",
    ],
    shape: |c| {
        let kinds = kinds_of(c.attrs)?;
        let ragged = ragged_rank(&kinds);
        let (values, asked) = (c.input(1), c.constant(0));
        let mut dims = match values.dims() {
            Some([_, inner @ ..]) => [&vec![-1; ragged + 1][..], inner].concat(),
            Some([]) => return Err(invalid!("rt_input.flat_values must have at least one dimension")),
            None => return Ok(vec![PartialShape::unknown()]),
        };
        if let Some(asked) = asked.filter(|t| t.rank() == 1) {
            complete(&mut dims, &asked.to_i64s()?)?;
        }
        Ok(vec![dims.into_iter().collect()])
    },
    grad: Rule(grad),
    kernels: cpu!(make prepare),
    cases: |r| {
        let splits = |v: &[i64]| Tensor::vector(v).into_iter();
        let mut cases = Vec::new();
        for asked in [Tensor::vector(&[-1i64, -1]), Tensor::vector(&[2i64, 1]), Tensor::vector(&[4i64, 3])] {
            let inputs =
                asked.into_iter().chain([r.tensor(&[3]), r.tensor(&[])]).chain(splits(&[0, 2, 2, 3]));
            cases.push(
                Case::new(inputs.collect())
                    .attr("num_row_partition_tensors", 1)
                    .attr("row_partition_types", types(&["ROW_SPLITS"])),
            );
        }
        let any = [Tensor::scalar(-1i64), r.tensor(&[3, 2]), r.tensor(&[2]), Tensor::scalar(2i64)];
        let inputs = any.into_iter().chain(splits(&[0, 1, 1])).chain(splits(&[0, 0, 2]));
        cases.push(
            Case::new(inputs.collect())
                .attr("num_row_partition_tensors", 3)
                .attr("row_partition_types", types(&["FIRST_DIM_SIZE", "VALUE_ROWIDS", "VALUE_ROWIDS"])),
        );
        cases
    },
    host_inputs: &["shape"],
    ..Op::PURE
};

fn types(names: &[&str]) -> Attr {
    Attr::List(names.iter().map(|n| Attr::str(n)).collect())
}

/// How a dimension is partitioned into rows.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    FirstDimSize,
    ValueRowids,
    RowSplits,
}

fn kinds_of(attrs: &Attrs) -> Result<Vec<Kind>> {
    let kind = |name: &bytes::Bytes| match &name[..] {
        b"FIRST_DIM_SIZE" => Ok(Kind::FirstDimSize),
        b"VALUE_ROWIDS" => Ok(Kind::ValueRowids),
        b"ROW_SPLITS" => Ok(Kind::RowSplits),
        other => Err(invalid!("Unknown string for partition info type: {}", other.escape_ascii())),
    };
    attrs.strs("row_partition_types")?.into_iter().map(kind).collect()
}

fn ragged_rank(kinds: &[Kind]) -> usize {
    kinds.len() - usize::from(kinds.first() == Some(&Kind::FirstDimSize))
}

/// Enters the sizes asked for, -1 for any.
fn complete(dims: &mut [i64], asked: &[i64]) -> Result<()> {
    if asked.len() != dims.len() {
        return Err(invalid!(
            "rt_input.shape and shape={asked:?} are incompatible: rt_input.rank = {} but shape.rank = {}",
            dims.len(),
            asked.len()
        ));
    }
    for (d, (n, asked)) in dims.iter_mut().zip(asked).enumerate() {
        if *asked < -1 {
            return Err(invalid!("Dimension {asked} must be >= -1"));
        }
        if *n >= 0 && *asked >= 0 && n != asked {
            return Err(invalid!(
                "rt_input.shape and shape are incompatible: rt_input.shape[{d}] = {n} but shape[{d}] = {asked}"
            ));
        }
        *n = (*n).max(*asked);
    }
    Ok(())
}

/// Values get the gradient where they went, the default value the sum of the rest.
fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (values, default, dy) = (g.x[1], g.x[2], g.dy()?);
    let (parts, kinds) = (g.x[3..].to_vec(), kinds_of(g.attrs)?);
    let (zero, one) = (g.constant(Tensor::scalar(0i32))?, g.constant(Tensor::scalar(1i32))?);
    let minus = g.constant(Tensor::scalar(-1i32))?;
    let start = g.constant(int_vector(&[0]))?;
    let shape = g.shape_of(values)?;
    let rows = g.op("GatherV2", [shape.into(), zero.into(), zero.into()], &[])?;
    let positions = g.op("Range", [zero.into(), rows.into(), one.into()], &[])?;
    // Which value went where; -1 where none did.
    let all = g.shape_of(dy)?;
    let outer = g.constant(int_vector(&[ragged_rank(&kinds) as i32 + 1]))?;
    let outer = g.op("Slice", [all.into(), start.into(), outer.into()], &[])?;
    let names: Vec<(&'static str, Attr)> = ["num_row_partition_tensors", "row_partition_types"]
        .into_iter()
        .filter_map(|n| Some((n, g.attrs.get(n)?.clone())))
        .collect();
    let args = [outer.into(), positions.into(), minus.into(), parts.into()];
    let from = g.op("RaggedTensorToTensor", args, &names)?;
    let (here, flat) = (g.binary("NotEqual", from, minus)?, g.constant(int_vector(&[-1]))?);
    // Rows of dy, one for each place.
    let first = g.constant(int_vector(&[1]))?;
    let inner = g.op("Slice", [shape.into(), first.into(), flat.into()], &[])?;
    let wide = g.op("ConcatV2", [vec![flat, inner].into(), zero.into()], &[])?;
    let (dy, here) = (g.binary("Reshape", dy, wide)?, g.binary("Reshape", here, flat)?);
    let from = g.binary("Reshape", from, flat)?;
    let chosen = |g: &mut GradCall<'_>, mask: Output, of: Output| -> Result<Output> {
        let at = g.unary("Where", mask)?;
        let at = g.binary("Reshape", at, flat)?;
        g.op("GatherV2", [of.into(), at.into(), zero.into()], &[])
    };
    let (dvalues, indices) = (chosen(g, here, dy)?, chosen(g, here, from)?);
    let rest = g.unary("LogicalNot", here)?;
    let rest = chosen(g, rest, dy)?;
    let rest = g.op("Sum", [rest.into(), zero.into()], &[])?;
    // The default value was broadcast to the rows of the values.
    let (to, broadcast) = (g.shape_of(default)?, g.shape_of(rest)?);
    let axes = g.op("BroadcastGradientArgs", [to.into(), broadcast.into()], &[])?;
    let rest = g.binary("Sum", rest, axes)?;
    let ddefault = g.binary("Reshape", rest, to)?;
    let slices = Grad::Slices { values: dvalues, indices, dense_shape: shape };
    let mut all = vec![Grad::None, slices, ddefault.into()];
    all.resize(g.x.len(), Grad::None);
    Ok(all)
}

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let kinds = kinds_of(&node.attrs)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| run(c, &kinds)))
}

fn run(c: &mut OpCall<'_>, kinds: &[Kind]) -> Result<()> {
    if kinds.len() != c.arg(3).len() {
        return Err(invalid!("{} partition types for {} row_partition_tensors", kinds.len(), c.arg(3).len()));
    }
    let (values, default) = (c.input(1)?, c.input(2)?);
    check_default(values, default)?;
    let parts = c.arg(3).map(|i| c.input(i)?.to_i64s());
    let parts: Vec<Vec<i64>> = reserve::try_collect(parts)?;
    let first = first_size(kinds, &parts)?;
    let skip = usize::from(kinds.first() == Some(&Kind::FirstDimSize));
    let ragged: Vec<(Kind, &[i64])> =
        kinds.iter().zip(&parts).skip(skip).map(|(k, p)| (*k, &p[..])).collect();
    let shape = output_shape(c, values, first, &ragged)?;
    let places = places(first, &ragged, &shape)?;
    if places.len() > values.shape()[0] {
        return Err(invalid!(
            "the row partitions need {} values, but there are only {}",
            places.len(),
            values.shape()[0]
        ));
    }
    let run = values.shape()[1..].iter().product();
    let mut out = Tensor::uninit(values.dtype(), shape)?;
    Block::broadcast(default.shape(), out.shape()).copy(c.par(), default, &mut out)?;
    apply(&Scatter { run, places: &places, one_for_all: false }, values, &mut out)?;
    c.set(0, out);
    Ok(())
}

fn check_default(values: &Tensor, default: &Tensor) -> Result<()> {
    let bad = |why: String| {
        Err(invalid!(
            "default_value.shape={} and rt_input.flat_values.shape={} are incompatible: {why}",
            default.shape(),
            values.shape()
        ))
    };
    if values.rank() == 0 || default.rank() >= values.rank() {
        return bad(format!(
            "default_value.rank = {} must be less than rt_input.flat_values.rank = {}",
            default.rank(),
            values.rank()
        ));
    }
    // As TensorFlow checks: the sizes must fit from the front too.
    let mut front = default.shape().iter().zip(&values.shape()[1..]);
    if let Some((d, n)) = front.find(|(d, n)| **d != 1 && d != n) {
        return bad(format!("default_value has a size {d} where rt_input.flat_values has {n}"));
    }
    let inner = &values.shape()[values.rank() - default.rank()..];
    match default.shape().iter().zip(inner).position(|(d, n)| *d != 1 && d != n) {
        Some(i) => bad(format!("size {} cannot be broadcast to {}", default.shape()[i], inner[i])),
        None => Ok(()),
    }
}

/// How many rows the outermost dimension has.
fn first_size(kinds: &[Kind], parts: &[Vec<i64>]) -> Result<usize> {
    let first = parts.first().map_or(&[][..], |p| p);
    if first.is_empty() {
        return Err(invalid!("Invalid first partition input. Tensor requires at least one element."));
    }
    match kinds.first() {
        Some(Kind::FirstDimSize) if first.len() == 1 => usize::try_from(first[0])
            .map_err(|_| invalid!("FIRST_DIM_SIZE must not be negative, got {}", first[0])),
        Some(Kind::FirstDimSize) => Err(invalid!("FIRST_DIM_SIZE must be a scalar")),
        Some(Kind::RowSplits) => Ok(first.len() - 1),
        Some(Kind::ValueRowids) => Err(invalid!("Cannot handle VALUE_ROWIDS in first dimension.")),
        None => Err(invalid!("No row_partition_types given.")),
    }
}

fn output_shape(c: &OpCall<'_>, values: &Tensor, first: usize, ragged: &[(Kind, &[i64])]) -> Result<Shape> {
    let mut dims = reserve::filled(ragged.len() + 1, -1i64)?;
    reserve::extend(&mut dims, &Shape::new(&values.shape()[1..])?.to_i64())?;
    let asked = c.input(0)?;
    match (asked.rank(), &asked.to_i64s()?[..]) {
        (0, [-1]) => {}
        (0, _) => {
            return Err(invalid!(
                "The only valid scalar shape tensor is the fully unknown shape specified as -1."
            ));
        }
        (1, asked) => complete(&mut dims, asked)?,
        _ => return Err(invalid!("shape must be a vector or -1, got shape {}", asked.shape())),
    }
    if dims[0] < 0 {
        dims[0] = first as i64;
    }
    for (n, (kind, part)) in dims[1..].iter_mut().zip(ragged).filter(|(n, _)| **n < 0) {
        *n = widest(*kind, part)?;
    }
    Shape::from_i64(&dims)
}

/// The length of the longest row.
fn widest(kind: Kind, part: &[i64]) -> Result<i64> {
    match kind {
        Kind::RowSplits => Ok(part.windows(2).map(|w| w[1].saturating_sub(w[0])).fold(0, i64::max)),
        Kind::ValueRowids => Ok(part.chunk_by(|a, b| a == b).map(|run| run.len() as i64).fold(0, i64::max)),
        Kind::FirstDimSize => Err(invalid!("Cannot handle partition type FIRST_DIM_SIZE")),
    }
}

/// Where values that are cut off go: past the end.
const NOWHERE: usize = usize::MAX;

/// For each value, its row-major place among the ragged dimensions of the result.
fn places(first: usize, ragged: &[(Kind, &[i64])], shape: &Shape) -> Result<Vec<usize>> {
    let step = |d: usize| shape[d + 1..=ragged.len()].iter().product::<usize>();
    let top = step(0);
    let mut places = reserve::collect((0..first).map(|i| if i < shape[0] { i * top } else { NOWHERE }))?;
    for (d, (kind, part)) in ragged.iter().enumerate() {
        let (step, size) = (step(d + 1), shape[d + 1]);
        places = match kind {
            Kind::RowSplits => by_splits(part, &places, step, size)?,
            Kind::ValueRowids => by_rowids(part, &places, step, size)?,
            Kind::FirstDimSize => return Err(invalid!("Unsupported partition type: FIRST_DIM_SIZE")),
        };
    }
    Ok(places)
}

/// Column `column` of the row at `row`.
fn column(row: usize, column: usize, step: usize, size: usize) -> usize {
    if row == NOWHERE || column >= size { NOWHERE } else { row + column * step }
}

fn by_splits(splits: &[i64], rows: &[usize], step: usize, size: usize) -> Result<Vec<usize>> {
    let count = splits.len().saturating_sub(1);
    if count > rows.len() {
        return Err(invalid!("Row partition size is greater than output size: {count} > {}", rows.len()));
    }
    if splits.first().is_some_and(|s| *s != 0) || splits.windows(2).any(|w| w[0] > w[1]) {
        return Err(invalid!("Invalid row split size."));
    }
    let total = splits.last().copied().unwrap_or(0);
    let mut places = reserve::with_capacity(usize::try_from(total).unwrap_or(usize::MAX))?;
    for (ends, row) in splits.windows(2).zip(rows) {
        places.extend((0..(ends[1] - ends[0]) as usize).map(|i| column(*row, i, step, size)));
    }
    Ok(places)
}

fn by_rowids(ids: &[i64], rows: &[usize], step: usize, size: usize) -> Result<Vec<usize>> {
    let mut places = reserve::with_capacity(ids.len())?;
    for run in ids.chunk_by(|a, b| a == b) {
        let id = run.first().copied().unwrap_or(0);
        let Some(row) = usize::try_from(id).ok().and_then(|id| rows.get(id)) else {
            return Err(invalid!("Got next_value_rowid={id} which is not less than {}", rows.len()));
        };
        places.extend((0..run.len()).map(|i| column(*row, i, step, size)));
    }
    Ok(places)
}
