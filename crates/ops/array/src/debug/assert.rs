//! `Assert`: fails the step unless a condition holds.

use super::tensor_text::first_elements;
use crate::prelude::*;

pub static ASSERT: Op = Op {
    name: "Assert",
    doc: "Fails with the values of `data` unless `condition` is true.",
    inputs: &["condition: bool", "data: T"],
    attrs: &["T: list(type) >= 1", "summarize: int = 3"],
    shape: |c| {
        c.scalar(0)?;
        Ok(vec![])
    },
    kernels: cpu!(run),
    ..Op::STATEFUL
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    if c.scalar::<bool>(0)? {
        return Ok(());
    }
    let most = c.attrs().int("summarize")?;
    let shown = |i| reserve::text(format_args!("[{}]", first_elements(c.input(i)?, most)?));
    let data = reserve::try_collect((1..c.inputs.len()).map(shown))?;
    let data = reserve::join(data.iter().map(|d| d.as_bytes()), b" ")?;
    Err(invalid!("assertion failed: {}", Lossy(&data)))
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, floats, ints};

    #[test]
    fn the_data_is_in_the_message() {
        let bytes = |s: &'static str| bytes::Bytes::from_static(s.as_bytes());
        let data = [
            Tensor::scalar(false),
            ints(&[5], &[1, 2, 3, 4, 5]),
            Tensor::string("hi"),
            floats(&[2, 2], &[1.5, 2., 3., 4.]),
            Tensor::scalar(true),
            Tensor::from_objects(Shape::vector(2), vec![bytes("a"), bytes("b\n")]).unwrap(),
        ];
        let e = call("Assert", &data, &[]).unwrap_err();
        assert_eq!(e.message(), "assertion failed: [1 2 3...] [hi] [[1.5 2][3...]...] [1] [a b\\n]");
        assert_eq!(e.code(), Code::InvalidArgument);
        let not_scalar = [Tensor::vector(&[true]).unwrap(), ints(&[], &[1])];
        assert_eq!(code(call("Assert", &not_scalar, &[])), Code::InvalidArgument);
    }
}
