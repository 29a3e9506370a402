//! `StringFormat`: formats tensors as text.

use super::tensor_text::both_ends;
use crate::prelude::*;

pub static STRING_FORMAT: Op = Op {
    name: "StringFormat",
    doc: "The template, with each placeholder replaced by the next input.",
    inputs: &["inputs: T"],
    outputs: &["output: string"],
    attrs: &[
        "T: list(type) >= 0",
        "template: string = '%s'",
        "placeholder: string = '%s'",
        "summarize: int = 3",
    ],
    shape,
    grad: Stops,
    kernels: cpu!(make prepare),
    cases: |r| {
        vec![Case::new(vec![r.ints(&[2, 8], 0, 100), Tensor::scalar(2.5f64)]).attr("template", "a %s, %s!")]
    },
    ..Op::PURE
};

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    pieces(c.attrs.str("template")?, c.attrs.str("placeholder")?, c.inputs.len())?;
    Ok(vec![PartialShape::scalar()])
}

/// The parts of the template between its placeholders, one for each input.
fn pieces(template: &str, placeholder: &str, inputs: usize) -> Result<Vec<String>> {
    let pieces: Vec<String> = match placeholder {
        "" => vec![template.to_string()],
        p => template.split(p).map(str::to_string).collect(),
    };
    if pieces.len() != inputs + 1 {
        return Err(invalid!(
            "num placeholders in template and num inputs must match: {} vs. {inputs}",
            pieces.len() - 1
        ));
    }
    Ok(pieces)
}

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let attrs = &node.attrs;
    let pieces = pieces(attrs.str("template")?, attrs.str("placeholder")?, node.inputs.len())?;
    let summarize = attrs.int("summarize")?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let mut text = Vec::new();
        for (i, piece) in pieces.iter().enumerate() {
            reserve::extend(&mut text, piece.as_bytes())?;
            if i + 1 < pieces.len() {
                both_ends(c.input(i)?, summarize, &mut text)?;
            }
        }
        c.set(0, Tensor::string(text));
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, floats, ints};

    fn format(t: Tensor, summarize: i64) -> String {
        let got = call("StringFormat", &[t], &[("summarize", Attr::Int(summarize))]).unwrap();
        String::from_utf8(got[0].strings().unwrap()[0].to_vec()).unwrap()
    }

    #[test]
    fn bytes_past_ascii_stay_and_nothing_is_shown_of_nothing() {
        let strange = Tensor::string(&b"\xff\x00\xfe"[..]);
        let got = call("StringFormat", &[strange], &[]).unwrap();
        assert_eq!(&got[0].strings().unwrap()[0][..], b"\"\xff\\000\xfe\"");
        assert_eq!(format(floats(&[1, 0, 5], &[]), 3), "[\n\n ...]");
    }

    #[test]
    fn tensors_are_laid_out_as_tensorflow_has_them() {
        let cube: Vec<i32> = (0..60).collect();
        let want = "[[[0 ... 4]\n  ...\n  [15 ... 19]]\n\n ...\n\n [[40 ... 44]\n  ...\n  [55 ... 59]]]";
        assert_eq!(format(ints(&[3, 4, 5], &cube), 1), want);
        assert_eq!(format(floats(&[2, 2], &[1.5, 2., 3., 4.]), 3), "[[1.5 2]\n [3 4]]");
        assert_eq!(format(floats(&[2, 0], &[]), -1), "[\n ...]");
        assert_eq!(format(Tensor::string("b\n\""), 3), "\"b\\n\\\"\"");
        assert_eq!(format(ints(&[8], &[1, 2, 3, 4, 5, 6, 7, 8]), 3), "[1 2 3 ... 6 7 8]");
        assert_eq!(
            code(call("StringFormat", &[ints(&[], &[1]), ints(&[], &[1])], &[])),
            Code::InvalidArgument
        );
    }
}
