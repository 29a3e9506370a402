//! `TopK` and `TopKV2`: the largest elements of each row.

use crate::convert::converted;
use crate::elementwise::for_chunks_of;
use crate::prelude::*;

pub static TOP_K: Op = Op {
    name: "TopK",
    doc: "The k largest elements along the last dimension, descending, and their indices.",
    inputs: &["input: T"],
    outputs: &["values: T", "indices: int32"],
    attrs: &["k: int >= 0", "sorted: bool = true", "T: realnumbertype"],
    shape: |c| {
        let k = c.attrs.int("k")?;
        rows_of(c, k)
    },
    grad: Rule(grad),
    kernels: cpu!(make prepare: T in f32, f64, i32, i64, f16, bf16, u8, u16, u32, u64, i8, i16),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 5])]).attr("k", 3i64),
            Case::new(vec![r.tensor(&[4])]).attr("k", 0i64),
        ]
    },
    ..Op::PURE
};

pub static TOP_K_V2: Op = Op {
    name: "TopKV2",
    inputs: &["input: T", "k: Tk"],
    outputs: &["values: T", "indices: index_type"],
    attrs: &[
        "sorted: bool = true",
        "T: realnumbertype",
        "Tk: {int16, int32, int64} = DT_INT32",
        "index_type: {int16, int32, int64} = DT_INT32",
    ],
    shape: |c| {
        c.scalar(1)?;
        let k = c.ints(1).and_then(|k| k.first().copied());
        if k.is_some_and(|k| k < 0) {
            return Err(invalid!("Need k >= 0, got {}", k.unwrap_or(-1)));
        }
        rows_of(c, k.unwrap_or(-1))
    },
    kernels: cpu!(run_v2: T in f32, f64, i32, i64, f16, bf16, u8, u16, u32, u64, i8, i16),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 5]), Tensor::scalar(3i32)]).without_difference(&[1]),
            Case::new(vec![r.tensor(&[2, 2, 4]), Tensor::scalar(4i64)])
                .attr("index_type", DataType::Int64)
                .without_difference(&[1]),
        ]
    },
    host_inputs: &["k"],
    ..TOP_K
};

fn rows_of(c: &ShapeCall<'_>, k: i64) -> Result<Vec<PartialShape>> {
    let input = c.rank_at_least(0, 1)?;
    let Some((last, outer)) = input.dims().and_then(|d| d.split_last()) else {
        return c.all(PartialShape::unknown());
    };
    if k > *last && *last >= 0 {
        return Err(invalid!("input must have last dimension >= k = {k} but is {last}"));
    }
    c.all(outer.iter().copied().chain([k]).collect())
}

/// The gradient is scattered to the indices, in the flattened input.
fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (x, places, dy) = (g.x[0], g.y[1], g.dy()?);
    let (shape, total) = (g.shape_of(x)?, g.unary("Size", x)?);
    let places = crate::gradients::cast(g, places, total)?;
    let (width, k) = (last_size(g, x)?, last_size(g, places)?);
    let (zero, one) = (g.number(0.0, total)?, g.number(1.0, total)?);
    let width = g.binary("Maximum", width, one)?;
    let rows = g.binary("FloorDiv", total, width)?;
    let matrix = g.op("Pack", [vec![rows, k].into()], &[])?;
    let places = g.binary("Reshape", places, matrix)?;
    let starts = g.op("Range", [zero.into(), total.into(), width.into()], &[])?;
    let starts = g.binary("ExpandDims", starts, one)?;
    let places = g.binary("AddV2", places, starts)?;
    let (column, flat) = (g.constant(int_vector(&[-1, 1]))?, g.constant(int_vector(&[-1]))?);
    let (places, values) = (g.binary("Reshape", places, column)?, g.binary("Reshape", dy, flat)?);
    let total = g.binary("Reshape", total, flat)?;
    let dx = g.op("ScatterNd", [places.into(), values.into(), total.into()], &[])?;
    let mut grads = vec![g.binary("Reshape", dx, shape)?.into()];
    grads.resize(g.x.len(), Grad::None);
    Ok(grads)
}

