//! `CumulativeLogsumexp`: running logarithms of sums of exponentials along an axis.

use super::cumsum::CUMSUM;
use crate::prelude::*;
use thalweg_math::reduce::{LogSumExp, Scan};

pub static CUMULATIVE_LOGSUMEXP: Op = Op {
    name: "CumulativeLogsumexp",
    doc: "log(sum(exp(x))) of all elements up to each one along an axis; exclusive leaves out the element itself, reverse begins at the end.",
    attrs: &[
        "exclusive: bool = false",
        "reverse: bool = false",
        "T: {bfloat16, half, float, double}",
        "Tidx: {int32, int64} = DT_INT32",
    ],
    grad: Rule(grad),
    kernels: cpu!(make prepare: T in f32, f64, f16, bf16),
    cases: |r| {
        let mut cases = vec![];
        for (exclusive, reverse) in [(false, false), (false, true), (true, false)] {
            let case = Case::new(vec![r.tensor(&[2, 3, 2]), Tensor::scalar(1i32)]);
            let case = case.attr("exclusive", exclusive).attr("reverse", reverse);
            // The first of an exclusive scan is minus infinity: no difference of that is a number.
            cases.push(case.without_difference(if exclusive { &[0, 1] } else { &[1] }));
        }
        cases
    },
    ..CUMSUM
};

/// d/dx[i] is the sum of dy[k] exp(x[i] - y[k]) over the k that x[i] is in: positive and negative parts of dy apart, as logarithms.
fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let dy = g.dy()?;
    let minus = g.unary("Neg", dy)?;
    let (up, down) = (weighted(g, dy)?, weighted(g, minus)?);
    Ok(vec![g.binary("Sub", up, down)?.into(), Grad::None])
}

/// The part of the gradient for the positive elements of `dy`.
fn weighted(g: &mut GradCall<'_>, dy: Output) -> Result<Output> {
    let (x, axis, y) = (g.x[0], g.x[1], g.y[0]);
    let (exclusive, reverse) = (g.attrs.bool("exclusive")?, g.attrs.bool("reverse")?);
    let lowest = match g.graph.dtype(dy) {
        DataType::Half => f16::MIN.to_f64(),
        DataType::Bfloat16 => bf16::MIN.to_f64(),
        DataType::Float => f32::MIN.into(),
        _ => f64::MIN,
    };
    let (zero, lowest) = (g.number(0.0, dy)?, g.number(lowest, dy)?);
    let (positive, log) = (g.binary("Greater", dy, zero)?, g.unary("Log", dy)?);
    let log = g.op("SelectV2", [positive.into(), log.into(), lowest.into()], &[])?;
    let relative = g.binary("Sub", log, y)?;
    let attrs = [("exclusive", Attr::Bool(exclusive)), ("reverse", Attr::Bool(!reverse))];
    let sums = g.op("CumulativeLogsumexp", [relative.into(), axis.into()], &attrs)?;
    let exponent = g.binary("AddV2", sums, x)?;
    g.unary("Exp", exponent)
}

fn prepare<T: Float>(node: &KernelNode) -> Result<Box<dyn Kernel>>
where
    LogSumExp: thalweg_math::reduce::Reducer<T, Out = T>,
{
    let how = Scan { exclusive: node.attrs.bool("exclusive")?, reverse: node.attrs.bool("reverse")? };
    Ok(super::cumsum::scan_kernel::<T, _>(how, LogSumExp))
}
