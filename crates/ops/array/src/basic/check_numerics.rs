//! `CheckNumerics`, `CheckNumericsV2`: reject NaN and infinity.

use crate::prelude::*;

pub static CHECK_NUMERICS: Op = Op {
    name: "CheckNumerics",
    doc: "The input; an error if it has a NaN or an infinity.",
    inputs: &["tensor: T"],
    outputs: &["output: T"],
    attrs: &["T: {bfloat16, half, float, double}", "message: string"],
    shape: same_as_input,
    grad: Rule(grad),
    kernels: cpu!(make plain: T in f32, f64, f16, bf16),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3])]).attr("message", "checked")],
    ..Op::STATEFUL
};

pub static CHECK_NUMERICS_V2: Op = Op {
    name: "CheckNumericsV2",
    doc: "The input; an error if it has a NaN or an infinity, which says the sign.",
    kernels: cpu!(make signed: T in f32, f64, f16, bf16),
    ..CHECK_NUMERICS
};

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let dy = g.dy()?;
    let message = format!(
        "Not a number (NaN) or infinity (Inf) values detected in gradient. {}",
        g.attrs.str("message")?
    );
    Ok(vec![g.op(g.op, [dy.into()], &[("message", Attr::str(&message))])?.into()])
}

fn plain<T: Float>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    prepare::<T>(node, |low, high, nan| match (low || high, nan) {
        (true, true) => "Inf and NaN".into(),
        (true, false) => "Inf".into(),
        _ => "NaN".into(),
    })
}

fn signed<T: Float>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    prepare::<T>(node, |low, high, nan| {
        let kinds = [(low, "-Inf"), (high, "+Inf"), (nan, "NaN")];
        let found: Vec<&str> = kinds.iter().filter(|k| k.0).map(|k| k.1).collect();
        match found.as_slice() {
            [a, b] => format!("{a} and {b}"),
            [a, b, c] => format!("{a}, {b}, and {c}"),
            one => one.concat(),
        }
    })
}

/// `name` is for the error text: -Inf, +Inf, NaN.
fn prepare<T: Float>(node: &KernelNode, name: fn(bool, bool, bool) -> String) -> Result<Box<dyn Kernel>> {
    let message = node.attrs.str("message")?.to_string();
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let values = c.slice::<T>(0)?;
        // x - x is zero for finite numbers and NaN for all others.
        if !values.iter().all(|x| x.sub(*x) == T::ZERO) {
            let found = name(
                values.contains(&T::lowest()),
                values.contains(&T::highest()),
                values.iter().any(|x| x.is_nan()),
            );
            return Err(invalid!("{message} : Tensor had {found} values"));
        }
        let x = c.take(0)?;
        c.set(0, x);
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, floats};

    #[test]
    fn the_error_names_what_was_found() {
        let check = |op: &str, v: &[f32]| {
            let attrs = [("message", Attr::str("m"))];
            call(op, &[floats(&[v.len()], v)], &attrs).unwrap_err().message().to_string()
        };
        assert_eq!(check("CheckNumerics", &[1.0, f32::NAN]), "m : Tensor had NaN values");
        assert_eq!(check("CheckNumerics", &[f32::INFINITY, f32::NAN]), "m : Tensor had Inf and NaN values");
        assert_eq!(check("CheckNumericsV2", &[f32::NEG_INFINITY]), "m : Tensor had -Inf values");
    }
}
