//! `MaxPool`, `MaxPoolV2`: the maximum under a window.

use super::parameters::{Pool, Source, window_attrs, with_window};
use crate::narrow::in_float;
use crate::prelude::*;
use thalweg_math::window::max_pool;

pub static MAX_POOL: Op = Op {
    name: "MaxPool",
    doc: "The maximum of each channel over each window position; NaNs are ignored.",
    inputs: &["input: T"],
    outputs: &["output: T"],
    attrs: &[
        "T: {half, bfloat16, float, double, int32, int64, uint8, int16, int8, uint16, qint8} = DT_FLOAT",
        "ksize: list(int) >= 4",
        "strides: list(int) >= 4",
        "padding: {'SAME', 'VALID', 'EXPLICIT'}",
        "explicit_paddings: list(int) = []",
        "data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'",
    ],
    shape,
    grad: Rule(grad),
    kernels: cpu!(make prepare: T in f32, f64, i32, i64, u8, i16, i8, u16; prepare_narrow: T in f16, bf16),
    cases: |r| {
        let mut case = |x: &[usize]| Case::new(vec![r.tensor(x)]);
        vec![
            with_window(case(&[2, 4, 5, 3]), [2, 2], [2, 2], "VALID"),
            with_window(case(&[1, 5, 5, 2]), [3, 2], [2, 1], "SAME"),
            with_window(case(&[1, 4, 4, 2]), [3, 3], [2, 2], "EXPLICIT")
                .attr("explicit_paddings", Attr::ints(&[0, 0, 1, 2, 0, 1, 0, 0])),
        ]
    },
    expensive: true,
    ..Op::PURE
};

pub static MAX_POOL_V2: Op = Op {
    name: "MaxPoolV2",
    inputs: &["input: T", "ksize: int32", "strides: int32"],
    attrs: &[
        "T: {half, bfloat16, float, double, int32, int64, uint8, int16, int8, uint16, qint8} = DT_FLOAT",
        "padding: {'SAME', 'VALID'}",
        "data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'",
    ],
    grad: Rule(grad_v2),
    cases: |r| {
        let (k, s) = (int_vector(&[1, 2, 2, 1]), int_vector(&[1, 2, 1, 1]));
        vec![Case::new(vec![r.tensor(&[2, 4, 5, 3]), k, s]).attr("padding", "SAME")]
    },
    host_inputs: &["ksize", "strides"],
    ..MAX_POOL
};

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let images = c.rank(0, 4)?;
    Ok(vec![match Source::known(c, 1)? {
        Some(pool) => pool.known_output(&images)?,
        None => PartialShape::unknown_of_rank(4),
    }])
}

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let attrs = window_attrs(g.attrs, &["ksize", "strides", "padding", "explicit_paddings", "data_format"]);
    let (x, y, dy) = (g.x[0], g.y[0], g.dy()?);
    Ok(vec![g.op("MaxPoolGrad", [x.into(), y.into(), dy.into()], &attrs)?.into()])
}

fn grad_v2(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let attrs = window_attrs(g.attrs, &["padding", "data_format"]);
    let (x, y, dy) = (g.x[0], g.y[0], g.dy()?);
    let args = [x, y, dy, g.x[1], g.x[2]].map(Arg::from);
    Ok(vec![g.op("MaxPoolGradV2", args, &attrs)?.into(), Grad::None, Grad::None])
}

fn prepare<T: Real>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let source = Source::of(&node.attrs, 1)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| run::<T>(c, &source.pool(c)?)))
}

fn prepare_narrow<T: Float>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let source = Source::of(&node.attrs, 1)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| in_float::<T>(c, &|c| run::<f32>(c, &source.pool(c)?))))
}

fn run<T: Real>(c: &mut OpCall<'_>, pool: &Pool) -> Result<()> {
    let images = c.shape(0)?;
    let mut out = Tensor::uninit(T::DTYPE, pool.output(images)?)?;
    if images.elements() > 0 && out.elements() > 0 {
        let (x, y) = (c.slice::<T>(0)?, out.as_mut_slice::<T>()?);
        if pool.depth > 1 {
            for (x, y) in x.chunks_exact(pool.depth).zip(y) {
                *y = x.iter().fold(T::lowest(), |best, x| if *x > best { *x } else { best });
            }
        } else {
            max_pool(c.par(), &pool.grid(images)?, images.dim(3)?, T::lowest(), x, y);
        }
    }
    c.set(0, out);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, floats};

    fn pool(x: &[f32], dims: &[usize], size: &[i64], strides: &[i64]) -> Result<Vec<Tensor>> {
        let attrs =
            [("ksize", Attr::ints(size)), ("strides", Attr::ints(strides)), ("padding", "VALID".into())];
        call("MaxPool", &[floats(dims, x)], &attrs)
    }

    #[test]
    fn channels_are_pooled_by_themselves_only() {
        let x = [1.0, 5.0, 7.0, 2.0, 0.0, -1.0, -4.0, -3.0];
        let y = pool(&x, &[1, 2, 1, 4], &[1, 1, 1, 2], &[1, 1, 1, 2]).unwrap();
        assert_eq!(y[0].as_slice::<f32>().unwrap(), &[5.0, 7.0, 0.0, -3.0]);
        for (size, strides) in
            [([1, 2, 1, 2], [1, 1, 1, 2]), ([1, 1, 1, 3], [1, 1, 1, 3]), ([1, 1, 1, 2], [1, 1, 1, 1])]
        {
            assert_eq!(code(pool(&x, &[1, 2, 1, 4], &size, &strides)), Code::Unimplemented);
        }
    }

    #[test]
    fn nan_is_never_the_largest() {
        let y = pool(&[f32::NAN, 1.0, f32::NAN, -1.0], &[1, 2, 2, 1], &[1, 2, 2, 1], &[1, 1, 1, 1]).unwrap();
        assert_eq!(y[0].as_slice::<f32>().unwrap(), &[1.0]);
    }
}
