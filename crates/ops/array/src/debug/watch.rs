//! `DebugIdentity`, `DebugNanCount`, `DebugNumericSummary` and their versions: what TensorFlow's debugger puts beside tensors. They have
//! their outputs; nothing is sent to a debugger.

use crate::convert::converted;
use crate::prelude::*;

pub static DEBUG_IDENTITY: Op = Op {
    name: "DebugIdentity",
    doc: "The input. It is an error to ask that it is also sent to a debugger.",
    inputs: &["input: T"],
    outputs: &["output: T"],
    attrs: &[
        "T: type",
        "device_name: string = ''",
        "tensor_name: string = ''",
        "debug_urls: list(string) = []",
        "gated_grpc: bool = false",
    ],
    shape: same_as_input,
    grad: Rule(|g| Ok(vec![g.dy()?.into()])),
    kernels: cpu!(make identity),
    cases: named_case,
    ..Op::PURE
};

pub static DEBUG_IDENTITY_V2: Op = Op {
    name: "DebugIdentityV2",
    attrs: &[
        "T: type",
        "tfdbg_context_id: string = ''",
        "op_name: string = ''",
        "output_slot: int = -1",
        "tensor_debug_mode: int = -1",
        "debug_urls: list(string) = []",
        "circular_buffer_size: int = 1000",
        "tfdbg_run_id: string = ''",
    ],
    stateful: true,
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3])])],
    ..DEBUG_IDENTITY
};

pub static DEBUG_IDENTITY_V3: Op = Op {
    name: "DebugIdentityV3",
    attrs: &[
        "T: type",
        "device_name: string = ''",
        "tensor_name: string = ''",
        "io_of_node: string = ''",
        "is_input: bool = false",
        "io_index: int = -1",
        "debug_urls: list(string) = []",
        "gated_grpc: bool = false",
    ],
    stateful: true,
    ..DEBUG_IDENTITY
};

pub static DEBUG_NAN_COUNT: Op = Op {
    name: "DebugNanCount",
    doc: "How many elements are no numbers.",
    outputs: &["output: int64"],
    shape: |_| Ok(vec![PartialShape::vector(1)]),
    grad: Stops,
    kernels: cpu!(make nan_count),
    ..DEBUG_IDENTITY
};

pub static DEBUG_NUMERIC_SUMMARY: Op = Op {
    name: "DebugNumericSummary",
    doc: "1; how many elements there are, are no numbers, not above the lower bound, else negative, zero, positive, not below the upper \
          bound; the least and greatest finite number, mean and variance of these; the type, the rank and the dimensions.",
    outputs: &["output: double"],
    attrs: &[
        "T: type",
        "device_name: string = ''",
        "tensor_name: string = ''",
        "debug_urls: list(string) = []",
        "lower_bound: float = -inf",
        "upper_bound: float = inf",
        "mute_if_healthy: bool = false",
        "gated_grpc: bool = false",
    ],
    shape: |c| Ok(vec![PartialShape::vector(c.input(0).rank().map_or(-1, |rank| (FIXED + rank) as i64))]),
    kernels: cpu!(make numeric_summary),
    ..DEBUG_NAN_COUNT
};

/// Numbers before the dimensions.
const FIXED: usize = 14;

fn named_case(r: &mut CaseGen) -> Vec<Case> {
    vec![Case::new(vec![r.tensor(&[2, 3])]).attr("tensor_name", "node:0")]
}

/// Checks the attrs that all have.
fn watched(node: &KernelNode) -> Result<()> {
    let attrs = &node.attrs;
    if !attrs.list("debug_urls")?.is_empty() {
        return Err(unimplemented("tensors are not sent to debuggers"));
    }
    if attrs.get("tensor_name").is_none() {
        return Ok(());
    }
    let name = attrs.str("tensor_name")?;
    let (op, output) = name.split_once(':').unwrap_or((name, "0"));
    match output.parse::<u32>() {
        Ok(_) if !op.is_empty() => Ok(()),
        _ => Err(invalid!("Failed to parse tensor name: \"{name}\"")),
    }
}