/// The size of the last dimension, as a scalar.
pub fn last_size(g: &mut GradCall<'_>, x: Output) -> Result<Output> {
    let shape = g.shape_of(x)?;
    let (from, to) = (g.constant(int_vector(&[-1]))?, g.constant(int_vector(&[0]))?);
    let one = g.constant(int_vector(&[1]))?;
    let args = [shape.into(), from.into(), to.into(), one.into()];
    g.op("StridedSlice", args, &[("shrink_axis_mask", Attr::Int(1)), ("end_mask", Attr::Int(1))])
}

pub fn prepare<T: Real>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let k = node.attrs.int("k")?;
    Ok(Box::new(move |c: &mut OpCall<'_>| run::<T>(c, k)))
}

fn run_v2<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    let k = c.scalar_int(1)?;
    run::<T>(c, k)
}

fn run<T: Real>(c: &mut OpCall<'_>, k: i64) -> Result<()> {
    let shape = c.shape(0)?;
    let Some((width, outer)) = shape.split_last() else {
        return Err(invalid!("input must be >= 1-D, got shape {shape}"));
    };
    let Ok(k) = usize::try_from(k) else { return Err(invalid!("Need k >= 0, got {k}")) };
    if k > *width {
        return Err(invalid!("input must have at least k columns. Had {width}, needed {k}"));
    }
    let dims: Vec<usize> = outer.iter().copied().chain([k]).collect();
    let shape = Shape::new(&dims)?;
    let x = c.slice::<T>(0)?;
    let mut places = Tensor::uninit(DataType::Int64, shape.clone())?;
    let grain = (1 << 14) / width.max(&1) + 1;
    for_chunks_of(c.par(), places.as_mut_slice::<i64>()?, k, grain, &|rows, places| {
        for (row, places) in rows.zip(places.chunks_mut(k)) {
            largest(&x[row * width..][..*width], places);
        }
    });
    let at = places.as_slice::<i64>()?;
    let values = Tensor::build(shape, |out: &mut [T]| {
        for (i, (out, at)) in out.iter_mut().zip(at).enumerate() {
            *out = x[i / k * width + *at as usize];
        }
    })?;
    let dtype = c.output_type(1)?;
    c.set(0, values);
    c.set(1, converted(&places, dtype)?);
    Ok(())
}

/// The indices of the largest elements of a row, descending, the first on ties; NaN counts as the least.
fn largest<T: Real>(row: &[T], places: &mut [i64]) {
    let ranked = row.iter().map(|x| if x.is_nan() { u64::MAX } else { !x.rank() }).zip(0..);
    match places {
        [] => {}
        [best] => *best = ranked.min().map_or(0, |(_, at)| at),
        _ => first_places(scratch::collect(ranked), places),
    }
}

/// The indices of the lowest ranks.
fn first_places(mut ranked: Vec<(u64, i64)>, places: &mut [i64]) {
    if places.len() < ranked.len() {
        ranked.select_nth_unstable(places.len());
        ranked.truncate(places.len());
    }
    ranked.sort_unstable();
    for (place, (_, at)) in places.iter_mut().zip(ranked) {
        *place = at;
    }
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::*;

    #[test]
    fn equals_come_in_order_and_nan_last() {
        let x = floats(&[5], &[3.0, 1.0, 3.0, f32::NAN, 2.0]);
        let y = call("TopKV2", &[x, Tensor::scalar(5i32)], &[]).unwrap();
        assert_eq!(y[1].as_slice::<i32>().unwrap(), &[0, 2, 4, 1, 3]);
        let ends = Tensor::vector(&[0, u64::MAX, 7]).unwrap();
        let y = call("TopKV2", &[ends, Tensor::scalar(3i32)], &[]).unwrap();
        assert_eq!(y[1].as_slice::<i32>().unwrap(), &[1, 2, 0]);
    }

    #[test]
    fn k_must_be_among_the_columns() {
        for k in [-1, 3] {
            let y = call("TopKV2", &[floats(&[2], &[1.0, 2.0]), Tensor::scalar(k)], &[]);
            assert_eq!(code(y), Code::InvalidArgument);
        }
        assert_eq!(
            code(call("TopKV2", &[floats(&[], &[1.0]), Tensor::scalar(1i32)], &[])),
            Code::InvalidArgument
        );
        assert_eq!(
            code(call("TopKV2", &[floats(&[1], &[1.0]), ints(&[1], &[1])], &[])),
            Code::InvalidArgument
        );
    }
}