fn identity(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    watched(node)?;
    Ok(Box::new(|c: &mut OpCall<'_>| {
        let same = c.take(0)?;
        c.set(0, same);
        Ok(())
    }))
}

fn nan_count(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    watched(node)?;
    Ok(Box::new(|c: &mut OpCall<'_>| {
        let x = converted(c.input(0)?, DataType::Double)?;
        let count = x.as_slice::<f64>()?.iter().filter(|v| v.is_nan()).count();
        c.set(0, Tensor::vector(&[count as i64])?);
        Ok(())
    }))
}

fn numeric_summary(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    watched(node)?;
    let bound = |name| node.attrs.float(name).map(f64::from);
    let (low, high) = (bound("lower_bound")?, bound("upper_bound")?);
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let x = c.input(0)?;
        let numbers = converted(x, DataType::Double)?;
        let mut summary = summary(numbers.as_slice::<f64>()?, low, high).to_vec();
        summary.extend([f64::from(x.dtype().wire()), x.rank() as f64]);
        summary.extend(x.shape().iter().map(|n| *n as f64));
        c.set(0, Tensor::vector(&summary)?);
        Ok(())
    }))
}

/// The numbers that depend on the elements.
fn summary(x: &[f64], low: f64, high: f64) -> [f64; FIXED - 2] {
    let (mut nan, mut below, mut negative, mut zero, mut positive, mut above) =
        (0.0, 0.0, 0.0, 0.0, 0.0, 0.0);
    let (mut least, mut greatest, mut sum, mut finite) = (f64::INFINITY, f64::NEG_INFINITY, 0.0, 0.0);
    for v in x {
        let kind = match *v {
            v if v.is_nan() => &mut nan,
            v if v <= low => &mut below,
            v if v >= high => &mut above,
            v if v < 0.0 => &mut negative,
            v if v > 0.0 => &mut positive,
            _ => &mut zero,
        };
        *kind += 1.0;
        if v.is_finite() {
            (least, greatest) = (v.min(least), v.max(greatest));
            (sum, finite) = (sum + v, finite + 1.0);
        }
    }
    // Of no numbers, NaN.
    let mean = sum / finite;
    let squares: f64 = x.iter().filter(|v| v.is_finite()).map(|v| (v - mean) * (v - mean)).sum();
    let variance = squares / finite;
    [1.0, x.len() as f64, nan, below, negative, zero, positive, above, least, greatest, mean, variance]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{call, code, floats};

    const NAME: (&str, Attr) = ("tensor_name", Attr::Str(bytes::Bytes::from_static(b"a:0")));

    #[test]
    fn a_summary_has_tensorflows_numbers() {
        let values = [1.0, 2.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0, -3.0];
        let x = floats(&[7], &values);
        let all = call("DebugNumericSummary", &[x.clone()], &[NAME]).unwrap().remove(0);
        let want = [1.0, 7.0, 1.0, 1.0, 1.0, 1.0, 2.0, 1.0, -3.0, 2.0, 0.0, 3.5, 1.0, 1.0, 7.0];
        assert_eq!(all.as_slice::<f64>().unwrap(), want);
        let count = call("DebugNanCount", &[x], &[NAME]).unwrap().remove(0);
        assert_eq!(count.as_slice::<i64>().unwrap(), [1]);
    }

    #[test]
    fn a_tensor_without_a_name_or_for_a_debugger_is_refused() {
        let x = floats(&[1], &[1.0]);
        assert_eq!(code(call("DebugIdentity", &[x.clone()], &[])), Code::InvalidArgument);
        let url = ("debug_urls", Attr::List(vec!["file:///tmp/x".into()]));
        assert_eq!(code(call("DebugIdentity", &[x.clone()], &[NAME, url])), Code::Unimplemented);
        let same = call("DebugIdentityV2", &[x.clone()], &[]).unwrap().remove(0);
        assert_eq!(same.as_slice::<f32>().unwrap(), [1.0]);
    }
}
